"""Drop-in for batchspawner: a site's jupyterhub_config.py for ``SlurmSpawner`` works with only the class name changed.

The settings keep their meaning where that is safe; what is not is refused at the Hub's start, naming the setting. What
became of each stands in docs/from-batchspawner.md. Used where there is no site.yaml.
"""

from siflab_spawner.batchspawner_compat.drop_in import DropIn

__all__ = ["DropIn"]
