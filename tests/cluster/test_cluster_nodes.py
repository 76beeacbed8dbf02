"""What a node of the cluster is: its own network, its own names, GPUs that can be counted, limits that hold."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.lab.settings import Settings, kept_settings
from tests.cluster.lab import Lab, until, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
PYTHON = "/usr/bin/python3"
SERVE = "import socket, sys; s = socket.create_server(('', {port})); print('ready', flush=True); s.accept()"
MEMORY = "import time; block = bytearray(600 << 20); time.sleep(5)"


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab(Path(os.environ["SIFLAB_TEST_CLUSTER"]))


@pytest.fixture(scope="module")
def settings(lab: Lab) -> Settings:
    kept = kept_settings(lab.root)
    assert kept is not None
    return kept


@pytest.fixture
def apart(settings: Settings) -> Settings:
    if settings.mode != "netns":
        pytest.skip("no network namespaces on this machine: the nodes are not apart")
    return settings


@pytest.fixture(scope="module")
def student() -> str:
    return next(name for name in os.environ["SIFLAB_TEST_USERS"].split() if "student" in name)


@pytest.fixture(scope="module")
def researcher() -> str:
    return next(name for name in os.environ["SIFLAB_TEST_USERS"].split() if "researcher" in name)


@pytest.fixture
def server() -> Iterator[int]:
    """A port on this machine's own 127.0.0.1 on which somebody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept_all, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]


def accept_all(listener: socket.socket) -> None:
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return


def reaches(lab: Lab, node: str, address: str, port: int) -> bool:
    connect = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)"
    return lab.on(node, PYTHON, "-c", connect, address, str(port)).returncode == 0


def test_a_node_reaches_nothing_by_localhost(lab: Lab, apart: Settings, server: int) -> None:
    assert not reaches(lab, apart.nodes[0].name, "127.0.0.1", server)
    with socket.create_server((apart.head_address, 0)) as listener:
        threading.Thread(target=accept_all, args=(listener,), daemon=True).start()
        assert reaches(lab, apart.nodes[0].name, apart.head_address, listener.getsockname()[1])


def test_two_nodes_have_the_same_port_each_for_itself(lab: Lab, apart: Settings) -> None:
    first, second = apart.nodes[0], apart.nodes[1]
    servers = []
    try:
        for node in (first, second):
            argv = [str(Path(__file__).parents[2] / "cluster/slurm-cluster"), "--root", str(lab.root)]
            argv += ["node-exec", node.name, PYTHON, "-c", SERVE.format(port=29876)]
            servers.append(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
        assert [each.stdout.readline() for each in servers if each.stdout] == ["ready\n", "ready\n"]
        assert reaches(lab, first.name, apart.address(second), 29876)
        assert servers[1].wait(10) == 0, "the second node's server was the one that answered"
        assert servers[0].poll() is None
    finally:
        for each in servers:
            each.kill()
            each.wait()


def test_no_node_has_a_way_out(lab: Lab, apart: Settings) -> None:
    assert lab.on(apart.nodes[0].name, "ip", "-4", "route", "show", "default").stdout == ""


def test_names_are_known_on_the_nodes_and_the_machines_hosts_file_is_left_alone(lab: Lab, apart: Settings) -> None:
    first, second = apart.nodes[0], apart.nodes[1]
    assert lab.on(first.name, "hostname").stdout == f"{first.name}\n"
    assert lab.on(first.name, "getent", "hosts", second.name).stdout.split() == [apart.address(second), second.name]
    assert not {node.name for node in apart.nodes} & set(Path("/etc/hosts").read_text().split())


def test_a_job_sees_as_many_gpus_as_it_asked_for(lab: Lab, settings: Settings, researcher: str, tmp_path: Path) -> None:
    shared = settings.root.parent / "scratch" / researcher / "gpus.txt"
    script = f"srun --ntasks-per-node=1 sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES >> {shared}'"
    job = lab.job(researcher, script, "--nodes=2", "--gres=gpu:2", "--partition=gpu-a100", "--wait", "--time=2")
    assert lab.state(job) == "COMPLETED"
    nodes = sorted(node.name for node in settings.nodes if node.gpu_type == "a100")
    assert sorted(shared.read_text().splitlines()) == [f"{name} 0,1" for name in nodes]
    shared.unlink()


def test_a_job_that_takes_more_memory_than_it_asked_for_ends(lab: Lab, settings: Settings, researcher: str) -> None:
    if settings.limits != "cgroup":
        pytest.skip("cgroup v1 cannot be used on this machine")
    job = lab.job(researcher, f"{PYTHON} -c '{MEMORY}'", "--partition=cpu", "--mem=100M", "--time=2")
    until("the end of the job", lambda: lab.state(job) not in ("", "PENDING", "RUNNING", "COMPLETING"), 60)
    assert lab.state(job) == "OUT_OF_MEMORY"


def test_a_course_may_use_one_gpu(lab: Lab, student: str) -> None:
    job = lab.job(student, "true", "--partition=gpu-a100", "--gres=gpu:2", "--time=1")
    try:
        asked = ["squeue", "-h", "-j", job, "-o", "%T %r"]
        until("the reason", lambda: lab.slurm(*asked).strip() == "PENDING QOSMaxGRESPerUser", 60)
    finally:
        lab.slurm("scancel", job)


def test_partitions_and_accounts_are_those_of_the_site(lab: Lab, settings: Settings) -> None:
    shown = set(lab.slurm("sinfo", "-h", "-o", "%R").split())
    assert shown == {"gpu-a100", "gpu-v100", "cpu", "interactive"}
    pairs = lab.slurm("sacctmgr", "-nP", "show", "assoc", "format=user,account").splitlines()
    assert {f"{m.name}|{account}" for m in settings.members for account in m.accounts} <= set(pairs)
