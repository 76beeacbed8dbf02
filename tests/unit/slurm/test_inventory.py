"""What is free: uneven nodes, nodes that are down, several types in one partition, MIG slices and parts of GPUs."""

from datetime import datetime, timezone

import pytest

from siflab.slurm.inventory import read_inventory, take_inventory
from siflab.slurm.scontrol import parse_nodes, parse_partitions, parse_reservations, shares_devices
from tests.unit.slurm import samples

NOW = datetime(2026, 12, 1, tzinfo=timezone.utc)


def inventory(nodes, partitions="PartitionName=gpu MaxTime=08:00:00 State=UP\n", reservations=""):
    return take_inventory(parse_nodes(nodes), parse_partitions(partitions), parse_reservations(reservations), NOW)


def counts(partition):
    return [(gpu.type, gpu.kind, gpu.total, gpu.free, gpu.down) for gpu in partition.gpus]


@pytest.mark.parametrize("version", ["22.05", "24.11"])
def test_per_partition_and_type(version):
    found = inventory(samples.NODES[version], samples.PARTITIONS[version])
    a100, v100, cpu, interactive = found.partitions
    assert counts(a100) == [("a100", "gpu", 8, 3, 4)]
    assert counts(v100) == [("v100", "gpu", 2, 2, 0)]
    assert counts(interactive) == [("a100", "gpu", 8, 3, 4), ("v100", "gpu", 2, 2, 0)]
    assert (a100.nodes_up, len(a100.nodes), a100.nodes_idle, a100.cpus_total, a100.cpus_free) == (1, 2, 0, 64, 28)
    assert (cpu.gpus, cpu.limits.max_time, cpu.cpus_free) == ((), 86400, 64)
    assert [node.state.name for node in a100.nodes] == ["mixed", "drain"]
    assert "kernel update" in a100.nodes[1].state.words.en and "root@" not in a100.nodes[1].state.words.en


NODE = "NodeName=n1 CPUTot=32 CPUAlloc=0 RealMemory=1000 AllocMem=0 Gres={gres} GresUsed={used} State=IDLE Partitions=gpu\n"
STOCK = [
    ("gpu:a100:4(S:0-1)", "gpu:a100:3(IDX:0-2)", [("a100", "gpu", 4, 1, 0)]),
    ("gpu:a100:2(S:0),gpu:a100:2(S:1)", "gpu:a100:1(IDX:0)", [("a100", "gpu", 4, 3, 0)]),
    ("gpu:a100:2,gpu:v100:1", "gpu:a100:0(IDX:N/A),gpu:v100:1(IDX:2)", [("a100", "gpu", 2, 2, 0), ("v100", "gpu", 1, 0, 0)]),
    ("gpu:a100:2,gpu:v100:1", "gpu:3", [("a100", "gpu", 2, 0, 0), ("v100", "gpu", 1, 0, 0)]),
    ("gpu:4", "gpu:1(IDX:0)", [("", "gpu", 4, 3, 0)]),
    ("gpu:a100:3,gpu:a100_1g.5gb:7", "gpu:a100:1(IDX:0),gpu:a100_1g.5gb:2(IDX:3-4)", [("a100", "gpu", 3, 2, 0), ("a100_1g.5gb", "mig", 7, 5, 0)]),
    ("gpu:1g.5gb:4,gpu:3g.20gb:1", "gpu:1g.5gb:4(IDX:0-3),gpu:3g.20gb:0(IDX:N/A)", [("1g.5gb", "mig", 4, 0, 0), ("3g.20gb", "mig", 1, 1, 0)]),
    ("gpu:mig:7", "gpu:mig:1(IDX:0)", [("mig", "mig", 7, 6, 0)]),
    ("gpu:a100:2,shard:a100:8", "gpu:a100:0(IDX:N/A),shard:a100:3(2/4,1/4)", [("a100", "gpu", 2, 0, 0), ("a100", "shard", 8, 5, 0)]),
    ("gpu:a100:2,shard:8", "gpu:a100:1(IDX:0),shard:0(0/4,0/4)", [("a100", "gpu", 2, 1, 0), ("", "shard", 8, 4, 0)]),
    ("gpu:a100:2,shard:8", "gpu:a100:1(IDX:0),shard:1(0/4,1/4)", [("a100", "gpu", 2, 0, 0), ("", "shard", 8, 3, 0)]),
    ("(null)", "gpu:0", []),
    ("(null)", "(null)", []),
    ("license:5,bandwidth:lustre:no_consume:4G", "", []),
    ("gpu:migrant:2", "gpu:migrant:0", [("migrant", "gpu", 2, 2, 0)]),
]  # fmt: skip


