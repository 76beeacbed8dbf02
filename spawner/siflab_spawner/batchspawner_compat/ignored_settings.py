"""Settings of batchspawner that a site may still have in its jupyterhub_config.py: they are named, not passed over."""

import logging
from collections.abc import Mapping
from typing import Any

_CLASSES = ("BatchSpawnerBase", "BatchSpawnerRegexStates", "SlurmSpawner", "SingularitySlurmSpawner")
_PREFIXES = ("req_", "batch_", "state_", "exec_prefix", "batchspawner_", "startup_poll_interval")
_told: set[str] = set()


def unused_settings(config: Mapping[str, Any]) -> list[str]:
    """``Class.name`` of each setting that has no meaning for Siflab, sorted."""
    return sorted(
        f"{owner}.{name}" for owner in _CLASSES for name in config.get(owner, {}) if str(name).startswith(_PREFIXES)
    )


def tell_unused(config: Mapping[str, Any], log: logging.Logger) -> None:
    """Once for each setting."""
    for setting in unused_settings(config):
        if setting not in _told:
            _told.add(setting)
            log.warning("siflab: c.%s is not used: what may be started stands in site.yaml", setting)
