"""The Hub's routes: ours are there, in place of batchspawner's own too, and its shell ways are closed."""

import asyncio

import pytest
from jupyterhub.apihandlers import default_handlers

import siflab_spawner
from siflab_spawner.batchspawner_compat.ignored_settings import unused_settings
from siflab_spawner.claims.claim_handlers import ClaimHandler, register
from siflab_spawner.claims.port_handler import PortHandler


def test_routes_are_registered_once():
    register()
    paths = [route[0] for route in default_handlers]
    for path in ("/api/siflab/claim", "/api/siflab/ready", "/api/siflab/failed", "/api/batchspawner"):
        assert paths.count(path) == 1
    handlers = {route[0]: route[1] for route in default_handlers}
    assert handlers["/api/siflab/claim"] is ClaimHandler
    assert handlers["/api/batchspawner"] is PortHandler


@pytest.mark.parametrize(("method", "arguments"), [("run_command", ("id",)), ("submit_batch_script", ())])
def test_no_shell_is_left(method, arguments):
    spawner = siflab_spawner.SingularitySlurmSpawner()
    with pytest.raises(NotImplementedError):
        asyncio.run(getattr(spawner, method)(*arguments))


def test_a_start_has_no_time_limit_of_jupyterhub():
    assert siflab_spawner.SingularitySlurmSpawner().start_timeout > 365 * 86400


def test_every_setting_has_words():
    own = siflab_spawner.SingularitySlurmSpawner.class_own_traits(config=True)
    assert own and all(trait.help for trait in own.values())


def test_settings_of_batchspawner_are_named():
    config = {
        "SlurmSpawner": {"req_partition": "gpu", "batch_script": "x", "poll_interval": 30},
        "BatchSpawnerBase": {"exec_prefix": "sudo"},
        "SingularitySlurmSpawner": {"job_name": "x"},
        "TorqueSpawner": {"req_queue": "x"},
    }
    assert unused_settings(config) == [
        "BatchSpawnerBase.exec_prefix", "SlurmSpawner.batch_script", "SlurmSpawner.req_partition",
    ]  # fmt: skip
