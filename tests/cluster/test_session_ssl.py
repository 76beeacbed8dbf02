"""JupyterHub's internal_ssl across nodes (S11): certificates travel in the claim, and nothing answers without one."""

import pytest

from tests.cluster.hub import USERS, site, why_not
from tests.cluster.ssl_hub import SslHub

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE, BOB = USERS[0], USERS[1]


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    one = SslHub(tmp_path_factory.mktemp("hub"), site())
    one.start()
    yield one
    one.stop()


def test_a_session_on_a_gpu_node(hub):
    assert hub.spawn(ALICE, profile="a100", gpus=1).ok, hub.told()
    assert hub.events(ALICE)[-1].get("ready"), hub.told()
    assert hub.notebook(ALICE).json()["kernels"] == 0
