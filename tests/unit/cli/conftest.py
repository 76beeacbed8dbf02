"""The command line over a fake of Slurm."""

import pytest

from siflab.cli import main
from siflab.runs import Viewer
from tests.unit.runs.conftest import no_sync, notebook, request_for, site_data, slurm, viewer  # noqa: F401


@pytest.fixture
def siflab(viewer, monkeypatch, capsys):  # noqa: F811
    """Runs a command; gives (exit code, standard output, standard error)."""
    monkeypatch.setattr(Viewer, "here", classmethod(lambda cls, site=None: viewer))
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
