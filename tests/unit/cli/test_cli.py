"""The command line: what it prints, in which language, and with what exit code it ends."""

import json
from pathlib import Path

import pytest
import yaml

from siflab.cli import following
from siflab.cli.ending import EXIT_CODES
from siflab.cli.terminal import shortened, table, width
from siflab.runs import list_runs
from tests.unit.extension.openapi_contract import Contract
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.fake_slurm import UNREACHABLE, failing


def promoted(siflab, notebook, *arguments, name="train.ipynb"):
    code, out, err = siflab("promote", str(notebook(name)), "--json", *arguments)
    assert code == 0, err
    return json.loads(out)


def test_promote_says_the_id_the_job_and_what_next(siflab, notebook):
    code, out, err = siflab("promote", str(notebook()), "--gpus", "2", "--time", "1:00:00", "--name", "My run")
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first.startswith("run ") and first.endswith(" was submitted as job 42")
    assert second == f"follow it with: siflab logs -f {first.split()[1]}"


def test_every_command_gives_json(siflab, notebook, viewer):
    contract = Contract()
    run = promoted(siflab, notebook)
    contract.check_schema("Run", run)
    contract.check_schema("Run", json.loads(siflab("show", run["id"], "--json")[1]))
    contract.check_answer("/runs", "get", 200, json.loads(siflab("runs", "--json")[1]))
    profiles = json.loads(siflab("profiles", "--json")[1])
    contract.check_schema("Profile", profiles["profiles"][0])
    contract.check_schema("Run", json.loads(siflab("cancel", run["id"], "--json")[1])["runs"][0])
    dry = json.loads(siflab("promote", str(notebook()), "--dry-run", "--json")[1])
    findings = dry.pop("findings")
    contract.check_schema("Preview", dry)
    assert findings == []


def test_a_dry_run_submits_nothing(siflab, notebook, slurm, viewer):
    code, out, err = siflab("promote", str(notebook("a.ipynb", "input()")), "--dry-run")
    assert code == 0
    assert out.startswith("#!/bin/bash\n") and "#SBATCH --gres=gpu:a100:1" in out
    assert "warning: cell 1, line 1: input() waits for a person" in err
    assert "GPU-hours at most: 2" in err and "2026-12-01 05:00:00" in err and "nothing was submitted" in err
    assert not Path(viewer.runs_root()).exists()
    said = siflab("promote", str(notebook("b.ipynb", "%matplotlib widget")), "--dry-run")[2]
    assert "keeps them as pictures. [fix: draw pictures]" in said
    slurm.answers["sbatch"] = failing("allocation failure: Invalid qos specification\n")
    assert "Slurm would not take it: you may not use this QOS" in siflab("promote", str(notebook()), "--dry-run")[2]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--gpus", "9"], "siflab: --gpus: 9 is not possible with this profile; possible: 1-4"),
        (["--gpus", "two"], "siflab: --gpus: 'two' is not a whole number"),
        (
            ["--profile", "a10"],
            "siflab: --profile: there is no profile 'a10' for you here; did you mean a100? There are: a100",
        ),
        (["--time", "9:00:00"], "siflab: --time: 9:00:00 is more than this profile allows (8:00:00); ask for less"),
        (["--name", "x" * 81], "siflab: --name: a name may have at most 80 characters"),
    ],
)
def test_an_error_names_the_option_and_what_to_do(siflab, notebook, arguments, line):
    assert siflab("promote", str(notebook()), *arguments) == (2, "", line + "\n")


def test_a_missing_notebook_is_the_argument(siflab):
    code, _, err = siflab("promote", "/no/such.ipynb")
    assert code == 2
    assert err == "siflab: FILE: there is no file /no/such.ipynb; check its name and folder\n"


def test_runs_are_listed_in_columns_with_wide_characters(siflab, notebook, slurm):
    first = promoted(siflab, notebook, name="训练 很长的名字.ipynb")
    second = promoted(siflab, notebook, name="short.ipynb")
    folder = begin(first["folder"], "42", cells=7, done=3)
    slurm.queued("42", "RUNNING")
    code, out, _ = siflab("runs")
    header, *rows = out.splitlines()
    assert code == 0
    by_id = {row.split()[0]: row for row in rows}
    assert "running" in by_id[first["id"]] and "3/7" in by_id[first["id"]] and "gpu01" in by_id[first["id"]]
    assert "pending" in by_id[second["id"]] and "higher priority" in by_id[second["id"]]
    column = width(header[: header.index("STATE")])
    assert {
        width(row[: row.index(word)])
        for row, word in zip((by_id[first["id"]], by_id[second["id"]]), ("running", "pending"), strict=True)
    } == {column}
    assert folder.id == first["id"]


