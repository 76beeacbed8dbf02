"""`siflab` inside a session: in the container, on its paths, with Slurm's commands over the bridge."""

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from siflab.config import parse_site
from siflab.container.command import exec_argv
from siflab.node.archive import build_archive
from siflab.node.folder import install_clients
from siflab.runs.job_view import JobView
from tests.cluster.hub import PYTHON, USERS
from tests.cluster.person import Person, site, texts, why_no_run

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_no_run() is not None, reason=str(why_no_run()))]


class InSession(Person):
    """A person whose `siflab` runs as in a session: a private folder with bridge and facts, in the stock image."""

    def __init__(self, user, site_data):
        super().__init__(user, site_data)
        self.site = parse_site(site_data)
        self.inside = JobView(self.site, str(self.home)).home[1]
        self.private = self.shared / "private"
        self.private.mkdir()
        binds = [str(bind) for bind in self.site.singularity.binds]
        facts = {
            "user": user,
            "server": "",
            "job_id": "1",
            "node": "here",
            "profile": "cpu",
            "image_id": "stock",
            "binds": binds,
            "home_host": str(self.home),
            "home_inside": self.inside,
            "resources": {"gpus": 0},
        }
        pairs = [[bind.source, bind.target] for bind in self.site.singularity.binds]
        bridge = {"binds": [*pairs, [str(self.home), self.inside]], "slurm_bin": None, "home": str(self.home)}
        for name, value in (("session.json", facts), ("site.json", self.site.public()), ("bridge.json", bridge)):
            (self.private / name).write_text(json.dumps(value), "utf-8")
        (self.private / "node.pyz").write_bytes(build_archive())
        client = Path(sys.modules["siflab.node.archive"].__file__).with_name("client.sh").read_text("utf-8")
        install_clients(str(self.private), PYTHON, client)
        entry = pwd.getpwnam(user)
        for path in [self.private, *self.private.rglob("*")]:
            os.chown(path, entry.pw_uid, entry.pw_gid, follow_symlinks=False)
        self.private.chmod(0o700)
        self.bridge = subprocess.Popen(
            self.as_user(["/usr/bin/python3", "-I", "-S", f"{self.private}/node.pyz", "bridge", str(self.private)])
        )

    def leave(self):
        super().leave()
        self.bridge.terminate()
        self.bridge.wait(10)

    def siflab(self, *arguments, **environment):
        own = {
            "SIFLAB_DIR": "/run/siflab",
            "SIFLAB_SESSION": "/run/siflab/session.json",
            "SIFLAB_SITE": "/run/siflab/site.json",
            "PYTHONPATH": "/siflab-code",
            **environment,
        }
        argv = exec_argv(
            self.site.singularity,
            self.site.images["stock"].path,
            ["env", *(f"{name}={value}" for name, value in own.items()), PYTHON, "-m", "siflab.cli", *arguments],
            binds=parse_site({**site(), "singularity": {"binds": [
                f"{self.private}:/run/siflab", f"{self.shared}:/siflab-code:ro"]}}).singularity.binds,
            home=(str(self.home), self.inside),
            pwd=self.inside,
        )  # fmt: skip
        return self.run_as(argv)

    def seen(self, path):
        """As the container has it."""
        return path if path is None else str(path).replace(str(self.home), self.inside, 1)

    def output(self, run):
        assert run["output"].startswith(self.inside), "paths are shown as this viewer has them"
        return json.loads(Path(run["output"].replace(self.inside, str(self.home), 1)).read_bytes())


@pytest.fixture(scope="module")
def user3():
    person = InSession(USERS[-1], site())
    yield person
    person.leave()


def test_promote_in_a_session_is_the_same_as_on_a_login_node(user3):
    source = user3.notebook("inside 训练.ipynb", "import os\nprint(os.getcwd())")
    run = user3.promote(user3.seen(source), "--wait")
    assert run["state"] == "completed", run
    assert run["source"] == user3.seen(source)
    assert texts(user3.output(run), 0).strip() == user3.seen(user3.folder)
    (outside,) = [one for one in Person.runs_json(Outside(user3)) if one["id"] == run["id"]]
    assert outside["state"] == "completed"
    assert outside["source"] == str(source), "and on a login node by the host's"
    assert run["id"] in user3.siflab("runs").stdout


class Outside:
    """The same person on a login node."""

    def __init__(self, person):
        self.person = person

    def siflab(self, *arguments):
        return Person.siflab(self.person, *arguments)


def test_cancel_and_log_over_the_bridge(user3):
    run = user3.promote(
        user3.seen(user3.notebook("long.ipynb", "import time\nprint('begun', flush=True)\ntime.sleep(600)"))
    )
    user3.await_output(run["id"], "begun\n")
    assert user3.siflab("cancel", run["id"]).returncode == 0
    assert user3.await_end(run["id"])["state"] == "cancelled"


def test_a_notebook_that_the_job_cannot_see_is_refused(user3):
    done = user3.siflab("promote", "/run/siflab/session.json")
    assert done.returncode == 2
    source = user3.shared / "private" / "local.ipynb"
    source.write_bytes(user3.notebook("good.ipynb", "1").read_bytes())
    os.chown(source, pwd.getpwnam(user3.user).pw_uid, -1)
    before = user3.made()
    done = user3.siflab("promote", "/run/siflab/local.ipynb")
    assert done.returncode == 2
    assert "FILE: the job cannot see the folder /run/siflab" in done.stderr
    assert user3.made() == before


def test_a_kernel_that_the_image_lacks_is_named(user3):
    source = user3.notebook("kernel.ipynb", "1")
    done = user3.siflab("promote", user3.seen(source), "--kernel", "julia-1.9")
    assert done.returncode == 2
    assert "--kernel: the image has no kernel 'julia-1.9'; choose one of: python3" in done.stderr


def test_without_the_bridge_it_is_said(user3):
    sockets = [path for path in user3.private.iterdir() if path.is_socket()]
    for path in sockets:
        path.rename(path.with_suffix(".away"))
    before = user3.made()
    try:
        done = user3.siflab("promote", user3.seen(user3.notebook("bridge.ipynb", "1")))
        assert done.returncode == 5, done.stderr
        assert user3.made() == before
    finally:
        for path in sockets:
            path.with_suffix(".away").rename(path)
