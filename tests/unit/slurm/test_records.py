"""What the commands print, as records; hostile and broken answers among it."""

import time

import pytest

from siflab.slurm.commands import sacct_jobs, squeue_jobs
from siflab.slurm.records import (
    ACCOUNTING_FIELDS,
    OUTCOME_FIELDS,
    OWN_QUEUE_FIELDS,
    QUEUE_FIELDS,
    SEPARATOR,
    Unreadable,
    parse_outcome,
    parse_own_squeue,
    parse_sacct,
    parse_squeue,
)
from siflab.slurm.states import state_info
from tests.unit.spawner.conftest import row

ROW = ["7", "7", "N/A", "user1", "RUNNING", "None", "gpu01", "2026-11-30T22:58:01", "2026-12-01T00:58:01",
       "2026-11-30T22:58:00", "1:59:00", "gpu-a100", "2:00:00", "gres/gpu:a100:2"]  # fmt: skip
WATCHED = [*ROW, "1001"]


def line(row: list[str]) -> str:
    return SEPARATOR.join(row) + "\n"


def test_a_running_job():
    (record,) = parse_squeue(line(WATCHED))
    assert (record.job_id, record.user, record.state.kind, record.batch_host) == ("7", "user1", "running", "gpu01")
    assert record.uid == 1001
    assert (record.time_left, record.time_limit) == (7140, 7200)
    assert record.gres[0].count == 2
    assert record.start is not None


def test_a_pending_element_of_an_array():
    row = ["9", "7", "3", "user1", "PENDING", "ReqNodeNotAvail, UnavailableNodes:gpu02", "n/a", "N/A", "N/A", "N/A", "N/A", "cpu", "UNLIMITED", "N/A", "1001"]  # fmt: skip
    (record,) = parse_squeue(line(row))
    assert (record.array_job_id, record.array_task_id, record.batch_host) == ("7", "3", "")
    assert record.reason == "ReqNodeNotAvail, UnavailableNodes:gpu02"
    assert (record.start, record.time_left, record.time_limit, record.gres) == (None, None, None, ())


NO_ANSWERS = {
    "words": "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
    "a header": "JOBID ARRAY_JOB_ID USER STATE\n",
    "too few fields": line(ROW),
    "too many fields": line([*WATCHED, "more"]),
    "a row that was cut": line(WATCHED) + line(WATCHED)[:-9],
    "a cut that leaves all fields": line(WATCHED)[:-2],
    "no number": line(["7_[1-3]", *WATCHED[1:]]),
    "a number of another script": line(["\u0667", *WATCHED[1:]]),
    "words among rows": line(WATCHED) + "squeue: error: Zero Bytes were transmitted or received\n" + line(WATCHED),
}


