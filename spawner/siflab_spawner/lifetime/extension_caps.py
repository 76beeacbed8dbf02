"""How long a job may be made to last: the site's rule and Slurm's own limits, each with its words. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from siflab.config.session_rules import ExtensionSite
from siflab.slurm.running_time_limits import PartitionLimit, QosLimit, Reservation, RunningJob, has_node
from siflab.slurm.time import format_time
from siflab.text import Text


@dataclass(frozen=True)
class Cap:
    """`total`: seconds from the job's start to its end, at most."""

    total: int
    why: Text


def caps_of(
    rule: ExtensionSite,
    job: RunningJob,
    partition: PartitionLimit,
    reservations: Sequence[Reservation],
    qos: Mapping[str, QosLimit],
    associations: Mapping[tuple[str, str], int | None],
) -> list[Cap]:
    """At least the site's own; `job.start` is known."""
    caps = [Cap(rule.max_total, _site(rule.max_total))]
    own = qos.get(job.qos, QosLimit(None, frozenset()))
    if partition.max_time is not None and "PartitionTimeLimit" not in own.flags:
        caps.append(Cap(partition.max_time, _partition(job.partition, partition.max_time)))
    wall = _max_wall(job, partition, own, qos, associations)
    if wall is not None:
        caps.append(wall)
    assert job.start is not None
    for reservation in reservations:
        cap = _reservation(reservation, job, job.start)
        if cap is not None:
            caps.append(cap)
    return caps


def _max_wall(
    job: RunningJob,
    partition: PartitionLimit,
    own: QosLimit,
    qos: Mapping[str, QosLimit],
    associations: Mapping[tuple[str, str], int | None],
) -> Cap | None:
    """The first that is set: Slurm asks the partition's QOS, the job's QOS, the association, in this order (with the
    flag OverPartQOS the job's QOS first)."""
    of_partition = qos.get(partition.qos, QosLimit(None, frozenset())).max_wall
    named = [(partition.qos, of_partition), (job.qos, own.max_wall)]
    for name, seconds in reversed(named) if "OverPartQOS" in own.flags else named:
        if seconds is not None:
            shown = format_time(seconds)
            return Cap(seconds, Text(f"QOS {name} allows {shown} in all.", f"QOS {name} 总共允许 {shown}。"))
    for partition_name in (job.partition, ""):
        seconds = associations.get((job.account, partition_name))
        if seconds is not None:
            shown = format_time(seconds)
            return Cap(
                seconds, Text(f"account {job.account} allows {shown} in all.", f"账户 {job.account} 总共允许 {shown}。")
            )
    return None


def _reservation(reservation: Reservation, job: RunningJob, start: datetime) -> Cap | None:
    if reservation.name == job.reservation:
        if reservation.end is None:
            return None
        at = _clock(reservation.end)
        return Cap(
            int((reservation.end - start).total_seconds()),
            Text(f"reservation {reservation.name} ends at {at}.", f"预约 {reservation.name} 于 {at} 结束。"),
        )
    if reservation.start is None or reservation.start <= start or not has_node(reservation.nodes, job.node):
        return None  # the job was started in spite of one that had begun: that is Slurm's decision
    at = _clock(reservation.start)
    what = Text("maintenance", "维护") if "MAINT" in reservation.flags else Text("reservation", "预约")
    return Cap(
        int((reservation.start - start).total_seconds()),
        Text(
            f"{what.en} {reservation.name} begins on node {job.node} at {at}.",
            f"{what.zh} {reservation.name} 于 {at} 在节点 {job.node} 上开始。",
        ),
    )


def _site(seconds: int) -> Text:
    shown = format_time(seconds)
    return Text(f"this site allows {shown} in all.", f"本站点总共允许 {shown}。")


def _partition(name: str, seconds: int) -> Text:
    shown = format_time(seconds)
    return Text(f"partition {name} allows {shown} in all.", f"分区 {name} 总共允许 {shown}。")


def _clock(moment: datetime) -> str:
    local = moment.astimezone()
    today = datetime.now().astimezone().date()
    return local.strftime("%H:%M" if local.date() == today else "%Y-%m-%d %H:%M")