@pytest.mark.parametrize(("gres", "used", "expected"), STOCK)
def test_gpus_are_read_by_node_and_type(gres, used, expected):
    (partition,) = inventory(NODE.format(gres=gres, used=used)).partitions
    assert sorted(counts(partition)) == sorted(expected)


STATES = [
    ("IDLE", "idle", True, True),
    ("MIXED", "mixed", True, True),
    ("ALLOCATED+COMPLETING", "allocated", True, True),
    ("IDLE~", "idle", True, True),
    ("IDLE+CLOUD+POWERED_DOWN", "idle", True, True),
    ("MIXED+PLANNED", "mixed", True, True),
    ("DOWN*", "down", False, False),
    ("DOWN*+DRAIN", "down", False, False),
    ("IDLE*", "down", False, False),
    ("IDLE+NOT_RESPONDING", "down", False, False),
    ("IDLE+DRAIN", "drain", False, False),
    ("MIXED+DRAIN", "drain", False, False),
    ("IDLE+REBOOT_REQUESTED", "drain", False, False),
    ("IDLE+RESERVED", "reserved", True, False),
    ("IDLE+MAINTENANCE+RESERVED", "maint", True, False),
    ("UNKNOWN", "unknown", False, False),
    ("SOMETHING_NEW", "unknown", False, False),
    ("FUTURE", "down", False, False),
]


@pytest.mark.parametrize(("state", "name", "up", "anyones"), STATES)
def test_states_of_nodes(state, name, up, anyones):
    text = f"NodeName=n1 CPUTot=8 RealMemory=10 Gres=gpu:1 GresUsed=gpu:0 State={state} Partitions=gpu\n"
    (partition,) = inventory(text).partitions
    (node,) = partition.nodes
    assert (node.state.name, node.state.is_up, node.state.is_open) == (name, up, anyones)
    assert counts(partition) == [("", "gpu", 1, 1 if anyones else 0, 0 if up else 1)]
    assert partition.cpus_free == (8 if anyones else 0)
    assert node.state.words.en and node.state.words.zh


def test_a_reserved_node_is_free_for_its_reservation():
    node = "NodeName=n1 CPUTot=8 CPUAlloc=2 RealMemory=10 Gres=gpu:2 GresUsed=gpu:1 State=MIXED+RESERVED Partitions=gpu ReservationName=lab\n"
    reservation = "ReservationName=lab StartTime=2026-12-01T08:00:00 EndTime=2026-12-01T10:00:00 State=ACTIVE\n"
    (partition,) = inventory(node, reservations=reservation).partitions
    assert partition.now() == frozenset() and partition.now("other") == frozenset()
    (shape,) = partition.now("lab")
    assert (shape.cpus, shape.gpu_count(None)) == (6, 1)
    assert partition.nodes[0].state.words.en == "reserved until 2026-12-01 10:00 (lab)"


