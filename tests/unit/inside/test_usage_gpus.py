"""The job's GPUs and what they do, asked of the stub NVML: through pynvml, and without it."""

import json
import os
import subprocess
import sys

import pytest

GIB = 1 << 30
CARD = "gpu GPU-{0} A100-{0} 40000000000 {used} {util} 61 250500 {reasons} {pid} 1000"
ASK = """
import importlib, json, os, sys
if sys.argv[1] == "ctypes":
    sys.modules["pynvml"] = None
from siflab.inside import usage_nvml
from siflab.inside.usage_gpus import own_gpus, read_gpu
nvml = usage_nvml.load()
gpus = own_gpus(nvml, json.loads(sys.argv[2]))
pids = {int(pid): rank for pid, rank in json.loads(sys.argv[3]).items()}
values = [read_gpu(nvml, gpu, pids) for gpu in gpus]
print(json.dumps([type(nvml).__name__, [[g.uuid, g.name, g.total, g.mig, g.rank] for g in gpus], values]))
"""


@pytest.fixture(params=["ctypes", "pynvml"])
def ask(request, stub_nvml):
    """ask(lines of the stub's file, environment of the job, pids) -> (GPUs, readings)."""

    def asking(lines, environment, pids=None):
        environ = stub_nvml(lines)
        command = [sys.executable, "-c", ASK, request.param, json.dumps(environment), json.dumps(pids or {})]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        kind, gpus, values = json.loads(done.stdout)
        assert kind == ("Nvml" if request.param == "ctypes" else "module")
        return gpus, values

    return asking


def card(number, used=4 * GIB, util=50, reasons=0, pid=0):
    return CARD.format(number, used=used, util=util, reasons=reasons, pid=pid)


FOUR = [card(number) for number in range(4)]
SLICES = [card(0), "mig 0 MIG-a A100-slice 10000000000 1000", "mig 0 MIG-b A100-slice 10000000000 2000", card(1)]
JOB = {"SLURM_JOB_ID": "7"}


@pytest.mark.parametrize(
    ("lines", "environment", "uuids"),
    [
        (FOUR, {**JOB, "CUDA_VISIBLE_DEVICES": "2,0"}, ["GPU-2", "GPU-0"]),
        (FOUR, {**JOB, "CUDA_VISIBLE_DEVICES": "GPU-3,GPU-1"}, ["GPU-3", "GPU-1"]),
        (FOUR, {**JOB, "CUDA_VISIBLE_DEVICES": "1,9,2"}, ["GPU-1"]),  # as CUDA has it
        (FOUR, {**JOB, "CUDA_VISIBLE_DEVICES": ""}, []),
        (FOUR, {**JOB, "CUDA_VISIBLE_DEVICES": "NoDevFiles"}, []),
        (FOUR, {**JOB, "SLURM_JOB_GPUS": "1,3"}, ["GPU-1", "GPU-3"]),
        (FOUR, {**JOB, "SLURM_JOB_GPUS": "1,3", "SLURM_STEP_GPUS": "3"}, ["GPU-3"]),
        (FOUR, JOB, []),
        (FOUR, {}, ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]),  # no job of Slurm's: all of them
        ([card(2), card(3)], {**JOB, "SLURM_JOB_GPUS": "2,3"}, ["GPU-2", "GPU-3"]),  # the others are hidden
        (["denied", card(1), "denied"], {**JOB, "CUDA_VISIBLE_DEVICES": "0"}, ["GPU-1"]),  # or refused
        (SLICES, {**JOB, "CUDA_VISIBLE_DEVICES": "MIG-b"}, ["MIG-b"]),
        (SLICES, {**JOB, "CUDA_VISIBLE_DEVICES": "0"}, ["MIG-a"]),
        ([], {**JOB, "CUDA_VISIBLE_DEVICES": "0"}, []),
    ],
)
def test_only_the_jobs_own_gpus_are_looked_at(lines, environment, uuids, ask):
    gpus, values = ask(lines, environment)

    assert [gpu[0] for gpu in gpus] == uuids
    assert len(values) == len(uuids)


def test_what_is_read_of_a_gpu(ask):
    lines = [card(0, used=5000, util=83, reasons=0x4, pid=41)]

    gpus, values = ask(lines, {"CUDA_VISIBLE_DEVICES": "0"}, {41: 3, 42: None})

    assert gpus == [["GPU-0", "A100-0", 40000000000, False, 3]]
    assert values == [
        {"util": 83.0, "memory": 5000, "own": 1000, "temp": 61, "power": 250.5, "capped": 1.0, "heat": 0.0}
    ]


def test_what_nvml_cannot_tell_is_left_out(ask):
    gpus, values = ask(SLICES, {"CUDA_VISIBLE_DEVICES": "MIG-b"})

    assert gpus == [["MIG-b", "A100-slice", 10000000000, True, None]]
    assert (values[0]["memory"], values[0]["temp"], "util" in values[0]) == (2000, 61, False)


def test_memory_of_processes_that_are_not_the_jobs_is_not_its_own(ask):
    _, [values] = ask([card(0, pid=41)], {"CUDA_VISIBLE_DEVICES": "0"}, {42: None})

    assert "own" not in values


@pytest.mark.parametrize(
    ("reasons", "heat", "capped"),
    [(0, 0, 0), (0x1, 0, 0), (0x4, 0, 1), (0x80, 0, 1), (0x20, 1, 0), (0x40, 1, 0), (0x8, 1, 0), (0x88, 0, 1)],
)
def test_why_clocks_are_held_down(reasons, heat, capped, ask):
    _, [values] = ask([card(0, reasons=reasons)], {"CUDA_VISIBLE_DEVICES": "0"})

    assert (values["heat"], values["capped"]) == (heat, capped)


def test_without_a_driver_there_is_nothing_to_ask():
    code = "import sys; from siflab.inside import usage_nvml; sys.exit(usage_nvml.load() is not None)"
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}

    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
