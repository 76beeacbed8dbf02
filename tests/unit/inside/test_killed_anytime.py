"""A run is killed at any instant, and its disk is full at any byte: what is left is valid, complete and honest.

SIFLAB_KILLS=200 tries so many instants (12 else), SIFLAB_SEED=n those of a seed that was printed; SIFLAB_KILL_MARGIN is how
old, in seconds, printed text must be not to be lost: 20 ms (`kernel_start.FLUSH_SECONDS`) on a machine that is idle."""

import json
import os
import random
import resource
import signal
import subprocess
import time
from collections import defaultdict

import nbformat
import pytest

from siflab.inside import recover
from siflab.inside.notebook import state_of
from siflab.inside.spill import relative_path

pytestmark = pytest.mark.kernel
KILLS = int(os.environ.get("SIFLAB_KILLS", "12"))
SEED = int(os.environ.get("SIFLAB_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
MARGIN = float(os.environ.get("SIFLAB_KILL_MARGIN", "0.5"))  # other programs run beside the tests

PREPARE = """
import os, time, itertools
truth, count = os.open(os.environ["SIFLAB_RUN_FOLDER"] + "/truth", os.O_WRONLY | os.O_CREAT | os.O_APPEND), itertools.count()
def tick(cell):
    n = next(count)
    os.write(truth, f"{cell} {n} {time.monotonic()}\\n".encode())
    print(f"<{n}>", end="\\n" if n % 3 else "\\r<bar>", flush=False)
    time.sleep(0.002)
"""
CELLS = [PREPARE, *(f"for _ in range(20): tick({cell})" for cell in range(1, 25))]


def truth_of(run):
    """cell -> [(number, when it was printed)]."""
    found = defaultdict(list)
    path = run.folder / "truth"
    for line in path.read_text().splitlines() if path.exists() else []:
        cell, number, at = line.split()
        found[int(cell)].append((int(number), float(at)))
    return found


def children(pid):
    try:
        return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except OSError:
        return []


def kill(run, victim):
    """When it was done, by the clock of the ticks."""
    pids = {"kernel": children(run.process.pid), "runner": [run.process.pid]}
    pids["both"] = pids["kernel"] + pids["runner"]
    at = time.monotonic()
    for pid in pids[victim] or pids["runner"]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return at


def text_of(run, notebook, index):
    more = run.attempt.folder / relative_path(index + 1)
    if more.exists():
        return more.read_text()
    return "".join(o["text"] for o in notebook["cells"][index]["outputs"] if o["output_type"] == "stream")


def check(run, killed_at):
    if not run.attempt.output.exists():  # before it had begun
        assert not truth_of(run)
        return
    nbformat.validate(nbformat.read(run.attempt.output, 4))
    if run.result is None:
        recover(run.folder, 1)
        nbformat.validate(nbformat.read(run.attempt.output, 4))
    notebook, truth = run.notebook, truth_of(run)
    states = [state_of(notebook, index) for index in range(len(CELLS))]
    ran = [state for state in states if state != "not run"]
    assert states == ran + ["not run"] * (len(states) - len(ran))
    assert all(state == "done" for state in ran[:-1]) and (not ran or ran[-1] in ("done", "killed")), states
    for cell in range(1, len(CELLS)):
        printed, text = truth[cell], text_of(run, notebook, cell)
        missing = [at for number, at in printed if f"<{number}>" not in text and number % 3 != 0]
        assert all(at > killed_at - MARGIN for at in missing), (cell, killed_at - min(missing), states)
        if states[cell] == "done":
            assert len(printed) == 20 and not missing
        if states[cell] == "not run":
            assert all(at > killed_at - MARGIN for _, at in printed)


@pytest.mark.parametrize("victim", ["runner", "kernel", "both"])
def test_killed_at_any_instant(make_run, victim):
    chance = random.Random(f"{SEED} {victim}")
    for _ in range(KILLS // 3):
        delay = chance.uniform(0, 4)
        print(f"SIFLAB_SEED={SEED} {victim} after {delay:.3f} s")
        run = make_run(
            *CELLS, output_limit=chance.choice([60, 500, 10_000_000])
        ).start()  # a small one is often reached
        begun = time.monotonic()
        try:
            run.process.wait(timeout=delay)
        except subprocess.TimeoutExpired:
            pass
        killed_at = kill(run, victim) if run.process.poll() is None else time.monotonic()
        exit_code, printed = run.end(timeout=30)
        result = run.result
        completed = result is not None and result.status == "completed"
        assert (exit_code == 0) == completed or exit_code < 0, (exit_code, printed, time.monotonic() - begun)
        check(run, killed_at)
        assert not completed or state_of(run.notebook, len(CELLS) - 1) == "done"


PRINT_MUCH = "for n in range({lines}): print('line', n, 'z' * 1000)"
FULL = ["print('first')", *[PRINT_MUCH.format(lines=100)] * 8, "print('last')"]


def check_full(run, exit_code, printed):
    result = run.result
    assert exit_code != 0 or result.status == "completed", printed
    if run.attempt.output.exists():
        nbformat.validate(nbformat.read(run.attempt.output, 4))
    if exit_code == 0:
        assert all(run.text(index).endswith("z\n") for index in range(1, 9)) and run.text(9) == "last\n"
    elif result is None:  # not even that could be written: its words are in the job's log
        assert "siflab: " in printed
        if run.attempt.journal.exists():
            recover_on_full_disk(run)
    else:
        assert (result.status, result.exit_code) == ("internal", 70), printed
        assert result.error.ename in ("DiskFull", "CannotWrite", "KernelDidNotStart"), printed


def recover_on_full_disk(run):
    try:
        recover(run.folder, 1)
    except OSError:
        return
    nbformat.validate(nbformat.read(run.attempt.output, 4))


def test_a_file_may_not_grow_beyond_any_size(make_run):
    chance = random.Random(SEED)
    for _ in range(max(KILLS // 6, 1)):
        limit = int(10 ** chance.uniform(3, 6.3))
        print(f"SIFLAB_SEED={SEED} at most {limit} bytes a file")
        run = make_run(*FULL, output_limit=chance.choice([20_000, 10_000_000]))
        run.start(preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        check_full(run, *run.end())


@pytest.fixture
def small_disk(tmp_path):
    """small_disk(bytes) -> a folder on a file system of that size."""
    mounted = []

    def make(folder, size):
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "siflab-test", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("a file system cannot be mounted here")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_is_full_at_any_byte(make_run, small_disk):
    chance = random.Random(SEED + 1)
    for _ in range(max(KILLS // 6, 1)):
        size = int(10 ** chance.uniform(4.5, 6.8))
        print(f"SIFLAB_SEED={SEED} a disk of {size} bytes")
        run = make_run(*FULL, output_limit=chance.choice([20_000, 10_000_000]))
        small_disk(run.folder / "attempts", size)
        check_full(run, *run.start().end())
        assert json.loads((run.folder / "input.ipynb").read_text())["nbformat"] == 4