@pytest.mark.parametrize("version", ["22.05", "24.11"])
def test_a_reservation_takes_its_nodes_before_their_state_says_so(version):
    found = inventory(samples.NODES[version], samples.PARTITIONS[version], samples.RESERVATIONS[version])
    v100 = found.by_name["gpu-v100"]
    assert v100.nodes[0].state.reservation == "lab1" and v100.nodes[0].node.states == ("IDLE",)
    assert counts(v100) == [("v100", "gpu", 2, 0, 0)]
    assert v100.now() == frozenset() and v100.now("lab1")
    assert found.by_name["gpu-a100"].nodes[0].state.is_open  # maint1 begins later


@pytest.mark.parametrize(("change", "state"), [("CoreCnt=8", "idle"), ("Flags=FLEX", "idle"), ("Flags=MAINT", "maint")])
def test_what_a_reservation_leaves_to_others(change, state):
    key = change.partition("=")[0]
    text = "\n".join(
        " ".join(change if word.startswith(key + "=") else word for word in line.split())
        for line in samples.RESERVATIONS["22.05"].splitlines()
    )
    found = inventory(samples.NODES["22.05"], samples.PARTITIONS["22.05"], text)
    assert found.by_name["gpu-v100"].nodes[0].state.name == state


def test_what_one_node_can_hold_now_and_ever():
    nodes = (
        "NodeName=n1 CPUEfctv=30 CPUTot=32 CPUAlloc=28 RealMemory=1000 MemSpecLimit=100 AllocMem=300 Gres=gpu:a100:4 "
        "GresUsed=gpu:a100:1(IDX:0) State=MIXED Partitions=gpu\n"
        "NodeName=n2 CPUTot=64 CPUAlloc=0 RealMemory=4000 AllocMem=0 Gres=gpu:v100:2 GresUsed=gpu:v100:0 State=DOWN "
        "Partitions=gpu\n"
    )
    (partition,) = inventory(nodes).partitions
    assert {(shape.cpus, shape.memory) for shape in partition.ever} == {(30, 900), (64, 4000)}
    (now,) = partition.now()
    assert (now.cpus, now.memory, now.gpu_count("a100"), now.gpu_count("v100")) == (2, 600, 3, 0)
    assert now.holds(3, "a100", 2, 600) and not now.holds(3, "a100", 3, 600) and not now.holds(4, None, 1, 1)
    assert any(shape.holds(4, "a100", 30, 900) for shape in partition.ever)
    assert not any(shape.holds(1, "a100", 60, 900) for shape in partition.ever)


def test_a_reason_that_looks_like_a_state_changes_nothing():
    text = samples.NODES["22.05"].replace("kernel update", "State=IDLE Partitions=cpu CPUTot=9999")
    a100 = inventory(text, samples.PARTITIONS["22.05"]).by_name["gpu-a100"]
    assert a100.nodes[1].state.name == "drain" and a100.cpus_total == 64


def test_the_view_of_a_session(monkeypatch):
    class Asked:
        def run(self, argv):
            from siflab.slurm.execute import Completed

            text = samples.NODES["22.05"] if "node" in argv else samples.PARTITIONS["22.05"]
            return Completed(tuple(argv), 0, text, "")

    first = read_inventory(Asked()).as_dict()["partitions"][0]
    assert first == {
        "name": "gpu-a100", "state": "up", "nodes_total": 2, "nodes_available": 1, "cpus_total": 64, "cpus_idle": 28,
        "gpus": [{"type": "a100", "total": 8, "used": 5}], "max_time": "8:00:00",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("config", "shares"),
    [
        ({"ConstrainDevices": "yes", "TaskPlugin": "task/cgroup,task/affinity"}, False),
        ({"ConstrainDevices": "no", "TaskPlugin": "task/cgroup"}, True),
        ({"TaskPlugin": "task/affinity"}, True),
        ({"TaskPlugin": "task/cgroup"}, False),
        ({}, False),
    ],
)
def test_it_is_known_whether_jobs_can_use_each_others_gpus(config: dict[str, str], shares: bool) -> None:
    assert shares_devices(config) is shares
