"""`siflab metrics`."""

import csv
import json
from pathlib import Path

import pytest

from siflab.runs import submit
from tests.unit.runs.usage_lines import lines, write


@pytest.fixture
def run(viewer, request_for):
    run = submit(viewer, request_for())
    attempt = Path(run.folder) / "attempts" / "1"
    found = lines(60, lambda i: {"top": 1.0, "busy": 1.0, "read": i << 30}, lambda i: {"util": 28.0}, head={"cpus": 2})
    write(attempt / "usage.jsonl", found)
    (attempt / "metrics.jsonl").write_text('{"at": "2026-12-01T03:11:19+08:00", "values": {"loss": 0.25}}\n')
    return run


def test_figures_and_advice_in_words(siflab, run, monkeypatch):
    code, out, err = siflab("metrics", run.id[:4])
    assert (code, err) == (0, "")
    tables = [block.splitlines() for block in out.split("\n\n")]
    assert [block[0].split()[0] for block in tables[:4]] == ["NODE", "GPU", "CELL", "RECORDED"]
    assert "gpu01" in tables[0][1] and "0:05:00" in tables[0][1] and "64.0G" in tables[0][1]
    assert "28 %" in tables[1][1] and "72 %" in tables[1][1] and "300 W" in tables[1][1]
    assert tables[3][1].split() == ["loss", "1", "0.25", "0.25", "0.25"]
    assert tables[4][0].startswith("* The GPU idled 72 % of the time") and "num_workers=6" in tables[4][0]
    assert tables[4][1] == f"  siflab rerun {run.id} --with cpus=7"

    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "* GPU 有 72% 的时间空闲" in siflab("metrics", run.id)[1]


def test_for_programs(siflab, run):
    told = json.loads(siflab("metrics", run.id, "--json")[1])
    assert (told["run"], told["advice"][0]["code"]) == (run.id, "data_in_main")

    rows = list(csv.DictReader(siflab("metrics", run.id, "--csv")[1].splitlines()))
    assert len([row for row in rows if row["name"] == "util"]) == 60

    assert json.loads(siflab("metrics", run.id, "--json", "--rank", "3")[1])["series"] == []


def test_what_there_is_not(siflab, run, viewer, request_for):
    code, _, err = siflab("metrics", run.id, "--attempt", "9")
    assert (code, "no attempt 9" in err) == (3, True)
    other = submit(viewer, request_for("other.ipynb"))
    assert siflab("metrics", other.id)[:2] == (0, "nothing was measured yet\n")
    write(
        Path(other.folder) / "attempts/1/usage.jsonl",
        [{**line, "nvml": False} for line in lines(5) if "gpu" not in line],
    )
    assert "no NVIDIA driver could be asked" in siflab("metrics", other.id)[1]
