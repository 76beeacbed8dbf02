"""Distributed runs and scripts to try on this machine; torchrun is a stand-in."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from siflab.inside import AttemptFolder, read_result

TORCHRUN = Path(__file__).with_name("stand_in_torchrun.py")


class Distributed:
    """A run of `nodes` nodes with two ranks each, on this machine."""

    def __init__(self, folder, temporary, nodes=1):
        self.folder, self.temporary, self.nodes, self.processes = folder, temporary, nodes, []
        self.attempt = AttemptFolder(folder, 1)

    def start(self, *, torch=True, torchrun=(str(TORCHRUN),)):
        log = self.attempt.run_log
        log.parent.mkdir(parents=True)
        for node in range(self.nodes):
            command = [sys.executable, str(self.folder / "runner.pyz"), "--run", str(self.folder), "--attempt", "1"]
            if torch:
                flags = [f"--nnodes={self.nodes}", "--nproc-per-node=2"]
                command += ["--node", "--", *torchrun, *flags]
            environment = {**os.environ, "TMPDIR": str(self.temporary), "SLURM_NODEID": str(node)}
            environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
            out = log.open("a")  # as job.sh has it
            self.processes.append(subprocess.Popen(command, cwd="/", env=environment, stdout=out, stderr=out))
        return self

    def end(self):
        self.codes = [process.wait(90) for process in self.processes]
        self.result = read_result(self.attempt)
        return self.codes[0]

    def log(self, rank=0):
        path = self.attempt.run_log if rank == 0 else self.attempt.run_log.with_name(f"rank-{rank}.log")
        return path.read_text("utf-8") if path.exists() else ""

    def await_log(self, text, rank=0):
        deadline = time.monotonic() + 60
        while text not in self.log(rank):
            assert all(process.poll() is None for process in self.processes), self.log()
            assert time.monotonic() < deadline, self.log(rank)
            time.sleep(0.02)

    def send(self, number):
        for process in self.processes:
            process.send_signal(number)

    @property
    def notebook(self):
        return json.loads(self.attempt.output.read_text("utf-8"))

    def states(self):
        return [cell["metadata"]["siflab"]["status"] for cell in self.notebook["cells"]]

    def text(self, index):
        outputs = self.notebook["cells"][index]["outputs"]
        return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


def make_script(run, source):
    """The run folder `run` as one of a script, whose source was edited after the snapshot."""
    (run.folder / "input.ipynb").unlink()
    own = run.folder / "src"
    own.mkdir()
    (run.folder / "input.py").write_text(source)
    (own / "train.py").write_text("raise RuntimeError('the snapshot runs, not this')")
    (own / "beside.py").write_text("VALUE = 7")
    about = json.loads((run.folder / "request.json").read_text())
    about.update(notebook=str(own / "train.py"), workdir=str(own))
    (run.folder / "request.json").write_text(json.dumps(about))
    return Distributed(run.folder, run.temporary)


def end_all(runs):
    for run in runs:
        for process in run.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
