"""What Slurm is told: the files of a small cluster, as they are read by both versions."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.lab import folders, slurm_conf
from cluster.lab.settings import Member, Node, Settings, kept_settings, settings_from
from cluster.lab.trouble import Trouble

NODES = (Node("a1", 32, 256000, "a100", 4), Node("v1", 16, 128000, "v100", 2), Node("c1", 64, 256000, None, 0))
LAB = Settings(
    root=Path("/srv/lab"), name="lab", port_base=27400, network=7, nodes=NODES, mode="netns", limits="cgroup"
)
HOST = slurm_conf.Host("head")


def values(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if " " not in line)


def test_the_daemons_meet_on_the_bridge() -> None:
    conf = values(slurm_conf.slurm_conf(LAB, HOST))
    assert conf["SlurmctldHost"] == "head(10.77.7.1)"
    assert (conf["SlurmctldPort"], conf["AccountingStoragePort"]) == ("27417", "27419")
    assert conf["AccountingStorageHost"] == "10.77.7.1"
    dbd = values(slurm_conf.slurmdbd_conf(LAB, HOST, "secret"))
    assert (dbd["DbdAddr"], dbd["DbdPort"], dbd["StoragePass"]) == ("10.77.7.1", "27419", "secret")


def test_a_private_munge_socket_is_named_in_all_three_places() -> None:
    socket = "/srv/lab/munge/run/munge.socket"
    conf = values(slurm_conf.slurm_conf(LAB, HOST))
    assert conf["AuthInfo"].startswith(f"socket={socket}")
    assert conf["AccountingStoragePass"] == socket
    assert values(slurm_conf.slurmdbd_conf(LAB, HOST, ""))["AuthInfo"] == f"socket={socket}"


@pytest.mark.parametrize(
    ("mode", "lines"),
    [
        (
            "netns",
            [
                "NodeName=a1 NodeHostname=a1 NodeAddr=10.77.7.11 Port=27421 CPUs=32 RealMemory=256000 Gres=gpu:a100:4",
                "NodeName=v1 NodeHostname=v1 NodeAddr=10.77.7.12 Port=27421 CPUs=16 RealMemory=128000 Gres=gpu:v100:2",
                "NodeName=c1 NodeHostname=c1 NodeAddr=10.77.7.13 Port=27421 CPUs=64 RealMemory=256000 Feature=cpu",
            ],
        ),
        (
            "loopback",
            [
                "NodeName=a1 NodeHostname=localhost NodeAddr=127.0.7.11 Port=27421 ",
                "NodeName=v1 NodeHostname=localhost NodeAddr=127.0.7.12 Port=27422 ",
                "NodeName=c1 NodeHostname=localhost NodeAddr=127.0.7.13 Port=27423 ",
            ],
        ),
    ],
)
def test_nodes(mode: str, lines: list[str]) -> None:
    conf = slurm_conf.slurm_conf(replace(LAB, mode=mode), HOST)
    shown = [line for line in conf.splitlines() if line.startswith("NodeName=")]
    assert [line[: len(start)] for line, start in zip(shown, lines, strict=True)] == lines


def test_partitions_follow_the_nodes() -> None:
    conf = slurm_conf.slurm_conf(LAB, HOST)
    shown = {line.split()[0].split("=")[1]: line.split()[1] for line in conf.splitlines() if "PartitionName" in line}
    assert shown == {
        "gpu-a100": "Nodes=a1",
        "gpu-v100": "Nodes=v1",
        "cpu": "Nodes=c1",
        "interactive": "Nodes=a1,v1,c1",
    }


def test_gpus_are_device_files_of_each_node() -> None:
    assert slurm_conf.gres_conf(LAB).splitlines() == [
        "AutoDetect=off",
        "NodeName=a1 Name=gpu Type=a100 File=/srv/lab/dev/a1/nvidia[0-3]",
        "NodeName=v1 Name=gpu Type=v100 File=/srv/lab/dev/v1/nvidia[0-1]",
    ]


def test_without_cgroup_nothing_asks_for_it() -> None:
    conf = values(slurm_conf.slurm_conf(replace(LAB, limits="none"), HOST))
    assert conf["ProctrackType"] == "proctrack/linuxproc"
    assert "TaskPlugin" not in conf
    assert "CgroupPlugin" not in slurm_conf.cgroup_conf(replace(LAB, limits="none"))
    assert values(slurm_conf.cgroup_conf(LAB))["CgroupPlugin"] == "cgroup/v1"


def test_jwt_only_where_its_plugin_is() -> None:
    assert "auth/jwt" not in slurm_conf.slurm_conf(LAB, HOST)
    assert "jwt_key=/srv/lab/keys/jwt_hs256.key" in slurm_conf.slurm_conf(LAB, slurm_conf.Host("head", jwt=True))


def test_the_nodes_hosts_file_names_each_once() -> None:
    names = [name for line in folders.node_hosts(LAB).splitlines() for name in line.split()[1:]]
    assert sorted(names) == sorted({"localhost", folders.host_name(), "lab-head", "a1", "v1", "c1"})


@pytest.mark.parametrize("text", ["gpu01", "gpu01:x:1:a100:4", "gpu01:1:1:a100:4:9", ""])
def test_a_node_that_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Trouble) as caught:
        Node.parse(text)
    assert "gpu01:32:256000:a100:4" in caught.value.message.en
    assert "gpu01:32:256000:a100:4" in caught.value.message.zh


def test_settings_come_back_as_they_were_kept(tmp_path: Path) -> None:
    given = {"name": "x", "port_base": "30000", "network": "9", "nodes": "n1:1:2:-:0", "users": "user1 user2:cs101"}
    settings = settings_from(tmp_path, given)
    assert settings.members == (Member("user1", ("research", "cs101")), Member("user2", ("cs101",)))
    assert kept_settings(tmp_path) is None
    settings.save()
    assert kept_settings(tmp_path) == settings


@pytest.mark.parametrize("content", ["", "{", '{"root": "/x"}', '{"root": "/x", "nodes": [{"nme": 1}], "members": []}'])
def test_settings_that_a_cut_off_start_left_are_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "settings.json").write_text(content)
    assert kept_settings(tmp_path) is None
