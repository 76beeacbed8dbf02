"""The end of a session: TERM, a time to save, and only then KILL."""

import pwd
import secrets
from pathlib import Path

import pytest

from tests.cluster.hub import USERS, running_hub, slurm, wait_for, why_not
from tests.cluster.kernel import Kernel

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE = USERS[0]
AT_EXIT = """
import atexit, time
def save():
    with open({path!r}, "w") as file:
        file.write("begun\\n")
        file.flush()
        time.sleep(1)
        file.write("saved\\n")
"""
RESTS = AT_EXIT + "atexit.register(save)"
STUBBORN = (
    AT_EXIT
    + """
import os, signal
def stop(*_):
    save()
    os._exit(0)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True:
    try:
        time.sleep(0.1)
    except KeyboardInterrupt:
        pass
"""
)


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    yield from running_hub(tmp_path_factory.mktemp("hub"))


def test_kernels_save_and_the_server_ends_in_order(hub):
    """Slurm sends TERM to the shim, which passes it on to the server. The server interrupts its kernels and asks them to
    end; who does not gets TERM after 2.5 s, and KILL 2.5 s later (jupyter_client's shutdown_wait_time)."""
    hub.spawn(ALICE, profile="cpu")
    hub.wait_ready(ALICE)
    (job,) = hub.jobs(ALICE)
    name = f"siflab-test-{secrets.token_hex(3)}"
    files = [Path(pwd.getpwnam(ALICE).pw_dir) / f"{name}.{what}" for what in ("rests", "stubborn")]
    rests, stubborn = Kernel(hub, ALICE), Kernel(hub, ALICE)
    rests.run(RESTS.format(path=files[0].name))
    stubborn.begun(STUBBORN.format(path=files[1].name), "ready")
    stubborn.close()
    rests.close()
    try:
        slurm("scancel", job["id"])
        hub.wait_stopped(ALICE)
        argv = ["sacct", "-nPX", "-j", job["id"], "-o", "state"]
        wait_for(lambda: slurm(*argv).startswith("CANCELLED"), 30, "it is gone")
        assert [file.read_text() for file in files] == ["begun\nsaved\n"] * 2
        log = Path(f"~{ALICE}/.siflab/sessions/{job['id']}.log").expanduser().read_text()
        assert "Shutting down 2 kernels" in log, log[-2000:]
    finally:
        for file in files:
            file.unlink(missing_ok=True)
