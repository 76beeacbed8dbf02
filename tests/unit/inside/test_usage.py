"""The sampler: its files, its figures, and that it disturbs nobody."""

import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from siflab.inside import AttemptFolder, usage
from siflab.inside.usage_cgroup import Cgroup
from siflab.inside.usage_files import LARGE, DataFiles
from siflab.inside.usage_look import Window
from siflab.inside.usage_processes import Processes
from siflab.inside.usage_writer import LIMIT, UsageFile

MIB = 1 << 20


@pytest.fixture
def attempt(tmp_path):
    folder = AttemptFolder(tmp_path, 1)
    folder.make()
    return folder


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def is_node(line):
    return "cpu" in line and "rank" not in line


class Steps:
    """A `cell` for the sampler that counts how often it has looked."""

    def __init__(self):
        self.looked = threading.Semaphore(0)
        self.progress = {"current_index": 0, "current_cell": 1}

    def __call__(self):
        self.looked.release()
        return self.progress

    def wait(self, looks):
        for _ in range(looks):
            assert self.looked.acquire(timeout=30)


def test_what_a_child_does_is_in_the_samples_and_in_the_summary(attempt):
    steps = Steps()
    sampler = usage.start(attempt, cell=steps, interval=0.05)
    steps.wait(2)
    code = "import sys; x = b'x' * 200_000_000; sum(range(8_000_000)); sys.stdin.read()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    while not any(is_node(line) and line["memory"] > 150 * MIB for line in lines_of(usage.usage_file(attempt))):
        steps.wait(1)
    steps.progress = {"current_index": 4, "current_cell": 3}
    steps.wait(3)
    child.communicate()
    steps.wait(2)
    sampler.stop()

    head, *lines = lines_of(usage.usage_file(attempt))
    assert (head["version"], head["number"], head["interval"]) == (1, 0, 0.05)
    assert {line["cell"] for line in lines if is_node(line)} == {0, 4}
    assert [line["number"] for line in lines if is_node(line)][-1] == 3
    assert max(len(json.dumps(line, separators=(",", ":"))) for line in lines) <= 300
    summary = json.loads(usage.summary_file(attempt).read_text())
    assert summary["memory"]["peak"] > 200_000_000
    assert summary["memory"]["peak"] >= summary["memory"]["mean"] > 0
    assert 0 < summary["cpu"]["mean"] <= summary["cpu"]["peak"] < 64
    assert [cell["cell"] for cell in summary["cells"]] == [0, 4]
    assert summary["gpus"] == [] and summary["nvml"] is False


def test_a_sample_belongs_to_one_cell(attempt, monkeypatch):
    monkeypatch.setattr(UsageFile, "interval", lambda *_: 1000.0)
    steps = Steps()
    sampler = usage.start(attempt, cell=steps, interval=0.02)
    steps.wait(3)
    steps.progress = {"current_index": 4, "current_cell": 3}
    steps.wait(3)
    sampler.stop()

    cells = [line["cell"] for line in lines_of(usage.usage_file(attempt)) if is_node(line)]
    assert cells == [0, 4]


GPU = "gpu GPU-a A100 1000 {used} {util} 70 300000 64 {pid} 400"
SAMPLED = """
import json, os, sys
from pathlib import Path
from siflab.inside import AttemptFolder, usage
folder = AttemptFolder(Path(sys.argv[1]), 1)
looked = []
import threading
done = threading.Event()
def cell():
    looked.append(1)
    if len(looked) > 3: done.set()
    return {"current_index": 2, "current_cell": 1}
told = Path(os.environ["STUB_NVML"])
told.write_text(told.read_text().replace("PID", str(os.getpid())))
sampler = usage.start(folder, cell=cell, interval=0.05)
assert done.wait(30)
sampler.stop()
"""


