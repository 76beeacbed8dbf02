"""What bounds the time of a job that runs: partition, QOS, association, reservations. Commands and their answers.

Slurm checks none of them when an operator raises a job's time limit (seen with 22.05: a partition of one day, a job of
three), so whoever does that has to look. Sources: squeue(1), scontrol(1), sacctmgr(1), resource limits in Slurm's docs.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from siflab.slurm.records import SEPARATOR, Unreadable
from siflab.slurm.states import StateInfo, state_info
from siflab.slurm.time import format_time, parse_limit, parse_timestamp

_JOB_FIELDS = ["%A", "%u", "%T", "%l", "%S", "%e", "%P", "%q", "%a", "%v", "%B", "%k"]
_NONE = ("", "(null)", "N/A", "None")


@dataclass(frozen=True)
class RunningJob:
    """A job's time and what it stands under. `time_limit` in seconds, None if unlimited; names are empty for none."""

    job_id: str
    user: str
    state: StateInfo
    time_limit: int | None
    start: datetime | None
    end: datetime | None
    partition: str
    qos: str
    account: str
    reservation: str
    node: str
    comment: str


@dataclass(frozen=True)
class Reservation:
    """`nodes` is Slurm's list, such as ``gpu[01-03],cpu01``."""

    name: str
    start: datetime | None
    end: datetime | None
    nodes: str
    flags: frozenset[str]


@dataclass(frozen=True)
class PartitionLimit:
    max_time: int | None
    qos: str


@dataclass(frozen=True)
class QosLimit:
    max_wall: int | None
    flags: frozenset[str]


def job_query(job_id: str) -> list[str]:
    """The comment, which its owner may choose, comes last: nothing can be forged before it."""
    return ["squeue", "--noheader", "--states=all", "--jobs", job_id, "--format", SEPARATOR.join(_JOB_FIELDS)]


def parse_job(text: str) -> RunningJob:
    """Raises Unreadable."""
    row = text.rstrip("\n").split(SEPARATOR, len(_JOB_FIELDS) - 1)
    if len(row) != len(_JOB_FIELDS):
        raise Unreadable(f"expected {len(_JOB_FIELDS)} fields: {text[:200]!r}")
    job, user, state, limit, start, end, partition, qos, account, reservation, node, comment = row
    return RunningJob(
        job,
        user,
        state_info(state),
        _limit(limit),
        parse_timestamp(start),
        parse_timestamp(end),
        partition,
        _name(qos),
        _name(account),
        _name(reservation),
        _name(node),
        _name(comment),
    )


def partition_query(name: str) -> list[str]:
    return ["scontrol", "--oneliner", "show", "partition", name]


def parse_partition(text: str) -> PartitionLimit:
    """Raises Unreadable."""
    if "PartitionName=" not in text:
        raise Unreadable(f"no partition: {text[:200]!r}")
    return PartitionLimit(_limit(_word("MaxTime", text)), _name(_word("QoS", text)))


def reservations_query() -> list[str]:
    return ["scontrol", "--oneliner", "show", "reservation"]


def parse_reservations(text: str) -> list[Reservation]:
    return [
        Reservation(
            _word("ReservationName", line),
            parse_timestamp(_word("StartTime", line)),
            parse_timestamp(_word("EndTime", line)),
            _name(_word("Nodes", line)),
            frozenset(_word("Flags", line).split(",")),
        )
        for line in text.splitlines()
        if line.startswith("ReservationName=")
    ]


def qos_query() -> list[str]:
    return ["sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=name,maxwall,flags"]


def parse_qos(text: str) -> dict[str, QosLimit]:
    """Raises Unreadable."""
    rows = _rows(text, 3)
    return {name: QosLimit(_limit(wall), frozenset(flags.split(","))) for name, wall, flags in rows}


def association_query(user: str, cluster: str) -> list[str]:
    """What a user's associations inherit from their accounts is shown with them. One database serves many clusters, and
    each has its own limits: `cluster` is as ClusterName in slurm.conf, in small letters."""
    where = [f"user={user}", f"cluster={cluster}", "format=account,partition,maxwall"]
    return ["sacctmgr", "--noheader", "--parsable2", "show", "association", *where]


def parse_associations(text: str) -> dict[tuple[str, str], int | None]:
    """Seconds by account and partition (empty: any). Raises Unreadable."""
    return {(account, partition): _limit(wall) for account, partition, wall in _rows(text, 3)}


def set_time_limit(job_id: str, seconds: int) -> list[str]:
    """To raise it takes root, SlurmUser or AdminLevel=Operator; Slurm counts in whole minutes."""
    return ["scontrol", "update", f"JobId={job_id}", f"TimeLimit={format_time(seconds)}"]


def has_node(nodes: str, node: str) -> bool:
    """Whether Slurm's list of nodes has this one: ``gpu[01-03,07],cpu01`` has ``gpu02``. Lists with more than one pair
    of brackets in a name are not read, and count as having it."""
    for entry in re.findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", nodes):
        head, bracket, rest = entry.partition("[")
        if not bracket:
            if head == node:
                return True
            continue
        inner, _, tail = rest.partition("]")
        if "[" in tail:
            return True
        middle = node[len(head) : len(node) - len(tail)] if node.startswith(head) and node.endswith(tail) else ""
        if middle.isdecimal() and middle.isascii() and any(_in_range(middle, part) for part in inner.split(",")):
            return True
    return False


def _in_range(number: str, part: str) -> bool:
    first, dash, last = part.partition("-")
    if not dash:
        return number == first
    if not (first.isdecimal() and last.isdecimal()):
        return False
    return len(number) >= len(first) and int(first) <= int(number) <= int(last)


def _word(name: str, text: str) -> str:
    match = re.search(rf"(?:^|\s){name}=(\S*)", text)
    return match[1] if match else ""


def _name(text: str) -> str:
    return "" if text in _NONE or text == "n/a" else text


def _limit(text: str) -> int | None:
    try:
        return parse_limit(text)
    except ValueError as error:
        raise Unreadable(str(error)) from error


def _rows(text: str, width: int) -> list[list[str]]:
    rows = [line.split("|") for line in text.splitlines() if line.strip()]
    if any(len(row) != width for row in rows):
        raise Unreadable(f"expected {width} fields: {text[:200]!r}")
    return rows
