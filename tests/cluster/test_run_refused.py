"""What cannot be run is refused before a job is submitted, with a message that names the argument; nothing is left."""

import os
import socket
from pathlib import Path

import pytest
import yaml

from tests.cluster.hub import USERS
from tests.cluster.person import Person, site, why_no_run

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_no_run() is not None, reason=str(why_no_run()))]


@pytest.fixture(scope="module")
def user2():
    person = Person(USERS[1], site())
    person.notebook("good.ipynb", "print(1)")
    person.file("no-json.ipynb", b'{"cells": [')
    person.file("empty.ipynb", b"")
    person.file("list.ipynb", b"[1, 2]")
    person.file("old.ipynb", b'{"nbformat": 3, "worksheets": [], "metadata": {}}')
    person.file("bytes.ipynb", b"\xff\xfe\x00")
    person.notebook("no-code.ipynb")
    person.run_as(["mkfifo", str(person.folder / "pipe.ipynb")])
    yield person
    person.leave()


CASES = [
    (["good.ipynb", "--profile", "a10"], "--profile", "did you mean a100?"),
    (["good.ipynb", "--profile", "a100", "--gpus", "5"], "--gpus", "1-4"),
    (["good.ipynb", "--profile", "a100", "--gpus", "many"], "--gpus", "not a whole number"),
    (["good.ipynb", "--gpus", "1"], "--gpus", "cannot be changed"),
    (["good.ipynb", "--time", "3:00:00"], "--time", "2:00:00"),
    (["good.ipynb", "--time", "soon"], "--time", "1-00:00:00"),
    (["good.ipynb", "--memory", "64G"], "--memory", "4G"),
    (["good.ipynb", "--memory", "$(id)"], "--memory", "16G"),
    (["good.ipynb", "--nodes", "2"], "--nodes", "cannot be changed"),
    (["good.ipynb", "--image", "none"], "--image", "stock"),
    (["good.ipynb", "--image", "missing"], "--image", "does not exist"),
    (["good.ipynb", "--image", "no-sif"], "--image", "is no Singularity image"),
    (["good.ipynb", "--name", "x" * 81], "--name", "80"),
    (["no-such.ipynb"], "FILE", "there is no file"),
    ([""], "FILE", "no file"),
    (["pipe.ipynb"], "FILE", "no file"),
    (["/etc/shadow"], "FILE", "cannot be read"),
    (["no-json.ipynb"], "FILE", "line 1"),
    (["empty.ipynb"], "FILE", "empty"),
    (["list.ipynb"], "FILE", "nbformat"),
    (["old.ipynb"], "FILE", "format 3"),
    (["bytes.ipynb"], "FILE", "UTF-8"),
    (["no-code.ipynb"], "FILE", "no code"),
    (["good.ipynb", "--profile", "nowhere"], "--profile", "no such partition"),
]


@pytest.mark.parametrize(("arguments", "option", "words"), CASES, ids=[" ".join(case[0])[:40] for case in CASES])
def test_bad_input_is_refused_and_leaves_nothing(user2, arguments, option, words):
    before = user2.made(), user2.jobs()
    notebook, *options = arguments
    done = user2.siflab("promote", str(user2.folder / notebook), *options)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("siflab: ")]
    assert line.startswith(f"siflab: {option}: ")
    assert words in line
    assert (user2.made(), user2.jobs()) == before


def test_all_that_is_wrong_is_said_at_once(user2):
    done = user2.siflab("promote", "/no/such.ipynb", "--profile", "a100", "--gpus", "9", "--time", "x", "--memory", "y")
    assert [line.split(":")[1].strip() for line in done.stderr.splitlines()] == [
        "--gpus",
        "--memory",
        "--time",
        "FILE",
    ]


def test_what_slurm_refuses_leaves_nothing(user2):
    before = user2.made()
    done = user2.siflab("promote", str(user2.folder / "good.ipynb"), "--profile", "greedy")
    assert done.returncode == 4
    assert "no node of this partition has that many GPUs" in done.stderr
    assert user2.made() == before
    assert (
        "没有节点具备"
        in user2.siflab("promote", str(user2.folder / "good.ipynb"), "--profile", "greedy", LANG="zh_CN.UTF-8").stderr
    )


def test_a_bind_without_source_is_named(user2):
    changed = user2.shared / "bind.yaml"
    data = yaml.safe_load(user2.site_file.read_text("utf-8"))
    data["singularity"]["binds"] = [*data["singularity"]["binds"], "/no/such/source:/inside"]
    changed.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
    before = user2.made()
    done = user2.siflab("promote", str(user2.folder / "good.ipynb"), SIFLAB_SITE=str(changed))
    assert done.returncode == 2
    assert done.stderr.startswith("siflab: site.yaml: /no/such/source")
    assert user2.made() == before
    checked = user2.siflab("site", "check", str(changed))
    assert checked.returncode == 2
    assert "singularity.binds: /no/such/source" in checked.stderr


def test_a_wrong_key_of_the_site_is_named(user2):
    changed = user2.shared / "wrong.yaml"
    changed.write_text(user2.site_file.read_text("utf-8").replace("partition: cpu", "partitoin: cpu"), "utf-8")
    for arguments in (["promote", str(user2.folder / "good.ipynb")], ["site", "check"]):
        done = user2.siflab(*arguments, SIFLAB_SITE=str(changed))
        assert done.returncode == 70
        assert "profiles.cpu.partitoin" in done.stderr and "did you mean `partition`" in done.stderr


def test_without_slurm_nothing_is_lost_and_nothing_is_left(user2):
    run = user2.promote(user2.folder / "good.ipynb", "--wait")
    lost = user2.promote(user2.notebook("running.ipynb", "import time\ntime.sleep(600)"))
    before = user2.made()
    conf = user2.shared / "elsewhere.conf"
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    lines = Path(os.environ["SLURM_CONF"]).read_text("utf-8").splitlines()
    changed = [line for line in lines if not line.startswith(("SlurmctldHost", "SlurmctldPort", "MessageTimeout"))]
    conf.write_text(
        "\n".join(
            [f"SlurmctldHost={socket.gethostname()}(127.0.0.1)", f"SlurmctldPort={port}", "MessageTimeout=2", *changed]
        )
        + "\n",
        "utf-8",
    )
    data = yaml.safe_load(user2.site_file.read_text("utf-8"))
    data["slurm"]["conf"] = str(conf)
    away = user2.shared / "away.yaml"
    away.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")

    done = user2.siflab("promote", str(user2.folder / "good.ipynb"), SIFLAB_SITE=str(away))
    assert done.returncode == 5
    assert "cannot be reached" in done.stderr
    assert user2.made() == before

    listed = user2.siflab("runs", SIFLAB_SITE=str(away))
    assert listed.returncode == 5
    states = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert "completed" in states[run["id"]], "what is known to be over stays known"
    assert "unknown" in states[lost["id"]]
    assert user2.show(lost["id"])["state"] in ("pending", "running"), "and is as it was when Slurm answers again"
