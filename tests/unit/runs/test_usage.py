"""What a run used, read back: summary, series, recorded values, CSV; also of a runner that was killed."""

import csv
import json
from pathlib import Path

import pytest

from siflab.errors import Invalid, NotFound
from siflab.inside.usage_summary import Summary
from siflab.runs import RunRequest, follow_metrics, get_metrics, submit
from siflab.runs.folder import RunFolder
from siflab.runs.usage import read_usage
from tests.unit.extension.openapi_contract import Contract
from tests.unit.runs.attempt_files import begin
from tests.unit.runs.usage_lines import BEGAN, GIB, lines, write


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "20261201-031119_train_kq7wz3mn"
    (path / "attempts" / "1").mkdir(parents=True)
    (path / "request.json").write_text(json.dumps({"id": "kq7wz3mn", "resources": {"gpus": 1, "cpus": 8}}))
    return RunFolder(path)


def usage_of(folder, found, attempt=1, name="usage.jsonl"):
    write(folder.attempt(attempt).folder / name, found)
    return read_usage(folder)


def record(folder, *values, rank=None, attempt=1):
    made = []
    for place, value in enumerate(values):
        at = f"2026-12-01T03:11:{place % 60:02}.000+08:00"
        made.append({"at": at, **({} if rank is None else {"rank": rank}), "values": value})
    with folder.attempt(attempt).metrics.open("a") as stream:
        stream.write("".join(json.dumps(line) + "\n" for line in made))


def test_before_anything_was_measured(folder):
    usage = read_usage(folder)
    assert (usage.attempt, usage.nodes, usage.series, usage.recorded, usage.advice) == (1, [], [], [], [])
    (folder.attempts / "1").rmdir()
    assert read_usage(folder).attempt is None


def test_the_answer_is_as_the_contract_says(folder):
    record(folder, {"loss": 0.5, "note": "warm-up"}, {"loss": 0.25, "done": True, "note": None}, rank=0)
    found = lines(100, lambda i: {"disk_read": i}, lambda i: {"util": 20.0 + i % 2}, files=[(3, "a", 5)])
    found += [{"t": BEGAN + 5, "d": 5.0, "rank": 0, "cpu": 1.0, "memory": 5, "read": 1, "written": 0}]
    answer = usage_of(folder, found).as_dict()

    Contract().check_schema("Metrics", answer)
    assert (answer["run"], answer["attempt"], len(answer["nodes"])) == ("kq7wz3mn", 1, 1)
    assert [(one["kind"], one["gpu"], one["rank"]) for one in answer["series"]] == [
        ("node", None, None),
        ("rank", None, 0),
        ("gpu", 0, None),
    ]
    assert [(one["name"], one["rank"], one["values"]) for one in answer["recorded"]] == [
        ("loss", 0, [0.5, 0.25]),
        ("note", 0, ["warm-up", None]),
        ("done", 0, [True]),
    ]
    assert [one["code"] for one in answer["advice"]] == ["data_workers"]
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_the_summary_has_mean_peak_idle_share_and_cells(folder):
    def of_cell(i):
        return {"cell": 2 if i < 10 else 5, "number": 1 if i < 10 else 3, "cpu": float(i < 10), "read": i * 100}

    [node] = usage_of(
        folder, lines(20, of_cell, lambda i: {"util": 100.0 * (i >= 10), "cell": 2 if i < 10 else 5})
    ).nodes
    summary = node.summary

    assert (summary["samples"], summary["seconds"]) == (20, 100)
    assert summary["cpu"] == {"mean": 0.5, "peak": 1, "p95": 1.05}
    assert summary["asked"] == {"cpus": 8, "memory": 64 * GIB, "gpus": 1}
    [gpu] = summary["gpus"]
    assert (gpu["util"], gpu["idle"]) == ({"mean": 50, "peak": 100}, 0.5)
    assert gpu["memory"] == {"mean": 50 * GIB, "peak": 50 * GIB, "total": 80 * GIB}
    cells = [(cell["cell"], cell["number"], cell["seconds"], cell["util"], cell["read"]) for cell in summary["cells"]]
    assert cells == [(2, 1, 50, 0, 900), (5, 3, 50, 100, 1000)]


def test_means_are_over_time(folder):
    found = lines(2, lambda i: {"d": (30.0, 10.0)[i], "cpu": (1.0, 5.0)[i]})
    assert usage_of(folder, found).nodes[0].summary["cpu"]["mean"] == 2