def test_a_gpus_figures_are_beside_the_nodes(attempt, stub_nvml):
    environment = stub_nvml([GPU.format(used=900, util=80, pid="PID"), "gpu GPU-b A100 1000 1 99 1 1 0 0 0"])
    environment["CUDA_VISIBLE_DEVICES"] = "0"

    subprocess.run([sys.executable, "-c", SAMPLED, str(attempt.run)], env=environment, check=True)

    lines = lines_of(usage.usage_file(attempt))
    assert [line["uuid"] for line in lines if "uuid" in line] == ["GPU-a"]
    samples = [line for line in lines if "util" in line]
    assert samples
    assert {(s["gpu"], s["util"], s["memory"], s["own"], s["heat"], s["cell"]) for s in samples} == {
        (0, 80, 900, 400, 1, 2)
    }
    [gpu] = json.loads(usage.summary_file(attempt).read_text())["gpus"]
    assert (gpu["idle"], gpu["power"]["mean"], gpu["memory"]["total"], gpu["heat"]) == (0.2, 300, 1000, 1)


def test_each_rank_is_told_apart(attempt):
    steps = Steps()
    code = "import sys; print('on', flush=True); sys.stdin.read()"
    children = []
    for rank in ("4", "5"):
        environment = {**os.environ, "RANK": rank}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        children.append(subprocess.Popen([sys.executable, "-c", code], env=environment, **pipes))
    for child in children:
        child.stdout.readline()
    sampler = usage.start(attempt, rank=4, node=2, cell=steps, interval=0.05)
    steps.wait(3)
    sampler.stop()
    for child in children:
        child.communicate()

    assert usage.usage_file(attempt, 2).name == "usage-2.jsonl"
    ranks = json.loads(usage.summary_file(attempt, 2).read_text())["ranks"]
    assert [rank["rank"] for rank in ranks] == [4, 5]
    assert all(rank["memory"]["peak"] > MIB for rank in ranks)


def test_a_run_goes_on_without_its_figures(attempt, monkeypatch, tmp_path):
    nowhere = AttemptFolder(tmp_path / "gone", 1)
    usage.start(nowhere, cell=dict, interval=0.01).stop()
    assert not (tmp_path / "gone").exists()

    monkeypatch.setattr(usage, "Sampler", None)
    usage.start(attempt).stop()


def test_a_driver_that_does_not_answer_holds_no_run_up(attempt, monkeypatch):
    monkeypatch.setattr(usage, "_JOIN", 0.05)
    asked, answer = threading.Event(), threading.Event()

    def gpu_facts(_look):
        asked.set()
        answer.wait()
        return []

    monkeypatch.setattr("siflab.inside.usage_look.Look.gpu_facts", gpu_facts)
    sampler = usage.start(attempt, cell=dict, interval=0.01)
    assert asked.wait(30)
    sampler.stop()

    assert json.loads(usage.summary_file(attempt).read_text())["samples"] == 0
    answer.set()


def test_processes_of_the_tree_and_nobody_elses():
    code = "import subprocess, sys; subprocess.Popen(['cat']).wait()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        processes = Processes(child.pid)
        found = processes.look()
        while len(found) < 2:
            found = processes.look()
        assert {child.pid} < {process.pid for process in found}
        assert os.getpid() not in {process.pid for process in found}
        assert all(process.private > 0 for process in found)
    finally:
        child.communicate()


def test_time_and_bytes_of_children_that_ended_are_not_lost(tmp_path):
    data = tmp_path / "data"
    data.write_bytes(b"x" * 5 * MIB)
    me = Processes(os.getpid())
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    before = sum(process.read for process in me.look())
    seconds = sum(process.all_seconds for process in me.look())
    code = f"open({str(data)!r}, 'rb').read(); sum(range(20_000_000))"
    subprocess.run([sys.executable, "-c", code], check=True)
    after = me.look()

    assert sum(process.read for process in after) - before >= 5 * MIB
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - own.ru_utime
    assert sum(process.all_seconds for process in after) - seconds >= used - 0.02 > 0


