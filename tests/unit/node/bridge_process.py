"""A bridge and its clients, both as a session starts them; programs of the test stand for Slurm's."""

import json
import os
import socket
import subprocess
import sys

import pytest

from siflab.node import protocol
from siflab.node.folder import install_clients

JOB = {
    "PATH": "/usr/bin:/bin",
    "SLURM_CONF": "/etc/lab/slurm.conf",
    "SLURM_CPU_BIND": "quiet,mask_cpu:0x1",
    "SBATCH_PARTITION": "wrong",
    "CUDA_VISIBLE_DEVICES": "0",
    "LANG": "C.UTF-8",
}
SHOW = """#!python
import json, os, sys
words = sys.argv[1:]
script = [word for word in words if os.path.isfile(word)]
reads = not script and "--wrap" not in words
json.dump({
    "name": os.path.basename(sys.argv[0]), "words": words, "cwd": os.getcwd(), "env": dict(os.environ),
    "script": open(script[0]).read() if script else None, "stdin": sys.stdin.read() if reads else None,
}, sys.stdout)
"""


class Session:
    """A bridge that runs, and the clients of its container."""

    def __init__(self, folder, home, started, make_program):
        self.folder, self.home, self.slurm = folder, home, folder.parent / "slurm"
        self._started, self._make_program = started, make_program
        from siflab.node import archive

        with open(os.path.join(os.path.dirname(archive.__file__), "client.sh"), encoding="utf-8") as source:
            install_clients(str(folder), sys.executable, source.read())
        settings = {"binds": [[str(home), "/workspace"]], "slurm_bin": str(self.slurm), "home": str(home)}
        (folder / "bridge.json").write_text(json.dumps(settings))
        for name in ("sbatch", "squeue", "sinfo"):
            self.command(name, SHOW)

    def command(self, name, text):
        return self._make_program(self.slurm / name, text)

    def start(self, wrapper=()):
        argv = [*wrapper, sys.executable, "-I", "-S", self.folder / "node.pyz", "bridge", self.folder]
        self.process = self._started(argv, env={**JOB, "HOME": str(self.home)}, stdout=None, stderr=None)
        self.wait()
        return self

    def wait(self):
        while True:  # a socket that listens is no event that could be awaited
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(str(self.folder / protocol.SOCKET))
                    return
            except OSError:
                assert self.process.poll() is None

    def client(self, *words, environment=None, **kwargs):
        env = {
            "PATH": f"{self.folder}/bin:/usr/bin:/bin",
            "SIFLAB_DIR": str(self.folder),
            "LANG": "C.UTF-8",
            "JUPYTERHUB_API_TOKEN": "t",
        }
        return self._started(words, env={**env, **(environment or {})}, **kwargs)

    def run(self, *words, input=None, **kwargs):
        """(exit code, standard output, standard error)"""
        process = self.client(*words, stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL, **kwargs)
        out, err = process.communicate(input, timeout=30)
        return process.returncode, out, err.decode()

    def shown(self, *words, **kwargs):
        code, out, err = self.run(*words, **kwargs)
        assert code == 0, err
        return {**json.loads(out), "err": err}


@pytest.fixture
def session(folder, tmp_path, started, make_program):
    home = tmp_path / "home"
    (home / "user1").mkdir(parents=True)
    return Session(folder, home, started, make_program).start()