def test_the_runners_own_summary_is_taken_where_it_is_whole(folder):
    found, summary = lines(5), Summary()
    for line in found:
        summary.add(line)
    kept = summary.as_dict()
    path = folder.attempt(1).folder / "usage.json"
    path.write_text(json.dumps({**kept, "written": 4321}))
    assert usage_of(folder, found).nodes[0].summary["written"] == 4321

    for broken in ({**kept, "version": 2}, {"version": 1}, [1]):
        path.write_text(json.dumps(broken))
        assert read_usage(folder).nodes[0].summary == kept


def test_what_is_torn_or_none_of_ours_is_passed_over(folder):
    found = lines(6)
    path = folder.attempt(1).folder / "usage.jsonl"
    write(path, found)
    whole = path.read_bytes()
    path.write_bytes(b'\xff\n[1]\n{"t": "x", "d": 1}\n{"t": 1}\n{"cpu": NaN, "t": 2, "d": NaN}\n' + whole + whole[:70])

    usage = read_usage(folder)
    assert usage.nodes[0].summary["samples"] == 6
    json.dumps(usage.as_dict(), allow_nan=False)


def test_a_torn_file_at_any_byte_can_be_read(folder):
    path = folder.attempt(1).folder / "usage.jsonl"
    write(path, lines(3))
    whole = path.read_bytes()
    counts = []
    for length in range(0, len(whole) + 1, 7):
        path.write_bytes(whole[:length])
        nodes = read_usage(folder).nodes
        counts.append(nodes[0].summary["samples"] if nodes else 0)
    assert counts == sorted(counts)
    assert set(counts) == {0, 1, 2, 3}


def test_nodes_are_brought_together(folder):
    usage_of(folder, lines(3, head={"node": "gpu02", "number": 1, "began": BEGAN + 2}), name="usage-1.jsonl")
    (folder.attempt(1).folder / "usage-x.jsonl").write_text('{"t": 1, "d": 1}\n')
    usage = usage_of(folder, lines(3))

    assert [node.name for node in usage.nodes] == ["gpu01", "gpu02"]
    assert usage.began_at.timestamp() == BEGAN
    assert [one.node for one in usage.series] == [0, 0, 1, 1]


def test_series_are_thinned_out_but_keep_means_peaks_and_ends(folder):
    found = lines(
        2500, lambda i: {"memory": 9 - i % 3, "read": i, "cpu": float(i % 3)}, lambda i: {"util": float(i % 3)}
    )
    usage_of(folder, found)

    short = read_usage(folder, most=1000)
    node, gpu = short.series
    assert len(node.t) == len(gpu.t) == 834
    assert set(gpu.values["util"][:-1]) == {1.0}
    assert node.values["memory"][:2] == [9, 9]
    assert (node.values["read"][-1], node.t[-1]) == (2499, 2500 * 5)
    assert [len(one.t) for one in read_usage(folder, most=None).series] == [2500, 2500]


def test_many_recorded_values_are_thinned_out(folder):
    record(folder, *({"loss": float(i)} for i in range(3001)))
    [one] = read_usage(folder).recorded
    assert len(one.values) <= 1000
    assert (one.values[0], one.values[-1]) == (0.0, 3000.0)
    assert len(read_usage(folder, most=None).recorded[0].values) == 3001


def test_one_rank(folder):
    found = lines(3)
    found += [{"t": BEGAN + 5, "d": 5.0, "rank": rank, "cpu": 1.0 + rank, "memory": 5} for rank in (0, 1)]
    found += [{"t": BEGAN + 5, "d": 5.0, "gpu": 1, "rank": 1, "util": 7.0}]
    record(folder, {"loss": 1.0}, rank=0)
    record(folder, {"loss": 2.0}, rank=1)
    own = usage_of(folder, found).of_rank(1)

    assert [(one.kind, one.values.get("cpu"), one.values.get("util")) for one in own.series] == [
        ("rank", [2.0], None),
        ("gpu", None, [7.0]),
    ]
    assert [one.values for one in own.recorded] == [[2.0]]


def test_as_csv(folder):
    record(folder, {"loss": 0.5, "note": "=1+1"})
    rows = list(csv.reader(usage_of(folder, lines(2)).as_csv().splitlines()))

    assert rows[0] == ["at", "kind", "node", "rank", "gpu", "name", "value"]
    assert [row[-1] for row in rows if row[1] == "gpu" and row[-2] == "util"] == ["95.0", "95.0"]
    assert [row[-2:] for row in rows if row[1] == "recorded"] == [["loss", "0.5"], ["note", "'=1+1"]]
    assert rows[1][0].startswith("20")


