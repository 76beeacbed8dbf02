"""`siflab env` on a login node: the image is started for it."""

import json
import os

import pytest

from siflab.cli import main
from siflab.container.digest import fingerprint, sha256_of


@pytest.fixture
def site(tmp_path, monkeypatch):
    image = tmp_path / "image.sif"
    image.write_bytes(b"an image")
    program = tmp_path / "bin" / "singularity"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    data = {
        "version": 1,
        "name": "test",
        "title": "Test",
        "singularity": {"binds": ["/scratch:/tmpdata", f"{os.path.expanduser('~')}:/workspace/user1"]},
        "environments": {"scratch": "/scratch/envs"},
        "images": {
            "torch": {"path": str(image), "title": "PyTorch", "python": "/opt/python"},
            "none": {"path": "/none.sif", "title": "None"},
        },
        "profiles": {"cpu": {"title": "CPU", "image": "torch", "partition": "cpu", "memory": "1G", "time": "1:00:00"}},
    }
    (tmp_path / "site.json").write_text(json.dumps(data))
    monkeypatch.setenv("SIFLAB_SITE", str(tmp_path / "site.json"))
    monkeypatch.setenv("SIFLAB_SESSION", str(tmp_path / "none.json"))
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    monkeypatch.setenv("PYTHONPATH", "/not/inside")
    return image


@pytest.fixture
def started(monkeypatch):
    """The command that took the place of this process."""
    calls = []

    def become(program, argv, environment):
        calls.append((argv, environment))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execvpe", become)
    return calls


def test_it_runs_inside_the_image_with_the_sites_binds(site, started):
    with pytest.raises(SystemExit):
        main(["env", "create", "nlp", "einops", "--root", os.path.expanduser("~/envs")])
    ((argv, environment),) = started
    at = argv.index(str(site))
    assert argv[1] == "exec" and "/scratch:/tmpdata" in argv[:at]
    assert argv[at + 1 : at + 4] == ["/opt/python", "-I", "-c"]
    place = json.loads(argv[argv.index("--place") + 1])
    assert (place["identity"], place["image_id"], place["home"]) == (fingerprint(site), "torch", "/workspace/user1")
    assert place["scratch"].startswith("/tmpdata/envs/")
    assert argv[-5:] == ["create", "nlp", "einops", "--root", "/workspace/user1/envs"]
    assert environment["PIP_INDEX_URL"].startswith("https://mirror"), "pip's configuration is the person's"
    assert "PYTHONPATH" not in environment


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--image", "nope", "list"], 2, "there are: torch, none"),
        (["--image", "none", "list"], 70, "/none.sif cannot be read"),
        (["create", "x", "--root", "/etc"], 2, "the image does not see /etc"),
        (["create", "x", "--requirements=/etc/r.txt"], 2, "the image does not see /etc/r.txt"),
        (["nonsense"], 2, "nonsense"),
        ([], 2, "COMMAND"),
    ],
)
def test_what_is_wrong_is_said_before_a_container_starts(site, started, capsys, words, code, says):
    assert main(["env", *words]) == code
    assert says in capsys.readouterr().err
    assert started == []


def test_a_digest_that_site_yaml_states_must_be_the_files(site, tmp_path, capsys):
    site.write_bytes(b"#!/usr/bin/env run-singularity\n\0SIF_MAGIC\0")
    data = json.loads((tmp_path / "site.json").read_text())
    data["singularity"]["binds"] = []
    del data["images"]["none"]
    for digest, code in ((sha256_of(site), 0), ("sha256:" + "0" * 64, 2)):
        data["images"]["torch"]["digest"] = digest
        (tmp_path / "site.json").write_text(json.dumps(data))
        assert main(["site", "check"]) == code
    assert f"images.torch.digest: the file has {sha256_of(site)}" in capsys.readouterr().err


def test_help_needs_no_image(capsys, started, monkeypatch):
    monkeypatch.setenv("SIFLAB_SITE", "/nowhere/site.yaml")
    assert main(["env", "--help"]) == 0
    assert main(["env", "create", "--help"]) == 0
    out = capsys.readouterr().out
    assert "rebuild" in out and "--requirements" in out
