"""The cluster program on a cluster of its own: up and down, killed and up again, a node lost and back."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.lab import cgroups, network, processes
from cluster.lab.settings import Settings, kept_settings
from tests.cluster.lab import Lab, until, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
USER = os.environ.get("SIFLAB_TEST_USERS", "").split()[:1]
ROOT = Path("/var/lib/siflab/spare/slurm")
NODES = "sgpu01:8:16000:a100:2 scpu01:8:16000:-:0"
OPTIONS = ("--name", "spare", "--port-base", "27300", "--network", "43", "--nodes", NODES, "--users", " ".join(USER))


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    lab = Lab(ROOT, OPTIONS)
    if kept_settings(ROOT):
        lab.program("purge")
    yield lab
    if kept_settings(ROOT):
        lab.program("purge")
    if ROOT.parent.is_dir() and not any(ROOT.parent.iterdir()):
        ROOT.parent.rmdir()


@pytest.fixture
def up(lab: Lab) -> Lab:
    lab.program("up")
    return lab


def settings() -> Settings:
    kept = kept_settings(ROOT)
    assert kept is not None
    return kept


def left_behind() -> dict[str, list[str]]:
    """All that a cluster could leave on the machine."""
    kept = settings()
    links = [link.name for link in Path("/sys/class/net").iterdir()]
    return {
        "processes": [str(pid) for pid in processes.marked(ROOT)],
        "on nodes": [str(pid) for node in kept.nodes for pid in in_namespace(network.namespace_inode(kept, node))],
        "links": [name for name in links if name in {kept.bridge, *(kept.veth(node) for node in kept.nodes)}],
        "namespaces": [node.name for node in kept.nodes if (network.NAMESPACES / kept.namespace(node)).exists()],
        "cgroups": [str(path) for path in cgroups.of_nodes(kept)],
        "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(ROOT) in line],
    }


def nothing_left() -> bool:
    left = {what: names for what, names in left_behind().items() if names}
    assert not left
    return True


def in_namespace(inode: int | None) -> list[int]:
    found = []
    for pid in processes.all_pids():
        try:
            if inode is not None and Path(f"/proc/{pid}/ns/net").stat().st_ino == inode:
                found.append(pid)
        except OSError:
            continue
    return found


def sleeping(lab: Lab) -> tuple[str, int]:
    """A running job and the pid of a process of it that has left its session."""
    mark = f"{60000 + os.getpid() % 1000}.{int.from_bytes(os.urandom(2))}"
    job = lab.job(USER[0], f"setsid sleep {mark} & sleep {mark}", "--partition=cpu", "--time=5")
    found: list[int] = []

    def started() -> bool:
        found[:] = [
            pid for pid in processes.all_pids() if mark in command_line(pid) and "setsid" not in command_line(pid)
        ]
        return len(found) >= 2

    until("the job's processes", started)
    return job, max(found)


def command_line(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return " ".join(os.fsdecode(word) for word in words) if words[0].endswith(b"sleep") else ""


def gone(pid: int) -> bool:
    """Ended; a zombie that PID 1 has not reaped yet has ended too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_up_again_changes_nothing(up: Lab) -> None:
    before = up.daemons()
    assert len(before) == 4 + 2
    up.program("up")
    assert up.daemons() == before


def test_secrets_are_closed(up: Lab) -> None:
    secret = ["munge/key/munge.key", "keys/jwt_hs256.key", "keys/database", "etc/slurmdbd.conf"]
    assert {name: stat.S_IMODE((ROOT / name).stat().st_mode) & 0o077 for name in secret} == dict.fromkeys(secret, 0)
    password = (ROOT / "keys/database").read_text()
    shown = [path.name for path in (ROOT / "log").iterdir() if password in path.read_text(errors="replace")]
    assert shown == []
    assert not any(password.encode() in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in up.daemons().values())


def test_gpus_are_character_devices(up: Lab) -> None:
    assert all((ROOT / "dev" / "sgpu01" / f"nvidia{index}").is_char_device() for index in (0, 1))