def test_attempts_and_points(folder):
    (folder.attempts / "2").mkdir()
    usage_of(folder, lines(3), attempt=2)
    assert (read_usage(folder).attempt, read_usage(folder, 1).nodes, read_usage(folder).attempts) == (2, [], [1, 2])
    with pytest.raises(NotFound, match="no attempt 3"):
        read_usage(folder, 3)
    with pytest.raises(NotFound, match="no point 0"):
        read_usage(folder, point=0)

    folder.request.write_text(json.dumps({"mode": "sweep"}))
    folder.points.write_text(json.dumps({"points": [{"number": 0}, {"number": 1}]}))
    write(folder.path / "points/1/attempts/1/usage.jsonl", lines(4))
    with pytest.raises(NotFound, match="--point N"):
        read_usage(folder)
    assert read_usage(folder, point=0).attempt is None
    assert read_usage(folder, point=1).nodes[0].summary["samples"] == 4
    with pytest.raises(NotFound, match="no point 2"):
        read_usage(folder, point=2)


def test_of_a_run_of_the_viewer(viewer, slurm, request_for):
    run = submit(viewer, request_for())
    assert get_metrics(viewer, run.id).run_id == run.id
    with pytest.raises(NotFound):
        get_metrics(viewer, "nosuchid")


def merged(known, piece):
    """As a page keeps them: by series, then by time."""
    kept = {} if piece["whole"] else known
    for one in piece["values"]["series"]:
        series = kept.setdefault((one["kind"], one["node"], one["gpu"], one["rank"]), {})
        for place, t in enumerate(one["t"]):
            series[t] = {name: column[place] for name, column in one["values"].items()}
    for one in piece["values"]["recorded"]:
        kept.setdefault(("recorded", one["name"], one["rank"]), {}).update(zip(one["t"], one["values"], strict=True))
    return kept


def test_who_follows_a_run_has_in_the_end_what_there_is(viewer, slurm, notebook):
    run = submit(viewer, RunRequest(path=str(notebook("t.ipynb", "1")), profile="a100"))
    slurm.queued("42", "RUNNING")
    folder = RunFolder(Path(run.folder))
    (folder.attempts / "1").mkdir(parents=True)
    assert follow_metrics(viewer, run.id).as_dict()["position"] == "1:0.000"
    known, position, sent = {}, None, []
    for count in (3, 3, 8, 40, 40):
        write(folder.attempt(1).folder / "usage.jsonl", lines(count))
        piece = follow_metrics(viewer, run.id, position=position).as_dict()
        Contract().check_schema("MetricsPiece", piece)
        known, position = merged(known, piece), piece["position"]
        sent.append(sum(len(one["t"]) for one in piece["values"]["series"] if one["kind"] == "node"))
        assert (piece["whole"], piece["complete"]) == (len(sent) == 1, False)
    assert sent == [3, 3, 8, 40, 12], "of what was there a minute is sent again"
    whole = follow_metrics(viewer, run.id).as_dict()
    assert known == merged({}, whole) and len(known["node", 0, None, None]) == 40

    begin(run.folder, "42", number=2)
    piece = follow_metrics(viewer, run.id, position=position)
    assert (piece.whole, piece.usage.attempt) == (True, 2), "another attempt stands for itself"
    piece = follow_metrics(viewer, run.id, attempt=1, position=position)
    assert (piece.whole, piece.complete) == (False, True), "nothing follows in an attempt that is over"


def test_after_a_long_time_all_of_it_is_sent_thinned_out(viewer, slurm, notebook):
    run = submit(viewer, RunRequest(path=str(notebook("t.ipynb", "1")), profile="a100"))
    slurm.queued("42", "RUNNING")
    folder = RunFolder(Path(run.folder))
    write(folder.attempt(1).folder / "usage.jsonl", lines(5000))
    piece = follow_metrics(viewer, run.id, position="1:5.000")
    assert piece.whole and all(len(one.t) <= 1001 for one in piece.usage.series)


@pytest.mark.parametrize("position", ["x", "1", "1:", "1:-5", "1:nan", "-1:5", "1:1e9", "1:5\n", "9" * 60, "١:5"])
def test_what_is_no_position(viewer, slurm, notebook, position):
    run = submit(viewer, RunRequest(path=str(notebook("t.ipynb", "1")), profile="a100"))
    with pytest.raises(Invalid):
        follow_metrics(viewer, run.id, position=position)
