"""The Hub side of Siflab: the spawner, and the Hub's routes for the sessions' jobs."""

from siflab_spawner import metrics
from siflab_spawner.accounts import acting
from siflab_spawner.batchspawner_compat import start_up
from siflab_spawner.claims.claim_handlers import register
from siflab_spawner.lifetime import extension_handlers
from siflab_spawner.page import offer_handlers, pages
from siflab_spawner.spawner import SingularitySlurmSpawner
from siflab_spawner.start import child_processes
from siflab_spawner.watch import privacy_at_start
from siflab_spawner.wrapped import other_spawners

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
