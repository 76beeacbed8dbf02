"""Whom a partition or a reservation lets in: the lists that Slurm keeps for them."""

from typing import TYPE_CHECKING

from siflab.errors import FieldError
from siflab.slurm.scontrol import Partition, Reservation
from siflab.text import Text

if TYPE_CHECKING:
    from siflab.slurm.rights import Rights


def may_use_partition(
    name: str, partition: Partition | None, rights: "Rights", *, account: str | None, qos: str | None
) -> FieldError | None:
    """What shuts the person out, None if nothing that is known does. A partition that is DOWN queues jobs."""
    if partition is None:
        return _refused("no-such-partition", f"Slurm has no partition {name}", f"Slurm 没有分区 {name}")
    if partition.state in ("DRAIN", "INACTIVE"):
        return _refused(
            "partition-closed",
            f"partition {name} takes no new jobs at present ({partition.state})",
            f"分区 {name} 目前不接受新作业（{partition.state}）",
        )
    if _outside(partition.allow_groups, rights):
        return _refused(
            "partition-group",
            f"partition {name} is for the groups {', '.join(partition.allow_groups)}",
            f"分区 {name} 仅供用户组 {', '.join(partition.allow_groups)} 使用",
        )
    if account and not _listed(account, partition.allow_accounts, partition.deny_accounts, rights):
        return _refused(
            "partition-account",
            f"account {account} may not use partition {name}",
            f"账户 {account} 不能使用分区 {name}",
        )
    if qos and not _listed(qos, partition.allow_qos, partition.deny_qos):
        return _refused("partition-qos", f"QOS {qos} may not use partition {name}", f"QOS {qos} 不能使用分区 {name}")
    return None


def may_use_reservation(reservation: Reservation, rights: "Rights") -> bool | None:
    """None where it is not known. Users, accounts and groups each let in; a name with ``-`` in front shuts out."""
    shut_out = [f"-{rights.person.name}" in reservation.users]
    if rights.accounts:
        shut_out.append(all(f"-{account}" in reservation.accounts for account in rights.accounts))
    if any(shut_out):
        return False
    users = [name for name in reservation.users if not name.startswith("-")]
    accounts = [name for name in reservation.accounts if not name.startswith("-")]
    if not users and not accounts and not reservation.groups:
        return True
    if rights.person.name in users:
        return True
    if accounts:
        mine = {above.account for account in rights.accounts for above in rights.accounting.above(account)}
        if not rights.accounts:
            return None
        if (mine | set(rights.accounts)) & set(accounts):
            return True
    if reservation.groups and not _outside(reservation.groups, rights):
        return None if rights.person.groups is None else True
    return False


def _outside(groups: tuple[str, ...], rights: "Rights") -> bool:
    """Proven to be in none of these groups."""
    if not groups or rights.person.groups is None or not set(groups) <= rights.known_groups:
        return False
    return not set(groups) & rights.person.groups


def _listed(name: str, allowed: tuple[str, ...], denied: tuple[str, ...], rights: "Rights | None" = None) -> bool:
    """Newer Slurm lets the accounts below a listed one in too, so they are not refused here."""
    names = {name} | ({above.account for above in rights.accounting.above(name)} if rights else set())
    if allowed:
        return bool(names & set(allowed))
    return name not in denied


def _refused(code: str, en: str, zh: str) -> FieldError:
    return FieldError("partition", code, Text(en, zh))
