"""What bounds a running job's time, as Slurm's commands say it (texts of 22.05 and 24.11)."""

import pytest

from siflab.slurm.records import SEPARATOR, Unreadable
from siflab.slurm.running_time_limits import (
    has_node,
    parse_associations,
    parse_job,
    parse_partition,
    parse_qos,
    parse_reservations,
    set_time_limit,
)

JOB = ["3", "user1", "RUNNING", "5:00", "2026-12-01T05:04:39", "2026-12-01T05:09:39", "cpu", "normal", "research",
       "(null)", "cpu01"]  # fmt: skip
PARTITION = (
    "PartitionName=gpu-a100 AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS={qos} "
    "DefaultTime=01:00:00 DisableRootJobs=NO MaxNodes=UNLIMITED MaxTime={time} MinNodes=0 Nodes=gpu[01-02]\n"
)
MAINTENANCE = (
    "ReservationName=mm StartTime=2026-12-01T05:09:41 EndTime=2026-12-01T05:19:41 Duration=00:10:00 Nodes=cpu01 "
    "NodeCnt=1 CoreCnt=64 Features=(null) PartitionName=(null) Flags=MAINT,IGNORE_JOBS,SPEC_NODES TRES=cpu=64 "
    "Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a\n"
)


def test_a_job():
    job = parse_job(SEPARATOR.join([*JOB, "siflab:a:b::c"]) + "\n")
    assert (job.job_id, job.user, job.state.kind, job.time_limit) == ("3", "user1", "running", 300)
    assert (job.end - job.start).total_seconds() == 300
    assert (job.partition, job.qos, job.account, job.reservation, job.node) == (
        "cpu",
        "normal",
        "research",
        "",
        "cpu01",
    )


def test_a_comment_forges_nothing():
    job = parse_job(SEPARATOR.join([*JOB, f"x{SEPARATOR}4\n5{SEPARATOR}user2"]))
    assert job.user == "user1" and job.comment.startswith(f"x{SEPARATOR}4")


@pytest.mark.parametrize("text", ["", "slurm_load_jobs error\n", SEPARATOR.join(JOB)])
def test_what_is_no_job(text):
    with pytest.raises(Unreadable):
        parse_job(text)


@pytest.mark.parametrize(
    ("time", "qos", "expected"),
    [("08:00:00", "N/A", (28800, "")), ("UNLIMITED", "part", (None, "part")), ("1-00:00:00", "(null)", (86400, ""))],
)
def test_a_partition(time, qos, expected):
    found = parse_partition(PARTITION.format(time=time, qos=qos))
    assert (found.max_time, found.qos) == expected


def test_no_partition():
    with pytest.raises(Unreadable):
        parse_partition("slurm_load_partitions error: Invalid partition name specified\n")


def test_reservations():
    (found,) = parse_reservations(MAINTENANCE)
    assert (found.name, found.nodes) == ("mm", "cpu01") and "MAINT" in found.flags and found.start < found.end
    assert parse_reservations("No reservations in the system\n") == []


def test_qos_and_associations():
    qos = parse_qos("normal||\ngpu-basic|04:00:00|DenyOnLimit,OverPartQOS\n")
    assert qos["normal"].max_wall is None and qos["gpu-basic"].max_wall == 14400
    assert "OverPartQOS" in qos["gpu-basic"].flags
    assert parse_associations("research||1-00:00:00\nresearch|cpu|\n") == {
        ("research", ""): 86400,
        ("research", "cpu"): None,
    }
    with pytest.raises(Unreadable):
        parse_qos("sacctmgr: something else\n")


@pytest.mark.parametrize(
    ("nodes", "node", "expected"),
    [
        ("cpu01", "cpu01", True), ("cpu01", "cpu011", False), ("gpu[01-03]", "gpu02", True),
        ("gpu[01-03]", "gpu04", False), ("gpu[01-03,07],cpu01", "gpu07", True), ("gpu[01-03,07],cpu01", "cpu01", True),
        ("gpu[01-03]", "gpu2", False), ("gpu[8-11]", "gpu10", True), ("r[1-2]n[1-4]", "r1n3", True),
        ("gpu[01-03]-ib", "gpu02-ib", True), ("gpu[01-03]-ib", "gpu02", False), ("", "gpu01", False),
        ("gpu[01-03]", "gpu", False), ("gpu[0²-03]", "gpu0²", False),
    ],
)  # fmt: skip
def test_lists_of_nodes(nodes, node, expected):
    assert has_node(nodes, node) is expected


def test_the_command_that_needs_an_operator():
    assert set_time_limit("12", 90000) == ["scontrol", "update", "JobId=12", "TimeLimit=1-01:00:00"]
