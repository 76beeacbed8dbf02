"""Slurm's client commands as argument lists: pure functions, run by `execute.Slurm`, read by `records`."""

from collections.abc import Sequence

from siflab.slurm.records import (
    ACCOUNTING_FIELDS,
    OUTCOME_FIELDS,
    OWN_QUEUE_FIELDS,
    QUEUE_FIELDS,
    SEPARATOR,
)


def squeue_jobs(ids: Sequence[str] = (), user: str | None = None, everyone: bool = False) -> list[str]:
    """squeue for the jobs `ids`, or all of `user`, or all there are; every state, also those that just ended.

    An unknown id alone makes squeue exit 1 with ``Invalid job id specified``; in a list it is silently left out. One
    of the three must be given: an empty list is no question. With `user` the answer is for `parse_own_squeue` (it has
    names and comments), else for `parse_squeue`.
    """
    fields = OWN_QUEUE_FIELDS if user is not None else QUEUE_FIELDS
    argv = ["squeue", "--noheader", "--states=all", "--array", "--format", SEPARATOR.join(fields)]
    if user is not None:
        return [*argv, "--user", user]
    if ids:
        return [*argv, "--jobs", ",".join(ids)]
    if everyone:
        return argv
    raise ValueError("squeue_jobs needs ids, a user or everyone=True")


def sacct_jobs(ids: Sequence[str], duplicates: bool = False) -> list[str]:
    """sacct for jobs and their steps; `duplicates` also shows the rows before a requeue (``-D``)."""
    argv = ["sacct", "--noheader", "--parsable2", f"--delimiter={SEPARATOR}", "--format", ",".join(ACCOUNTING_FIELDS)]
    return [*argv, *(["--duplicates"] if duplicates else []), "--jobs", ",".join(ids)]


def sacct_outcome(job_id: str) -> list[str]:
    """sacct for what one job and its steps ended of, with the memory that it asked for."""
    argv = ["sacct", "--noheader", "--parsable2", f"--delimiter={SEPARATOR}", "--format", ",".join(OUTCOME_FIELDS)]
    return [*argv, "--jobs", job_id]


def squeue_comment(job_id: str) -> list[str]:
    """squeue for one job, with its name and comment; for `parse_own_squeue`."""
    argv = ["squeue", "--noheader", "--states=all", "--array", "--format", SEPARATOR.join(OWN_QUEUE_FIELDS)]
    return [*argv, "--jobs", job_id]


def scontrol_config() -> list[str]:
    return ["scontrol", "show", "config"]


def sacctmgr_admin_level(user: str) -> list[str]:
    """sacctmgr for ``None``, ``Operator`` or ``Administrator``; nothing when Slurm has no such user."""
    return ["sacctmgr", "--noheader", "--parsable2", "show", "user", f"name={user}", "format=AdminLevel"]


def scontrol_nodes() -> list[str]:
    """All nodes with what of their GRES is in use, one line a node (``scontrol -o show node``, with details)."""
    return ["scontrol", "--details", "--oneliner", "show", "node"]


def scontrol_partitions() -> list[str]:
    """All partitions with their limits, also those that are hidden or closed to the asking account."""
    return ["scontrol", "--all", "--oneliner", "show", "partition"]


def scontrol_reservations() -> list[str]:
    return ["scontrol", "--oneliner", "show", "reservation"]


def scontrol_job(job_id: str) -> list[str]:
    return ["scontrol", "--oneliner", "show", "job", job_id]


def scancel(ids: Sequence[str], signal: str | None = None, batch: bool = False) -> list[str]:
    """scancel; with `signal` only that is sent, with `batch` to the batch script alone."""
    argv = ["scancel"]
    if signal:
        argv.append(f"--signal={signal}")
    if batch:
        argv.append("--batch")
    return [*argv, *ids]
