"""batchspawner's settings are looked at when the Hub starts: what cannot be ends the start, naming the setting."""

from typing import Any

from siflab_spawner.batchspawner_compat.drop_in import has_site, settings_of
from siflab_spawner.batchspawner_compat.refused import SettingRefused
from siflab_spawner.batchspawner_compat.settings import DEFAULTS, are_old, settings_in
from siflab_spawner.hub_start import is_used, when_configured


def begin() -> None:
    """Have each Hub of this spawner class look when it has read its configuration."""
    when_configured(_at_start)


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


def _at_start(app: Any) -> None:
    from siflab_spawner.spawner import SingularitySlurmSpawner

    if not is_used(app, SingularitySlurmSpawner):
        return
    try:
        if check(app.config, app.spawner_class):
            app.log.info("siflab: there is no site.yaml: sessions start as batchspawner's settings say")
    except SettingRefused as error:
        app.log.critical("siflab: %s. %s。", error.message.en.rstrip("."), error.message.zh.rstrip("。"))
        raise SystemExit(1) from None
