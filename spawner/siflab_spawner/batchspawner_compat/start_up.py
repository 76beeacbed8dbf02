"""batchspawner's settings are looked at when the Hub starts: what cannot be ends the start, naming the setting."""

import asyncio
from typing import Any

from siflab.text import Text
from siflab_spawner.batchspawner_compat.drop_in import has_site, settings_of
from siflab_spawner.batchspawner_compat.refused import SettingRefused
from siflab_spawner.batchspawner_compat.settings import DEFAULTS, are_old, settings_in

_GOES = Text(
    "no site.yaml here: sessions are started as batchspawner's settings say (docs/from-batchspawner.md)",
    "此处没有 site.yaml：会话按 batchspawner 的设置启动（docs/from-batchspawner.zh-CN.md）",
)


def begin() -> None:
    """Look as soon as the Hub that loads this class has read its configuration."""
    from jupyterhub.app import JupyterHub

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # no Hub runs here
        return
    if JupyterHub.initialized():
        loop.call_soon(_at_start_up, JupyterHub.instance())


def check(config: Any, spawner_class: type[Any]) -> bool:
    """Whether batchspawner's settings rule. Raises SettingRefused for one that cannot. Profiles of wrapspawner are
    looked at when one is started: they may be of other spawners."""
    found = settings_in(config)
    site_file = found.get("site_file", ("", ""))[1]
    if has_site(str(site_file or "")) or not are_old(found):
        return False
    traits = spawner_class.class_traits()
    texts = {name: str(found[name][1] if name in found else traits[name].default_value) for name in DEFAULTS}
    patterns = found.get("option_patterns", ("", {}))[1]
    settings_of(texts, found, list(traits), dict(patterns))
    return True


def _at_start_up(app: Any) -> None:
    from siflab_spawner.spawner import SingularitySlurmSpawner

    if not (isinstance(app.spawner_class, type) and issubclass(app.spawner_class, SingularitySlurmSpawner)):
        return
    try:
        if check(app.config, app.spawner_class):
            app.log.info("siflab: %s", _GOES.en)
    except SettingRefused as error:
        app.log.critical("siflab: %s. %s。", error.message.en, error.message.zh)
        if app.tornado_application is None:
            raise SystemExit(1) from None
