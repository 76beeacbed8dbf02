"""The entries of `spawners` in site.yaml, as cards under those of the profiles; and that the Hub has their classes."""

from collections.abc import Iterable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jupyterhub.spawner import Spawner
from traitlets.utils.importstring import import_item

from siflab.config import Site, SiteError, load_site
from siflab.config.models import OtherSpawner
from siflab.text import Text
from siflab_spawner.hub_start import is_used, when_configured

_ENVIRONMENT = Environment(
    loader=PackageLoader("siflab_spawner.page", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
)
DEFAULT = {"local": "jupyterhub.spawner.LocalProcessSpawner"}
_HEADING = Text("Without Slurm", "不经过 Slurm")


def usable_others(site: Site, groups: Iterable[str]) -> dict[str, OtherSpawner]:
    """Those that a member of `groups` may use, in the order of the file."""
    mine = set(groups)
    return {key: other for key, other in site.spawners.items() if not other.groups or mine & set(other.groups)}


def render_others(others: Mapping[str, OtherSpawner], spoken: str, last: Mapping[str, Any] | None) -> str:
    """To follow the form of the profiles, with whose radio buttons these are one group. Empty without entries."""
    if not others:
        return ""
    cards = [(key, other.title.to(spoken), other.description.to(spoken)) for key, other in others.items()]
    chosen = last.get("profile") if isinstance(last, Mapping) else None
    return _ENVIRONMENT.get_template("other_spawners.html").render(
        cards=cards, chosen=chosen, heading=_HEADING.to(spoken), lang="zh-CN" if spoken == "zh" else "en"
    )


def begin() -> None:
    """Have each Hub of `SiteProfilesSpawner` look at site.yaml when it starts."""
    when_configured(_at_start)


def _at_start(app: Any) -> None:
    from siflab_spawner.wrapped.site_profiles import SiteProfilesSpawner

    if not is_used(app, SiteProfilesSpawner):
        return
    try:
        site_file = str(app.config.get("SingularitySlurmSpawner", {}).get("site_file", ""))
        own = app.config.get("SiteProfilesSpawner", {}).get("spawners", dict(DEFAULT))
        check(load_site(site_file or None), own)
    except SiteError as error:
        app.log.critical("siflab: %s. %s。", error.message.en.rstrip("."), error.message.zh.rstrip("。"))
        raise SystemExit(1) from None


def check(site: Site, allowed: Mapping[str, Any]) -> None:
    """Raises SiteError for an entry whose class the configuration does not allow."""
    for key, other in site.spawners.items():
        if other.spawner not in allowed:
            listed = ", ".join(allowed)
            raise SiteError(
                "site.yaml",
                f"spawners.{key}.spawner",
                Text(
                    f"{other.spawner!r} is none of c.SiteProfilesSpawner.spawners; there are: {listed}",
                    f"{other.spawner!r} 不在 c.SiteProfilesSpawner.spawners 中；可用：{listed}",
                ),
            )
        spawner_class(allowed, other.spawner)


def spawner_class(allowed: Mapping[str, Any], kind: str) -> type[Spawner]:
    """The class of a short name. Raises SiteError when it cannot be loaded, or is none of a spawner."""
    wanted = allowed[kind]
    try:
        found = import_item(wanted) if isinstance(wanted, str) else wanted
    except (ImportError, ValueError) as error:
        raise _no_class(kind, wanted, str(error)) from error
    if not (isinstance(found, type) and issubclass(found, Spawner)):
        raise _no_class(kind, wanted, "no spawner")
    return found


def _no_class(kind: str, wanted: object, why: str) -> SiteError:
    words = Text(f"{wanted!r} cannot be used ({why})", f"无法使用 {wanted!r}（{why}）")
    return SiteError("jupyterhub_config.py", f"c.SiteProfilesSpawner.spawners[{kind!r}]", words)