@pytest.mark.parametrize("text", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_an_answer_that_is_none_proves_nothing(text):
    with pytest.raises(Unreadable):
        parse_squeue(text)


@pytest.mark.parametrize("text", [text for name, text in NO_ANSWERS.items() if "number" not in name])
def test_that_holds_where_only_some_jobs_are_wanted(text):
    with pytest.raises(Unreadable):
        parse_squeue(text, only={"8"})


def test_only_what_is_wanted_is_read(monkeypatch):
    read = []
    monkeypatch.setattr("siflab.slurm.records.state_info", lambda word: read.append(word) or state_info(word))
    text = "".join(line([str(n), *WATCHED[1:]]) for n in range(1, 2001))
    assert [record.job_id for record in parse_squeue(text, only={"7", "1999", "5000"})] == ["7", "1999"]
    assert len(read) == 2


@pytest.mark.parametrize("parse", [parse_own_squeue, parse_sacct, parse_outcome])
def test_a_cut_answer_is_none(parse):
    with pytest.raises(Unreadable, match="cut off"):
        parse(line(ROW)[:-1])


def test_no_job_is_an_answer():
    assert parse_squeue("") == []
    assert parse_own_squeue("\n") == []


def test_free_text_is_asked_for_only_where_one_user_is_looked_at():
    assert "%k" not in " ".join(squeue_jobs(["1", "2"]))
    assert "%j" not in " ".join(squeue_jobs(everyone=True))
    assert squeue_jobs(user="user1")[-2:] == ["--user", "user1"]
    assert OWN_QUEUE_FIELDS[:-2] == QUEUE_FIELDS[:-1]


@pytest.mark.parametrize(
    ("comment", "read"),
    [
        ("siflab:demo:user1::abc", "siflab:demo:user1::abc"),
        ("(null)", ""),
        ("a|b,c 'd' \"e\"", "a|b,c 'd' \"e\""),
        (f"with{SEPARATOR}it", "with"),
        ("line\nend", "line"),
    ],
)
def test_a_comment_is_free_text(comment, read):
    records = parse_own_squeue(line([*ROW, "训练 job", comment]))
    assert [record.comment for record in records] == [read]
    assert records[0].name == "训练 job"


def test_an_empty_question_is_refused():
    with pytest.raises(ValueError, match="needs ids"):
        squeue_jobs([])


def test_accounting_has_the_job_and_its_steps():
    rows = [
        ["5", "user1", "FAILED", "1:0", "None", "gpu01", "2026-11-30T22:58:01", "2026-11-30T22:59:01", "2026-11-30T22:58:00", "02:00:00", ""],
        ["5.batch", "", "OUT_OF_MEMORY", "0:125", "", "gpu01", "2026-11-30T22:58:01", "2026-11-30T22:59:01", "2026-11-30T22:58:01", "", "260000K"],
        ["6", "user1", "CANCELLED by 0", "0:0", "None", "None assigned", "None", "2026-11-30T22:59:01", "2026-11-30T22:58:00", "UNLIMITED", ""],
    ]  # fmt: skip
    job, step, cancelled = parse_sacct("".join(map(line, rows)))
    assert (job.step, job.exit_code, job.signal, job.time_limit) == ("", 1, 0, 7200)
    assert (step.step, step.state.name, step.signal, step.max_rss_mib) == ("batch", "OUT_OF_MEMORY", 125, 254)
    assert (cancelled.state.name, cancelled.state_words, cancelled.nodes) == ("CANCELLED", "CANCELLED by 0", "")
    assert cancelled.start is None
    assert sacct_jobs(["5"], duplicates=True)[-3:] == ["--duplicates", "--jobs", "5"]


def test_the_outcome_has_the_memory_too():
    assert OUTCOME_FIELDS[: len(ACCOUNTING_FIELDS)] == ACCOUNTING_FIELDS
    rows = [
        ["5", "user1", "OUT_OF_MEMORY", "0:125", "None", "gpu01", "2026-11-30T22:58:01", "2026-11-30T22:59:01", "2026-11-30T22:58:00", "02:00:00", "", "16G", "1001"],
        ["5.batch", "", "OUT_OF_MEMORY", "0:125", "", "gpu01", "2026-11-30T22:58:01", "2026-11-30T22:59:01", "2026-11-30T22:58:01", "", "16000000K", "", ""],
    ]  # fmt: skip
    job, step = parse_outcome("".join(map(line, rows)))
    assert (job.memory_mib, job.uid, step.memory_mib, step.uid, step.max_rss_mib) == (16384, 1001, None, None, 15625)


@pytest.mark.parametrize(
    ("limit", "end"),
    [("2000000-00:00:00", "2026-12-01T12:00:00"), ("-1:00", "2026-12-01T12:00:00"), ("2:00:00", "9999-12-31T23:59:59"),
     ("2:00:00", "0001-01-01T00:00:00"), ("what", "when")],
)  # fmt: skip
def test_one_odd_row_does_not_hide_the_others(monkeypatch, limit, end):
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    try:
        odd = row("13").replace("2:00:00", limit).replace("2026-12-01T12:00:00", end)
        records = parse_squeue(row("12") + odd)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [record.job_id for record in records] == ["12", "13"]
    assert records[0].time_limit == 7200 and records[0].end is not None
    assert records[1].state.kind == "running"
