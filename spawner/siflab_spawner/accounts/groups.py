"""The groups by which profiles are offered: JupyterHub's, and those that the account has on the Hub's machine."""

import grp
from functools import partial
from typing import TYPE_CHECKING

from siflab.errors import SiflabError
from siflab_spawner.accounts.as_user import find_user
from siflab_spawner.accounts.directory import directory

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner


async def group_names(spawner: "SingularitySlurmSpawner") -> list[str]:
    """Sorted. A directory service that does not answer leaves JupyterHub's own groups: less is offered, never more."""
    names = {group.name for group in spawner.user.groups}
    offers = (*spawner.site.profiles.values(), *spawner.site.spawners.values())
    if any(offer.groups for offer in offers):
        try:
            account = await find_user(spawner.user.name)
            names |= await directory.ask(("groups", account.groups), partial(_unix_names, account.groups))
        except SiflabError as error:
            spawner.log.warning("siflab: the Unix groups of %s are not known: %r", spawner.user.name, error)
    return sorted(names)


def _unix_names(ids: tuple[int, ...]) -> set[str]:
    names = set()
    for gid in ids:
        try:
            names.add(grp.getgrgid(gid).gr_name)
        except KeyError:
            continue
    return names