def test_a_second_cluster_on_the_same_network_is_refused(up: Lab, tmp_path: Path) -> None:
    other = Lab(ROOT.parent / "other", ("--name", "other", "--port-base", "27350", "--network", "43", "--nodes", NODES))
    try:
        refused = other.program("up", check=False)
        assert refused.returncode == 1
        assert "siflab43" in refused.stderr and "--network" in refused.stderr
        assert len(up.daemons()) == 6
    finally:
        other.program("purge", check=False)


def test_other_settings_are_refused_while_it_runs(up: Lab) -> None:
    refused = Lab(ROOT, ("--name", "spare", "--port-base", "27999", "--network", "43")).program("up", check=False)
    assert refused.returncode == 1
    assert "other settings" in refused.stderr


def test_an_unknown_node_is_named_with_those_that_there_are(up: Lab) -> None:
    refused = up.program("node-down", "gpu99", check=False)
    assert refused.returncode == 1
    assert "gpu99" in refused.stderr and "sgpu01, scpu01" in refused.stderr


def test_a_lost_node_takes_its_processes_along_and_comes_back(up: Lab) -> None:
    _, orphan = sleeping(up)
    up.program("node-down", "scpu01")
    until("the end of the job's process", lambda: gone(orphan))
    assert "slurmd scpu01" not in up.daemons()
    up.program("node-up", "scpu01")
    assert "slurmd scpu01" in up.daemons()
    job = up.job(USER[0], "true", "--partition=cpu", "--time=1", "--wait")
    assert up.state(job) == "COMPLETED"


def test_slurmctld_restarts_and_keeps_the_jobs(up: Lab) -> None:
    job, _ = sleeping(up)
    before = up.daemons()
    up.program("restart-ctld")
    assert up.daemons()["slurmctld"] != before["slurmctld"]
    assert up.slurm("squeue", "-h", "-j", job, "-o", "%T").strip() == "RUNNING"
    up.slurm("scancel", job)


def test_after_a_kill_of_everything_it_comes_up_and_the_old_jobs_are_ended(up: Lab) -> None:
    _, orphan = sleeping(up)
    killed = processes.marked(ROOT)
    processes.send(killed, signal.SIGKILL)
    assert processes.wait_for_end(killed, 10) == []
    assert up.daemons() == {}
    assert not gone(orphan), "the job's own process outlives its slurmstepd: this is what the next start has to end"
    up.program("up")
    until("the end of the old job's process", lambda: gone(orphan))
    job = up.job(USER[0], "true", "--partition=cpu", "--time=1", "--wait")
    assert up.state(job) == "COMPLETED"


def test_down_leaves_nothing(up: Lab) -> None:
    _, orphan = sleeping(up)
    up.program("down")
    assert nothing_left()
    assert gone(orphan)
    assert up.program("down").returncode == 0, "down of what is down is no error"


def test_a_cluster_that_was_killed_goes_down_without_a_rest_too(up: Lab) -> None:
    sleeping(up)
    processes.send(processes.marked(ROOT), signal.SIGKILL)
    up.program("down")
    assert nothing_left()


def test_without_namespaces_it_runs_on_addresses_of_its_own(lab: Lab) -> None:
    if kept_settings(ROOT):
        lab.program("purge")
    loopback = Lab(ROOT, (*OPTIONS, "--mode", "loopback"))
    loopback.program("up")
    assert "127.0.43.11" in loopback.slurm("scontrol", "-o", "show", "node", "sgpu01")
    job = loopback.job(USER[0], 'test -n "$CUDA_VISIBLE_DEVICES"', "--partition=gpu-a100", "--gres=gpu:1", "--wait")
    assert loopback.state(job) == "COMPLETED"
    _, orphan = sleeping(loopback)
    loopback.program("down")
    assert gone(orphan)
    assert nothing_left()


def test_purge_removes_the_folder_and_nobodys_home(lab: Lab) -> None:
    lab.program("up")
    lab.program("purge")
    assert not ROOT.exists()
    assert Path(f"/home/{USER[0]}").is_dir()
    gone_now = lab.program("status", check=False)
    assert gone_now.returncode == 1 and "no cluster" in gone_now.stderr
