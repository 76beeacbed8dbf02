"""What is free: uneven nodes, nodes that are down, several types in one partition."""

from datetime import datetime, timezone

from siflab.slurm.inventory import parse_gres_used, summarize
from siflab.slurm.records import SEPARATOR, parse_sinfo

NOW = datetime(2026, 12, 1, tzinfo=timezone.utc)
SINFO = "\n".join(
    SEPARATOR.join(row)
    for row in [
        ["gpu01", "gpu", "mixed", "8/24/0/32", "256000", "200000", "gpu:a100:4(S:0)", "8:00:00"],
        ["gpu02", "gpu", "drained", "0/0/32/32", "256000", "200000", "gpu:a100:4", "8:00:00"],
        ["gpu03", "gpu", "idle", "0/16/0/16", "128000", "N/A", "gpu:v100:2", "8:00:00"],
        ["cpu01", "cpu*", "idle", "0/64/0/64", "256000", "N/A", "(null)", "infinite"],
    ]
)
SCONTROL = (
    "NodeName=gpu01 Arch=x86_64 Gres=gpu:a100:4(S:0) GresUsed=gpu:a100:3(IDX:0-2) NodeAddr=10.0.0.1\n"
    "NodeName=gpu03 Arch=x86_64 Gres=gpu:v100:2 GresUsed=gpu:v100:0 NodeAddr=10.0.0.3\n"
    "NodeName=cpu01 Arch=x86_64 Gres=(null) GresUsed=(null) NodeAddr=10.0.0.4\n"
)


def test_per_partition_and_type():
    gpu, cpu = summarize(parse_sinfo(SINFO), parse_gres_used(SCONTROL), NOW).partitions
    assert [(g.type, g.total, g.used) for g in gpu.gpus] == [("a100", 8, 7), ("v100", 2, 0)]
    assert (gpu.nodes_total, gpu.nodes_available, gpu.cpus_idle, gpu.max_time) == (3, 2, 40, "8:00:00")
    assert (cpu.name, cpu.gpus, cpu.max_time, cpu.state) == ("cpu", (), None, "up")


def test_a_partition_whose_nodes_are_all_down_is_down():
    (partition,) = summarize(parse_sinfo(SINFO.splitlines()[1]), {}, NOW).partitions
    assert partition.state == "down"
    assert [(g.total, g.used) for g in partition.gpus] == [(4, 4)]
