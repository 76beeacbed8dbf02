"""What sbatch answers: the id of a job, an estimate, or an error, in plain words.

The texts are the same from 22.05 to 24.11 (measured); they follow ``sbatch: error: Batch job submission failed:`` or
``allocation failure:``.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from siflab.errors import FieldError, Invalid, SlurmRefused
from siflab.slurm.time import parse_timestamp
from siflab.text import Text

_JOB_ID = re.compile(r"^(\d{1,10})(?:;([\w.-]+))?\s*$", re.MULTILINE | re.ASCII)
_ESTIMATE = re.compile(r"Job \d+ to start at (\S+) using (\d+) processors on nodes (\S+) in partition (\S+)")

# (text of Slurm, field of the request that it belongs to, English, Chinese)
_ERRORS: tuple[tuple[str, str, str, str], ...] = (
    ("Invalid partition name specified", "partition", "there is no such partition", "没有这个分区"),
    (
        "Invalid account or account/partition combination specified",
        "account",
        "you may not use this account, or not in this partition",
        "您不能使用该账户，或不能在此分区使用",
    ),
    ("Invalid qos specification", "qos", "you may not use this QOS", "您不能使用该 QOS"),
    (
        "Requested node configuration is not available",
        "",
        "no node of this partition has that many GPUs, CPUs or that much memory, or that type of GPU; ask for less",
        "此分区没有节点具备这么多 GPU、CPU 或内存，或没有该型号 GPU；请减少申请",
    ),
    (
        "Invalid generic resource (gres) specification",
        "gpus",
        "this cluster has no such GPU type",
        "集群没有这种 GPU 型号",
    ),
    ("Invalid feature specification", "", "no node has the feature that is asked for", "没有节点具备所要求的特性"),
    (
        "Requested reservation is invalid",
        "reservation",
        "there is no such reservation, or it is over",
        "预约不存在或已结束",
    ),
    ("Access denied to requested reservation", "reservation", "you may not use this reservation", "您不能使用该预约"),
    ("Invalid --time specification", "time", "this is not a time that Slurm understands", "Slurm 无法识别该时间"),
    (
        "Requested time limit is invalid",
        "time",
        "this is more time than the partition allows; ask for less",
        "超过分区的时间上限；请减少时间",
    ),
    (
        "QOSMaxGRESPerUser",
        "gpus",
        "this is more GPUs than your QOS allows one person; ask for fewer",
        "超过 QOS 允许每人使用的 GPU 数；请减少 GPU",
    ),
    (
        "Job violates accounting/QOS policy",
        "",
        "it goes beyond a limit of your account or QOS (GPUs, time, number of jobs); ask for less, or wait",
        "超出账户或 QOS 的上限（GPU、时间或作业数）；请减少申请，或等待其他作业结束",
    ),
    (
        "Job submit limit",
        "",
        "you have as many jobs in the queue as you may; wait for some to end",
        "排队的作业数已达上限；请等待部分作业结束",
    ),
    (
        "User's group not permitted to use this partition",
        "partition",
        "your group may not use this partition",
        "您的用户组不能使用此分区",
    ),
    (
        "Memory specification can not be satisfied",
        "memory",
        "no node has that much memory; ask for less",
        "没有节点有这么多内存；请减少内存",
    ),
    (
        "More processors requested than permitted",
        "cpus",
        "this is more CPUs than a node has; ask for fewer",
        "超过单个节点的 CPU 数；请减少 CPU",
    ),
)
_UNREACHABLE = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Protocol authentication error",
    "Invalid authentication credential",
    "Connection refused",
    "slurm_load_jobs error: Unexpected message received",
    "Munge encode failed",
    "Zero Bytes were transmitted or received",
    "Unable to establish configuration source",
    "Slurm backup controller in standby mode",
    "Slurm temporarily unable to accept job",
)

_UNCONNECTED = ("Unable to contact slurm controller", "Munge encode failed", "Unable to establish configuration source")


@dataclass(frozen=True)
class Estimate:
    """When Slurm would start a job, as ``sbatch --test-only`` says; a reading, not a promise."""

    start: datetime | None
    nodes: str
    partition: str


def as_job_id(value: Any) -> str | None:
    """The job id that a file tells, None if that is none: a run's folder may be anybody's, and this is an argument."""
    text = str(value)
    return text if text.isascii() and text.isdigit() and len(text) <= 10 else None


def parse_job_id(stdout: str) -> str | None:
    """The id that ``sbatch --parsable`` prints (``12`` or ``12;cluster``); None if there is none."""
    match = _JOB_ID.search(stdout)
    return match[1] if match else None


def parse_cluster(stdout: str) -> str:
    """The cluster that ``sbatch --parsable`` names after the job id; empty if it names none."""
    match = _JOB_ID.search(stdout)
    return (match[2] or "") if match else ""


def parse_estimate(stderr: str) -> Estimate | None:
    """What ``sbatch --test-only`` prints (on stderr) when it would take the job."""
    match = _ESTIMATE.search(stderr)
    return Estimate(parse_timestamp(match[1]), match[3], match[4]) if match else None


def is_unreachable(stderr: str) -> bool:
    """The text says that Slurm, or munge, could not be reached: nothing is known about any job."""
    return any(text.lower() in stderr.lower() for text in _UNREACHABLE)


def is_unconnected(stderr: str) -> bool:
    """The command did not get so far as to ask anything of slurmctld."""
    return any(text.lower() in stderr.lower() for text in _UNCONNECTED)


def sbatch_error(stderr: str) -> tuple[str, Text]:
    """The field that an sbatch error belongs to (may be empty) and what it means, in plain words."""
    for text, field, en, zh in _ERRORS:
        if text.lower() in stderr.lower():
            return field, Text(f"{en} (Slurm: {text})", f"{zh}（Slurm：{text}）")
    lines = [line.removeprefix("sbatch: ").removeprefix("error: ").strip() for line in stderr.splitlines()]
    words = next((line for line in reversed(lines) if line), "no reason given")
    return "", Text(f"Slurm says: {words[:500]}", f"Slurm 的说明：{words[:500]}")


def refused(stderr: str) -> Invalid | SlurmRefused:
    """What to raise for an sbatch that took no job: at the field that it is about, where that is known."""
    field, message = sbatch_error(stderr)
    if field:
        return Invalid([FieldError(field, "slurm-refused", message)])
    return SlurmRefused(Text(f"Slurm did not take the job: {message.en}.", f"Slurm 未接受该作业：{message.zh}。"))
