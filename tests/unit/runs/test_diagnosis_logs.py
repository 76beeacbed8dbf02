"""Recorded logs, each named by the cause that it shows: CAUSE.WHAT.log. Shortened; what the table goes by is verbatim."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from siflab.config import parse_site
from siflab.runs.diagnosing import CAUSES, Case, Place, diagnose
from siflab.runs.diagnosing.rules import EXCEPTIONS, LINES
from siflab.runs.diagnosing.tracebacks import read_raised

LOGS = sorted((Path(__file__).parent / "logs").glob("*.log"))
ASKED = {"memory_mib": 4096, "time_seconds": 7200, "gpus": 1, "image": "torch"}


@pytest.fixture
def site(site_data):
    return parse_site(site_data)


def recorded(name: str) -> str:
    return (Path(__file__).parent / "logs" / f"{name}.log").read_text("utf-8")


@pytest.mark.parametrize("path", LOGS, ids=[path.stem for path in LOGS])
def test_a_recorded_log(site, path):
    told = diagnose(Case("failed", log=path.read_text("utf-8"), exit_code=1, asked=ASKED), site, "a100")
    assert told.cause == path.name.partition(".")[0]
    for text in (told.message.en, told.message.zh):
        assert text and "{" not in text and "}" not in text and "  " not in text
    if told.said is not None and not told.said.startswith("exitcode"):
        assert told.said in path.read_text("utf-8").replace("[rank1]: ", "").replace("[rank2]: ", "")


@pytest.mark.parametrize("path", LOGS, ids=[path.stem for path in LOGS])
def test_the_log_of_a_rank_or_of_slurm_says_the_same(site, path):
    case = Case("failed", around=path.read_text("utf-8"), exit_code=1, asked=ASKED)
    assert diagnose(case, site, "a100").cause == path.name.partition(".")[0]


def test_every_cause_of_the_tables_has_its_words_and_a_recorded_log():
    named = {rule.cause for rule in EXCEPTIONS} | {cause for cause, _ in LINES}
    assert named <= CAUSES.keys()
    of_the_runner = {"exit_called", "cell_timeout", "image_unfit", "bad_notebook"}
    assert named - {path.name.partition(".")[0] for path in LOGS} == of_the_runner


def test_where_a_script_failed(site):
    told = diagnose(Case("failed", log=recorded("missing_file.data"), asked=ASKED), site, "a100")
    assert told.place.line == 12
    assert "/datasets/imagenet/train.csv" in told.message.en and "It was in line 12." in told.message.en
    assert "第 12 行" in told.message.zh


@pytest.mark.parametrize(
    ("name", "rank"), [("user_exception.rank-1", 1), ("killed.rank-1", 1), ("gpu_memory.ranks", 2)]
)
def test_which_rank_failed_first(site, name, rank):
    case = Case("failed", log=recorded(name), asked=ASKED, place=Place(node="gpu02"), is_distributed=True)
    told = diagnose(case, site, "a100")
    assert told.place.rank == rank and f"on rank {rank}" in told.message.en and "(gpu02)" in told.message.en


def test_of_two_nodes_reports_the_killed_rank_is_the_cause(site):
    """What the other node reports is that a peer was gone, and it may come last."""
    first, other = recorded("killed.rank-1"), recorded("peer_lost.alone")
    second = first.replace("rank      : 1 (local_rank: 1)", "rank      : 0 (local_rank: 0)").replace(
        "-9 (pid", "1 (pid"
    )
    for log in (first + second, second + first, other + second + first):
        case = Case("failed", log=log, asked=ASKED, place=Place(node="gpu[01-02]"), is_distributed=True)
        told = diagnose(case, site, "a100")
        assert (told.cause, told.place.rank, told.place.node) == ("killed", 1, "gpu01")
    alone = diagnose(Case("failed", log=other, place=Place(node="gpu[01-02]"), is_distributed=True), site, "a100")
    assert "on rank 0." in alone.message.en, "of several nodes none is named"


def test_a_single_process_has_no_rank(site):
    assert diagnose(Case("failed", log=recorded("killed.rank-1"), asked=ASKED), site, "a100").place.rank is None


def test_the_last_traceback_counts_and_its_chain():
    raised = read_raised(recorded("network.download"))
    assert [(one.short_name, one.chained) for one in raised] == [("gaierror", False), ("ConnectionError", True)]
    assert [one.short_name for one in read_raised(recorded("user_exception.ipython-comment"))] == ["NameError"]


HOSTILE = {
    "long line": "Traceback (most recent call last):\nRuntimeError: " + "unable to a " * 100_000,
    "words": "unable to " * 50_000 + "\n" + "FATAL:   container creation failed: " + " mount source" * 50_000,
    "frames": "Traceback (most recent call last):\n" + '  File "/a", line 1, in f\n' * 50_000,
    "headers": "Traceback (most recent call last):\n" * 50_000,
    "brackets": ("[" * 2000 + "ProcessGroup" * 100 + "\n") * 100,
    "blanks": "E" + " " * 200_000 + "Traceback (most recent call last)\n",
    "escapes": "\x1b[" * 100_000,
    "bytes": "\x00\ufffd\u2028\r" * 50_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_log_has_a_cause_too(site, kind):
    """A pattern that is not linear would take minutes here."""
    text = HOSTILE[kind][: 256 * 1024]
    assert diagnose(Case("failed", log=text, asked=ASKED), site, "a100").cause in CAUSES


def test_no_pattern_has_anything_unbounded_but_a_class_of_characters():
    """``.*``, ``.+`` and groups that repeat without end are what makes a pattern slow."""
    patterns = [rule.words.pattern for rule in EXCEPTIONS if rule.words] + [pattern.pattern for _, pattern in LINES]
    slow = [pattern for pattern in patterns if re.search(r"(?<!\\)\.[*+]|\)[*+]|\{\d*,\}", pattern)]
    assert slow == []


def test_a_case_without_anything_is_unknown(site):
    for state in ("failed", "unknown"):
        assert diagnose(replace(Case(state)), site, "gone").cause == "unknown"