def test_only_the_newest_unless_all_are_asked_for(siflab, notebook, slurm):
    for _ in range(23):
        run = promoted(siflab, notebook)
        slurm.accounted(run["job_id"], "CANCELLED by 1001", nodes="None assigned")
    out = siflab("runs")[1].splitlines()
    assert len(out) == 22 and out[-1] == "and 3 older ones: siflab runs --all"
    assert len(siflab("runs", "--all")[1].splitlines()) == 24


def test_no_run_says_how_to_begin(siflab):
    assert siflab("runs") == (0, "no runs yet; begin with `siflab promote NOTEBOOK`\n", "")


def test_a_name_cannot_command_the_terminal(siflab, notebook):
    promoted(siflab, notebook, "--name", "evil\x1b[2J\x07\n\u202eline")
    out = siflab("runs")[1]
    assert len(out.splitlines()) == 2
    assert "\x1b" not in out and "\x07" not in out and "\u202e" not in out


def test_ids_may_be_short_or_a_jobs(siflab, notebook, viewer):
    run = promoted(siflab, notebook)
    assert run["id"] in siflab("show", run["id"][:5])[1]
    assert run["id"] in siflab("show", "42")[1]
    code, _, err = siflab("show", "zzzzzzzz")
    assert (code, err) == (3, "siflab: there is no run zzzzzzzz; `siflab runs --all` lists those that there are\n")
    while len({one.id[0] for one in list_runs(viewer).runs}) == len(list_runs(viewer).runs):
        promoted(siflab, notebook)
    letters = [one.id[0] for one in list_runs(viewer).runs]
    twice = next(letter for letter in letters if letters.count(letter) > 1)
    code, _, err = siflab("show", twice)
    assert code == 2 and "several runs begin with" in err


def test_show_says_where_it_failed(siflab, notebook, slurm):
    from siflab.inside import Failure

    run = promoted(siflab, notebook)
    end(begin(run["folder"], "42"), "failed", code=1, error=Failure("ValueError", "boom\x1b[31m", 4, 3, 2))
    slurm.accounted("42", "FAILED", "1:0")
    lines = dict(line.split(None, 1) for line in siflab("show", run["id"])[1].splitlines())
    assert lines["state"] == "failed"
    assert lines["error"] == "cell 3, line 2: ValueError: boom?[31m"
    assert lines["cells"] == "1 of 3" and lines["resources"].startswith("gpu-a100, 1 node(s), 1 x a100")


def test_a_log_that_is_followed_ends_with_the_run(siflab, notebook, slurm, monkeypatch):
    run = promoted(siflab, notebook)
    slurm.queued("42", "RUNNING")
    folder = begin(run["folder"], "42")
    steps = iter(["more\n", "and more\n", None])

    def pause(seconds):
        text = next(steps)
        if text is None:
            end(folder)
            slurm.accounted("42", "COMPLETED")
        else:
            with folder.attempt(1).run_log.open("a") as log:
                log.write(text)

    monkeypatch.setattr(following.time, "sleep", pause)
    code, out, err = siflab("logs", "-f", run["id"])
    assert (code, out) == (0, "siflab: run\nprinted\nmore\nand more\n")
    assert err == f"run {run['id']}: completed\n"
    assert siflab("logs", run["id"])[1] == out
    assert siflab("logs", "--attempt", "2", run["id"])[0] == 3


@pytest.mark.parametrize(
    ("status", "code", "ending", "exit_code"),
    [("completed", "0:0", "completed", 0), ("failed", "1:0", "failed. it failed", 1)],
)
@pytest.mark.parametrize("option", ["--wait", "--follow"])
def test_waiting_for_the_end_tells_how_it_ended(
    siflab, notebook, slurm, monkeypatch, viewer, option, status, code, ending, exit_code
):
    def pause(seconds):
        (run,) = list_runs(viewer).runs
        end(begin(run.folder, "42"), status, code=exit_code)
        slurm.accounted("42", status.upper(), code)

    monkeypatch.setattr(following.time, "sleep", pause)
    found, out, err = siflab("promote", str(notebook()), option)
    assert found == exit_code
    assert err.splitlines()[-1].endswith(f": {ending}")
    assert out == ("" if option == "--wait" else "siflab: run\nprinted\n")


def test_a_new_attempt_is_followed_too(siflab, notebook, slurm, monkeypatch):
    run = promoted(siflab, notebook)
    slurm.queued("42", "RUNNING")
    folder = begin(run["folder"], "42")
    steps = iter(["requeue", "end"])

    def pause(seconds):
        if next(steps) == "requeue":
            with folder.attempt(1).run_log.open("a") as log:
                log.write("last words\n")
            begin(run["folder"], "42", number=2)
            folder.attempt(2).run_log.write_text("second\n")
        else:
            end(folder, number=2)
            slurm.accounted("42", "COMPLETED")

    monkeypatch.setattr(following.time, "sleep", pause)
    assert siflab("logs", "-f", run["id"])[1] == "siflab: run\nprinted\nlast words\nsecond\n"


