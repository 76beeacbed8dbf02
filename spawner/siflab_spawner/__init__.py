"""The Hub side of Siflab: the spawner, and the Hub's routes for the sessions' jobs."""

from siflab_spawner import (
    acting,
    child_processes,
    extension_handlers,
    metrics,
    offer_handlers,
    other_spawners,
    pages,
    privacy_at_start,
)
from siflab_spawner.batchspawner_compat import start_up
from siflab_spawner.claim_handlers import register
from siflab_spawner.spawner import SingularitySlurmSpawner

register()
extension_handlers.register()
metrics.register()
pages.register()
offer_handlers.register()
acting.begin()
child_processes.begin()
start_up.begin()
other_spawners.begin()
privacy_at_start.begin()

__all__ = ["SingularitySlurmSpawner"]