@pytest.mark.parametrize("version", [1, 2])
def test_the_cgroup_of_the_step(version, tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    about = tmp_path / "proc/self/cgroup"
    root = tmp_path / "sys/fs/cgroup"
    if version == 2:
        path = "system.slice/slurmstepd.scope/job_7/step_0"
        about.write_text(f"0::/{path}/user/task_0\n")
        step, own = root / path, root / path / "user/task_0"
        own.mkdir(parents=True)
        (step / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
        (step / "memory.stat").write_text("anon 1000\nfile 99999\nshmem 20\nkernel_stack 3\n")
        (step / "memory.max").write_text("max\n")
        (step.parent / "memory.max").write_text("4000000\n")
    else:
        path = "slurm/uid_1000/job_7/step_0"
        about.write_text(f"4:memory:/{path}/task_0\n3:cpuacct:/{path}/task_0\n0::/\n")
        step, own = root / "memory" / path, root / "memory" / path / "task_0"
        own.mkdir(parents=True)
        (step / "memory.stat").write_text("rss 1\ntotal_cache 99999\ntotal_rss 1003\ntotal_shmem 20\n")
        (step / "memory.limit_in_bytes").write_text("9223372036854771712\n")
        (step.parent / "memory.limit_in_bytes").write_text("4000000\n")
        (root / "cpuacct" / path).mkdir(parents=True)
        (root / "cpuacct" / path / "cpuacct.usage").write_text("2500000000\n")
    (own / "cgroup.procs").write_text("12\n14\n")

    cgroup = Cgroup(tmp_path)

    assert cgroup.cpu_seconds() == 2.5
    assert cgroup.memory_bytes() == 1023, "the cache of files is not counted"
    assert cgroup.memory_limit() == 4000000
    assert cgroup.pids() == [12, 14]


def test_a_cgroup_that_is_not_the_jobs_says_nothing(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/user.slice/user-1000.slice\n")
    (tmp_path / "sys/fs/cgroup/user.slice/user-1000.slice").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/user.slice/user-1000.slice/cpu.stat").write_text("usage_usec 1\n")

    cgroup = Cgroup(tmp_path)

    assert (cgroup.cpu_seconds(), cgroup.memory_bytes(), cgroup.pids(), cgroup.memory_limit()) == (None,) * 4


def test_large_files_that_are_open_for_reading(tmp_path):
    large, small, written = tmp_path / "data.bin", tmp_path / "small.bin", tmp_path / "out.bin"
    for path, size in ((large, LARGE), (small, LARGE - 1), (written, LARGE)):
        with path.open("wb") as stream:
            stream.truncate(size)
    files = DataFiles()
    with large.open("rb"), large.open("rb"), small.open("rb"), written.open("ab"):
        assert [(file.name, file.size) for file in files.look([os.getpid()])] == [("data.bin", LARGE)]
        assert files.open_bytes == LARGE
        assert files.look([os.getpid()]) == []
    files.look([os.getpid()])
    assert files.open_bytes == 0


def test_several_looks_become_one_sample():
    window = Window()
    for util, memory, read in ((10, 5, 100), (40, 3, 250)):
        window.add(("node", 0), {"read": read, "memory": memory}, 5)
        window.add(("gpu", 1), {"util": util, "memory": memory}, 5)
    window.add(("gpu", 1), {"util": 70, "memory": 1}, 10)

    node, gpu = window.lines(7.0)
    assert node == {"t": 7.0, "d": 10, "read": 250, "memory": 5}
    assert gpu == {"t": 7.0, "d": 20, "gpu": 1, "util": 47.5, "memory": 5}


def test_the_file_of_a_month_stays_small(tmp_path):
    """Eight GPUs and eight ranks; no time passes, only the numbers."""
    written, elapsed = UsageFile(tmp_path / "usage.jsonl"), 0.0
    lines = [{"d": 5, "x": "x" * 130} for _ in range(17)]
    rows, at = 0, 0.0
    while elapsed < 30 * 86400:
        elapsed += 5
        if elapsed - at >= written.interval(elapsed) - 2.5:
            at = elapsed
            rows += 1
            written.write(lines)
    assert 2_000_000 < written.path.stat().st_size < LIMIT
    assert rows > 4000
    size = written.path.stat().st_size
    written.write(lines)
    assert written.path.stat().st_size > size, "it is still written to"
    written.close()


def test_a_full_disk_is_left_alone(tmp_path):
    path = Path("/dev/full")
    written = UsageFile(path)
    written.write([{"d": 1}])
    written.write([{"d": 1}])
    assert not written.is_new
    written.close()