def test_cancel_does_what_it_can(siflab, notebook):
    first, second = promoted(siflab, notebook), promoted(siflab, notebook)
    code, out, err = siflab("cancel", first["id"], "nothing1", second["id"])
    assert code == 3
    assert out.splitlines() == [f"run {first['id']}: cancelled", f"run {second['id']}: cancelled"]
    assert "nothing1" in err


def test_slurm_out_of_reach(siflab, notebook, slurm):
    run = promoted(siflab, notebook)
    slurm.answers["squeue"] = slurm.answers["sbatch"] = UNREACHABLE
    code, out, err = siflab("runs")
    assert code == 5 and "unknown" in out and err.startswith("siflab: Slurm cannot be reached")
    assert siflab("promote", str(notebook()))[0] == 5
    slurm.answers["scancel"] = UNREACHABLE
    assert siflab("cancel", run["id"])[0] == 5


def test_slurm_refuses(siflab, notebook, slurm):
    slurm.answers["sbatch"] = failing(
        "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"
    )
    code, _, err = siflab("promote", str(notebook()))
    assert code == 4 and "ask for less" in err


@pytest.mark.parametrize(("name", "value"), [("LANG", "zh_CN.UTF-8"), ("LC_ALL", "zh_TW.UTF-8"), ("SIFLAB_LANG", "zh")])
def test_chinese(siflab, notebook, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert "已提交，作业号 42" in siflab("promote", str(notebook()))[1]
    assert "状态" in siflab("runs")[1] and "正在排队" not in siflab("runs")[1] and "排队中" in siflab("runs")[1]
    assert "资源" in siflab("show", "42")[1]
    assert "配置" in siflab("profiles")[1]
    assert "此配置不允许 9" in siflab("promote", str(notebook()), "--gpus", "9")[2]
    code, _, err = siflab("promote")
    assert code == 2 and "缺少参数" in err


def test_help_teaches(siflab):
    code, out, _ = siflab("--help")
    assert code == 0
    assert "siflab promote train.ipynb" in out
    assert all(words[0] in out for words in EXIT_CODES.values())
    for command in ("promote", "runs", "show", "logs", "cancel", "profiles", "site"):
        assert command in out
        assert siflab(command, "--help")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["promote"],
        ["show"],
        ["cancel"],
        ["runs", "--none"],
        ["promote", "a", "--wait", "--follow"],
        ["logs", "--attempt", "x", "a"],
    ],
)
def test_wrong_arguments(siflab, arguments):
    code, out, err = siflab(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("siflab: ") and "--help" in err


def test_a_site_is_checked(siflab, site_data, tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(yaml.safe_dump(site_data))
    assert siflab("site", "check", str(path)) == (0, f"{path}: good; 1 image(s), 1 profile(s)\n", "")
    site_data["singularity"]["binds"] = ["/no/such:/inside"]
    site_data["images"]["torch"]["path"] = "/no/image.sif"
    path.write_text(yaml.safe_dump(site_data))
    code, _, err = siflab("site", "check", str(path))
    assert code == 2
    assert (
        f"{path}: singularity.binds: /no/such" in err and f"{path}: images.torch.path: the image /no/image.sif" in err
    )
    path.write_text("profiles: [")
    code, _, err = siflab("site", "check", str(path))
    assert code == 70 and "is no valid YAML" in err


def test_a_fault_of_ours_is_one_line(siflab, monkeypatch, viewer):
    monkeypatch.setattr("siflab.cli.runs_table.list_runs", lambda viewer: 1 / 0)
    code, _, err = siflab("runs")
    assert code == 70 and len(err.splitlines()) == 1 and "ZeroDivisionError" in err
    monkeypatch.setenv("SIFLAB_DEBUG", "1")
    assert "Traceback" in siflab("runs")[2]


def test_interrupted(siflab, monkeypatch, viewer):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("siflab.cli.runs_table.time.sleep", interrupt)
    assert siflab("runs", "--watch")[0] == 130


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("ｗ", 2), ("", 0), ("a\u200bb", 2)]
)
def test_width(text, columns):
    assert width(text) == columns


def test_a_table_lines_up():
    lines = table(["A", "B"], [["中文字", "x"], ["ab", "y" * 30]], [0, 10]).splitlines()
    assert lines == ["A       B", "中文字  x", "ab      yyyyyyyyy…"]
    assert shortened("中文字", 4) == "中…"
