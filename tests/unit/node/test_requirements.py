"""What an image must have, said before the server is started in vain."""

import sys

import pytest

from siflab.node.requirements import missing

COMMAND = ["/opt/python3", "-m", "jupyterhub.singleuser"]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An image with these packages and modules alone."""

    def install(*files):
        for file in files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text("raise RuntimeError('it is not to be imported')")
        monkeypatch.setattr(sys, "path", [])
        for name in [name for name in sys.modules if name.partition(".")[0] in ("jupyterhub", "jupyterlab")]:
            monkeypatch.delitem(sys.modules, name)
        return {"PYTHONPATH": f":{tmp_path}:/nowhere"}

    return install


HUB, LAB = ("jupyterhub/__init__.py", "jupyterhub/singleuser/__init__.py"), ("jupyterlab/__init__.py",)


def test_an_image_that_has_all(installed):
    assert missing(COMMAND, installed(*HUB, *LAB)) is None


@pytest.mark.parametrize("files", [(), LAB, ("jupyterhub/__init__.py", *LAB)])
def test_no_jupyterhub(installed, files):
    words = missing(COMMAND, installed(*files))
    assert "has no JupyterHub" in words.en and "没有安装 JupyterHub" in words.zh and sys.executable in words.en


def test_no_jupyterlab(installed):
    environment = installed(*HUB)
    words = missing(COMMAND, environment)
    assert "has no JupyterLab" in words.en and "没有安装 JupyterLab" in words.zh
    for name in ("JUPYTERHUB_DEFAULT_URL", "JUPYTERHUB_SINGLEUSER_APP"):  # a site that shows something else
        assert missing(COMMAND, {**environment, name: "/tree"}) is None


def test_a_command_of_the_site_s_own(installed):
    assert missing(["jupyterhub-singleuser", "--x"], installed()) is None


def test_the_search_path_stays(installed):
    environment = installed(*HUB)
    missing(COMMAND, environment)
    assert sys.path == []
