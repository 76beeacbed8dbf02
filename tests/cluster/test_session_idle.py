"""Sessions that nobody uses are stopped on the real cluster, by jupyterhub-idle-culler; sessions in use are not."""

import threading
import time
from datetime import datetime

import pytest
import requests

from tests.cluster.hub import USERS, running_hub, site, wait_for, why_not
from tests.cluster.kernel import Kernel
from tests.cluster.test_session import _page

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE, BOB = USERS[0], USERS[1]
LIMIT = 20  # seconds
POLLED = ("api/kernels", "api/terminals", "api/sessions", "api/status", "api/contents?content=1", "api/me")


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    data = site(session={"idle": {"after": f"0:00:{LIMIT}", "interval": "0:00:02"}})
    yield from running_hub(
        tmp_path_factory.mktemp("hub"),
        data,
        "c.JupyterHub.authenticate_prometheus = False\nc.JupyterHub.last_activity_interval = 2\n",
    )


class OpenPage:
    """What JupyterLab does in a tab that nobody looks at: it asks for the same lists again and again, and keeps its
    connection to a kernel."""

    def __init__(self, hub, user):
        self._kernel, self._closed = Kernel(hub, user), threading.Event()
        token = hub.api("POST", f"users/{user}/tokens", json={"note": "page"}).json()["token"]
        self._base, self._headers = f"{hub.url}/user/{user}/", {"Authorization": f"token {token}"}
        self.answers = 0
        self._thread = threading.Thread(target=self._poll)

    def _poll(self):
        while not self._closed.wait(1):
            for path in POLLED:
                answer = requests.get(self._base + path, headers=self._headers, timeout=30, allow_redirects=False)
                self.answers += answer.status_code == 200

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._closed.set()
        self._thread.join()
        self._kernel.close()


def active(hub, user):
    """The moment of the last use that the Hub knows of, in seconds since the epoch."""
    return datetime.fromisoformat(hub.server(user)["last_activity"].replace("Z", "+00:00")).timestamp()


def wait_used(hub, user, moment, what):
    wait_for(lambda: hub.is_ready(user) and active(hub, user) >= moment, 90, what, hub.told)


def metric(hub, name):
    lines = requests.get(f"{hub.url}/hub/metrics", timeout=30).text.splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(name + " ")), None)


def test_an_open_page_is_no_use_and_a_silent_kernel_is(hub):
    for user in (ALICE, BOB):
        hub.spawn(user, profile="cpu")
    for user in (ALICE, BOB):
        hub.wait_ready(user)
    kernel = Kernel(hub, BOB)
    kernel.begun("import time; time.sleep(3600)")
    kernel.close()
    begun = time.time()
    assert metric(hub, 'siflab_sessions{state="ready"}') == 2
    with OpenPage(hub, ALICE) as page:
        hub.wait_stopped(ALICE)
        assert page.answers > len(POLLED), "the page did poll"
    assert hub.jobs(ALICE) == []
    wait_used(hub, BOB, begun + LIMIT + 2, "a kernel that is busy and says nothing keeps its session")

    notice = _page(hub, ALICE, "hub/spawn")
    assert "had been idle for 0:00:2" in notice and "no kernel was busy" in notice and "Your saved files" in notice
    assert "闲置" in _page(hub, ALICE, "hub/spawn", language="zh-CN")
    assert metric(hub, "siflab_sessions_stopped_idle_total") == 1

    assert hub.notebook(BOB, f"api/kernels/{kernel.id}", method="DELETE").status_code == 204
    wait_for(lambda: time.time() - active(hub, BOB) > 5, 60, "nothing is used", hub.told)
    saved = {"type": "file", "format": "text", "content": "x"}
    begun = time.time()
    assert hub.notebook(BOB, "api/contents/siflab-test-idle.txt", method="PUT", json=saved).status_code in (200, 201)
    wait_used(hub, BOB, begun - 1, "saving is use")

    kernel = Kernel(hub, BOB)
    kernel.run(
        "import subprocess; child = subprocess.Popen(['sh', '-c', 'while :; do :; done'], start_new_session=True)"
    )
    kernel.close()
    wait_used(hub, BOB, time.time() + 8, "a process in the background is use")
    hub.stop_server(BOB)
    hub.wait_stopped(BOB)
    assert "had been idle" not in _page(hub, BOB, "hub/spawn"), "it was in use when it was stopped"
