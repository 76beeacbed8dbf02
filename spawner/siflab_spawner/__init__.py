"""The Hub side of Siflab: the spawner, and the Hub's routes for the sessions' jobs."""

from siflab_spawner import acting, extension_handlers
from siflab_spawner.claim_handlers import register
from siflab_spawner.spawner import SingularitySlurmSpawner

register()
extension_handlers.register()
acting.begin()

__all__ = ["SingularitySlurmSpawner"]
