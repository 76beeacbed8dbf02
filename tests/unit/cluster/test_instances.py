"""Demo and test run side by side: nothing that one has is the other's."""

import os
from pathlib import Path

import pytest
import yaml

from cluster.instance import cli, folders, site, source
from cluster.instance.manifest import Manifest
from cluster.instance.names import CHECKOUT, DEMO, INSTANCES, TEST, named
from cluster.lab.trouble import Trouble


@pytest.mark.parametrize(
    "of",
    [
        lambda i: {i.root, i.scratch, i.dataset},
        lambda i: {i.public_port, i.hub_port, i.proxy_api_port},
        lambda i: set(range(i.port_base, i.port_base + 30)),
        lambda i: {i.network, i.cluster().bridge},
        lambda i: {node.name for node in i.cluster().nodes},
        lambda i: {member.name for member in i.members},
    ],
    ids=["folders", "hub's ports", "slurm's ports", "network", "nodes", "people"],
)
def test_the_two_instances_share_nothing(of) -> None:  # type: ignore[no-untyped-def]
    assert not of(DEMO) & of(TEST)


def test_interface_names_fit_the_kernel() -> None:
    for instance in INSTANCES.values():
        cluster = instance.cluster()
        assert all(len(name) <= 15 for name in [cluster.bridge, *(cluster.veth(node) for node in cluster.nodes)])


def test_an_unknown_instance_is_refused() -> None:
    with pytest.raises(Trouble) as caught:
        named("prod")
    assert "demo, test" in caught.value.message.en


@pytest.mark.parametrize("instance", INSTANCES.values(), ids=INSTANCES)
def test_the_checkouts_site_becomes_the_instances(instance) -> None:  # type: ignore[no-untyped-def]
    written = yaml.safe_load(site.render((CHECKOUT / "site.yaml").read_text("utf-8"), instance))
    assert written["name"] == instance.name
    assert written["slurm"]["conf"] == str(instance.cluster().conf)
    assert f"{instance.scratch}:/tmpdata" in written["singularity"]["binds"]
    assert f"{instance.dataset}:/datasets:ro" in written["singularity"]["binds"]
    assert {image["path"] for image in written["images"].values()} == {
        str(instance.image(name)) for name in instance.images
    }
    images = {profile["image"] for profile in written["profiles"].values()}
    assert images == set(instance.images)


def test_a_site_that_has_changed_under_us_is_noticed() -> None:
    text = (CHECKOUT / "site.yaml").read_text("utf-8")
    with pytest.raises(Trouble) as caught:
        site.render(text.replace("/scratch:/tmpdata", "/lustre:/tmpdata"), TEST)
    assert "site.yaml" in caught.value.message.en


def test_the_manifest_knows_of_a_folder_before_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = Manifest(tmp_path / "manifest.json")
    seen = []
    monkeypatch.setattr(Path, "chmod", lambda self, mode: seen.append(Manifest(tmp_path / "manifest.json").entries))
    assert manifest.folder(tmp_path / "new") is True
    assert seen[0]["folders"] == [str(tmp_path / "new")]


def test_what_was_there_before_is_not_in_the_manifest(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path / "manifest.json")
    (tmp_path / "old").mkdir()
    assert manifest.folder(tmp_path / "old") is False
    assert not manifest.has("folders", tmp_path / "old")


def test_a_manifest_survives_a_cut_off_write(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path / "manifest.json")
    manifest.add("users", ["user1", "user2"])
    (tmp_path / "manifest.new").write_text('{"users": [')
    manifest.drop("users", "user1")
    assert Manifest(tmp_path / "manifest.json").entries["users"] == ["user2"]


def test_only_the_demo_writes_outside_its_folder() -> None:
    assert folders.files(TEST) == {}
    assert set(folders.files(DEMO)) == {Path("/etc/siflab/site.yaml"), Path("/usr/local/bin/siflab")}


def test_the_key_of_the_code_follows_contents_and_leaves_out_what_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHECKOUT", tmp_path)
    (tmp_path / "siflab" / "__pycache__").mkdir(parents=True)
    file = tmp_path / "siflab" / "a.py"
    file.write_text("one")
    first = source.digest("siflab")
    (tmp_path / "siflab" / "__pycache__" / "a.pyc").write_text("built")
    os.utime(file, (0, 0))
    assert source.digest("siflab") == first
    file.write_text("two")
    changed = source.digest("siflab")
    file.rename(tmp_path / "siflab" / "b.py")
    assert len({first, changed, source.digest("siflab")}) == 3


def test_only_one_command_changes_an_instance_at_a_time() -> None:
    with cli.alone(TEST):
        with cli.alone(DEMO):
            pass
        with pytest.raises(Trouble) as caught, cli.alone(TEST):
            pass
        assert "wait" in caught.value.message.en
    with cli.alone(TEST):
        pass
