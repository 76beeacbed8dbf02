"""Limits with the words that name them: which of the many limits it is that a person meets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from siflab.errors import FieldError
from siflab.slurm.accounting import Association, Qos
from siflab.slurm.inventory import PartitionInventory
from siflab.slurm.memory import format_memory
from siflab.slurm.scontrol import Reservation
from siflab.slurm.time import format_time
from siflab.text import Text

_WHAT = {
    "account": ("account", "账户"),
    "qos": ("QOS", " QOS"),
    "reservation": ("reservation", "预约"),
}


@dataclass(frozen=True)
class Ceiling:
    """The most of one field, and which limit that is."""

    value: int
    why: Text


def amount(field: str, value: int, *, gpu_type: str | None = None) -> Text:
    """``2 GPUs``, ``16G`` ..."""
    if field == "gpus":
        named = "GPU parts" if gpu_type == "shard" else f"{gpu_type} GPUs" if gpu_type else "GPUs"
        named_zh = "份 GPU 切分" if gpu_type == "shard" else f"块 {gpu_type} GPU" if gpu_type else "块 GPU"
        return Text(f"{value} {named.removesuffix('s') if value == 1 else named}", f"{value} {named_zh}")
    if field == "cpus":
        return Text(f"{value} CPU{'' if value == 1 else 's'}", f"{value} 个 CPU")
    return Text.plain(format_memory(value) if field == "memory" else format_time(value))


def per_job(field: str, value: int, holder: Qos | Association) -> Ceiling:
    return _said(field, value, holder, "allows a job at most", "每个作业最多")


def per_node(field: str, value: int, holder: Qos | Association) -> Ceiling:
    return _said(field, value, holder, "allows a job at most, on each node,", "每个作业在每个节点上最多")


def per_person(field: str, value: int, holder: Qos) -> Ceiling:
    return _said(field, value, holder, "allows one person at most", "每人最多")


def for_everyone(field: str, value: int, holder: Qos | Association) -> Ceiling:
    return _said(field, value, holder, "has, for all its users together,", "所有用户合计最多")


def in_partition(field: str, value: int, partition: str) -> Ceiling:
    words = amount(field, value)
    return Ceiling(
        value, Text(f"partition {partition} allows at most {words.en}", f"分区 {partition} 最多允许 {words.zh}")
    )


def largest_node(partition: PartitionInventory, gpu_type: str | None, gpus: int) -> Iterator[tuple[str, Ceiling]]:
    """What the largest node has, up or down; of nodes with such a GPU where GPUs are asked for."""
    if not partition.ever:
        return
    most = max(shape.gpu_count(gpu_type) for shape in partition.ever)
    fitting = [shape for shape in partition.ever if shape.gpu_count(gpu_type)] if gpus and most else partition.ever
    values = {
        "gpus": most,
        "cpus": max(shape.cpus for shape in fitting),
        "memory": max(shape.memory for shape in fitting),
    }
    for field, value in values.items():
        words = amount(field, value, gpu_type=gpu_type)
        why = Text(
            f"no node of partition {partition.name} has more than {words.en}",
            f"分区 {partition.name} 没有节点超过 {words.zh}",
        )
        if field == "gpus" and not value:
            shown = gpu_type or "GPU"
            why = Text(f"partition {partition.name} has no {shown}", f"分区 {partition.name} 没有 {shown}")
        yield field, Ceiling(value, why)


def until_end(reservation: Reservation, now: datetime) -> Ceiling:
    """The time from its start, or from now, to its end."""
    assert reservation.end is not None
    begins = max(now, reservation.start) if reservation.start else now
    left = max(0, int((reservation.end - begins).total_seconds()) // 60 * 60)  # Slurm counts in whole minutes
    moment = f"{reservation.end:%Y-%m-%d %H:%M}"
    why = Text(f"reservation {reservation.name} ends at {moment}", f"预约 {reservation.name} 于 {moment} 结束")
    return Ceiling(left, why)


def not_yours(field: str, name: str, usable: Sequence[str], partition: str | None = None) -> FieldError:
    """`partition` where the name may be used, but not there."""
    en, zh = _WHAT[field]
    listed = ", ".join(usable)
    where = Text(f" in partition {partition}", f"在分区 {partition} 中") if partition else Text("", "")
    hint = Text(f"; you may use: {listed}", f"；可用：{listed}") if listed else Text("", "")
    words = Text(
        f"you may not use the {en} {name[:64]}{where.en}{hint.en}", f"您{where.zh}不能使用{zh} {name[:64]}{hint.zh}"
    )
    return FieldError(field, f"{field}-not-yours", words)


def _said(field: str, value: int, holder: Qos | Association, en: str, zh: str) -> Ceiling:
    words = amount(field, value)
    if isinstance(holder, Qos):
        name = Text.plain(f"QOS {holder.name}")
    else:
        name = Text(f"account {holder.account}", f"账户 {holder.account}")
    return Ceiling(value, Text(f"{name.en} {en} {words.en}", f"{name.zh} {zh} {words.zh}"))
