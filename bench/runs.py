"""Runs on the real cluster: from the request to the job id, and the step of a distributed training.

``make bench-runs``. Both beside what a person would do by hand, in turn, in one run: `sbatch` of a script that is there
already, and `torchrun` in a hand-written batch script. Goals: a job id within 0.5 s; a step of the training within 2 %
of the hand-written script's. Start-up, from Slurm's start of the job to the first step, is told apart.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

from tests.cluster.hub import BINDS, USERS
from tests.cluster.person import ENDED, PYTHON_OF_USERS, Person, site, why_no_run

IMAGE = os.environ.get("SIFLAB_TEST_DEMO_IMAGE", "")
TRAINING = """
import json, os, sys, time
import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(128, 512), torch.randn(128, 512)
began, steps = time.time(), []
for step in range(int(sys.argv[1])):
    at = time.perf_counter()
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    steps.append(time.perf_counter() - at)
if dist.get_rank() == 0:
    print("BENCH", json.dumps({"began": began, "steps": steps[len(steps) // 5:]}), flush=True)
dist.destroy_process_group()
"""
BY_HAND = """#!/bin/bash
#SBATCH --job-name=by-hand --partition=gpu-a100 --nodes=2 --ntasks-per-node=1 --cpus-per-task=1 --gres=gpu:a100:1
#SBATCH --mem=2G --time=0:30:00 --output={folder}/%j.out
master=$(scontrol --oneliner show node "$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)" |
  sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')
export OMP_NUM_THREADS=1 SRUN_CPUS_PER_TASK=1
cd /
srun --kill-on-bad-exit=1 bash -c 'singularity exec {binds} --home {home} {image} /opt/jupyter/bin/python3 \\
  -m torch.distributed.run --nnodes=2 --nproc-per-node=1 --node-rank="$SLURM_NODEID" --rdzv-backend=static \\
  --master-addr='"$master"' --master-port=$((20000 + SLURM_JOB_ID % 10000)) {inside}/train.py {steps}'
"""
SUBMIT = """
import json, sys, time
from siflab.runs import RunRequest, Viewer, submit
viewer = Viewer.here()
for _ in range(int(sys.argv[2])):
    begun = time.perf_counter()
    run = submit(viewer, RunRequest(path=sys.argv[1], profile="cpu"))
    print(json.dumps([time.perf_counter() - begun, run.job_id]))
"""


def a_person() -> Person:
    data = site()
    data["images"]["torch"] = {"path": IMAGE, "title": "PyTorch", "python": "/opt/jupyter/bin/python3"}
    data["profiles"]["torch"] = {
        "image": "torch", "title": "PyTorch", "partition": "gpu-a100", "gpus": 1, "gpu_type": "a100", "cpus": 1,
        "memory": "2G", "time": "0:30:00", "nodes": 2,
    }  # fmt: skip
    return Person(USERS[0], data)


def job_ids(person: Person, times: int) -> dict[str, list[float]]:
    """Seconds: `submit` in a process that is there (as behind the button), the whole of ``siflab promote``, and bare
    sbatch."""
    source = person.notebook("hello.ipynb", "print(1)")
    script = person.file("hello.sh", b"#!/bin/bash\ntrue\n")
    done = person.run_as([PYTHON_OF_USERS, "-c", SUBMIT, str(source), str(times)])
    if done.returncode:
        raise RuntimeError(done.stderr)
    readings = {"behind the button": [json.loads(line)[0] for line in done.stdout.splitlines()]}
    promote = partial(person.promote, source, "--profile", "cpu")
    readings["siflab promote, as a whole"] = [timed(promote) for _ in range(times)]
    sbatch = ["sbatch", "--partition=cpu", "--output=/dev/null", str(script)]
    readings["sbatch alone"] = [timed(partial(checked, person, sbatch)) for _ in range(times)]
    return readings


def timed(work: Any) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def checked(person: Person, argv: list[str]) -> str:
    done = person.run_as(argv)
    if done.returncode:
        raise RuntimeError(f"{argv[0]}: {done.stderr}")
    return done.stdout


def training_of_siflab(person: Person, source: Path, steps: int) -> tuple[dict[str, Any], float]:
    argv = ["--profile", "torch", "--mode", "distributed", "--processes", "1", "--wait", "--", str(steps)]
    run = person.promote(source, *argv)
    log = person.siflab("logs", run["id"]).stdout
    return told(log), began_at(run["job_id"])


def training_by_hand(person: Person, source: Path, steps: int) -> tuple[dict[str, Any], float]:
    inside = str(person.folder).replace("/home", "/workspace", 1)
    binds = " ".join(f"--bind {bind}" for bind in BINDS)
    home = f"{person.home}:{str(person.home).replace('/home', '/workspace', 1)}"
    text = BY_HAND.format(folder=person.folder, binds=binds, home=home, image=IMAGE, inside=inside, steps=steps)
    script = person.file("by-hand.sh", text.encode())
    job_id = checked(person, ["sbatch", "--parsable", "--wait", str(script)]).strip()
    return told((person.folder / f"{job_id}.out").read_text()), began_at(job_id)


def told(log: str) -> dict[str, Any]:
    for line in log.splitlines():
        if "BENCH " in line:
            found: dict[str, Any] = json.loads(line.partition("BENCH ")[2])
            return found
    raise RuntimeError(f"the training told nothing:\n{log[-3000:]}")


def began_at(job_id: str) -> float:
    """Slurm's start of a job, in whole seconds since the epoch."""
    answer = subprocess.run(
        ["sacct", "--noheader", "--parsable2", "--allocations", "--jobs", job_id, "--format=Start"],
        env={**os.environ, "SLURM_TIME_FORMAT": "%s"}, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return float(answer.split()[0])


def trainings(person: Person, times: int, steps: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """(median seconds of a step, seconds of start-up), each way in turn."""
    source = person.file("train.py", TRAINING.encode())
    ways = {"siflab": training_of_siflab, "by hand": training_by_hand}
    step: dict[str, list[float]] = defaultdict(list)
    start: dict[str, list[float]] = defaultdict(list)
    for turn in range(times):
        for name, way in list(ways.items())[:: 1 if turn % 2 == 0 else -1]:
            found, began = way(person, source, steps)
            step[name].append(statistics.median(found["steps"]))
            start[name].append(found["began"] - began)
            print(f"{name:10} step {step[name][-1] * 1000:7.2f} ms   start-up {start[name][-1]:5.1f} s", flush=True)
    return step, start


def show(title: str, readings: dict[str, list[float]], unit: float = 1.0) -> None:
    print(title)
    for name, values in readings.items():
        low, middle, high = (value * unit for value in (min(values), statistics.median(values), max(values)))
        print(f"  {name:28} {middle:8.2f}   ({low:.2f} to {high:.2f})")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--times", type=int, default=5)
    options.add_argument("--steps", type=int, default=1500)
    asked = options.parse_args()
    why = why_no_run() or (None if IMAGE else "no image with torch: set SIFLAB_TEST_DEMO_IMAGE")
    if why:
        print(why, file=sys.stderr)
        return 1
    person = a_person()
    try:
        ids = job_ids(person, 2 * asked.times)
        while any(run["state"] not in ENDED for run in person.runs_json()):
            time.sleep(1)  # the small jobs are not to run beside the training
        step, start = trainings(person, asked.times, asked.steps)
    finally:
        person.leave()
    show("from the request to the job id, seconds: median (least to most); goal 0.5", ids)
    show("a step of the training on 2 nodes, ms: median of medians", step, 1000)
    show("start-up, from Slurm's start to the first step, seconds", start)
    ratio = statistics.median(step["siflab"]) / statistics.median(step["by hand"])
    print(f"step, siflab : by hand  {ratio:.3f}  (goal: at most 1.02)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
