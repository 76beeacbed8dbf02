"""The processes of a distributed run: what they print, how they end, and what is made of it. torchrun is a stand-in here;
tests/cluster/test_run_distributed.py has the real one."""

import json
import re
import signal
import time

import pytest

from tests.unit.inside.conftest import is_gone
from tests.unit.inside.distributed import Distributed, end_all

TOGETHER = "import pathlib, time\nready = pathlib.Path('ready')\nrank or ready.touch()\nwhile not ready.exists():\n    time.sleep(0.01)\n"
RANK = "import os\nrank = int(os.environ['RANK'])\nprint('I am', rank)"


@pytest.fixture
def distributed(make_run):
    made = []

    def make(*cells, nodes=1, **request):
        run = make_run(*cells, mode="distributed", nodes=nodes, processes=2, **request)
        made.append(Distributed(run.folder, run.temporary, nodes))
        return made[-1]

    yield make
    end_all(made)


def test_every_rank_runs_the_cells_and_the_first_ones_outputs_are_the_notebooks(distributed):
    run = distributed(
        RANK,
        "%time x = 1\n!echo from a shell\nx + rank",
        "import asyncio\nawait asyncio.sleep(0)\nfrom IPython.display import display\nshown = display('a', display_id='d')\n"
        "shown.update('b')",
        "class Items:\n    def __call__(self, i):\n        print('worker', i, flush=True)\n        return i * 10\n"
        "import multiprocessing\nwith multiprocessing.Pool(2) as pool:\n    found = pool.map(Items(), [1, 2])\nfound",
        "import siflab, os\nsiflab.record(loss=rank)\nos.write(1, b'past Python\\n')\nprint(os.environ['CHECKPOINT_DIR'])",
        nodes=2,
    ).start()
    assert run.end() == 0 and run.codes == [0, 0], run.log()
    assert run.states() == ["done"] * 5
    assert run.text(0) == "I am 0\n" and "from a shell" in run.text(1) and run.text(1).endswith("1")
    assert [output["data"]["text/plain"] for output in run.notebook["cells"][2]["outputs"]] == ["'b'"]
    assert "worker 1" in run.text(3) and run.text(3).endswith("[10, 20]"), "workers find what cells define"
    assert "past Python" in run.text(4) and f"{run.folder}/checkpoints" in run.text(4)
    assert "I am 3" in run.log(3) and "past Python" in run.log(3) and "I am 3" not in run.log(0)
    assert (run.result.status, run.result.cells_done, run.result.cells_total) == ("completed", 5, 5)
    used = [json.loads((run.attempt.folder / f"usage{node}.json").read_text()) for node in ("", "-1")]
    assert all(used), "each node sampled what it used"
    lines = [json.loads(line) for line in run.attempt.metrics.read_text().splitlines()]
    assert sorted((line["rank"], line["values"]["loss"]) for line in lines) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_much_output_goes_to_a_file(distributed):
    run = distributed(
        RANK,
        "print('\\n'.join(f'line {i}' for i in range(3000)))\nprint('the end')",
        output_limit=5000,
    ).start()
    assert run.end() == 0, run.log()
    head, note, tail = run.notebook["cells"][1]["outputs"]
    assert "logs/cell-2.txt" in note["data"]["text/plain"] and tail["text"].endswith("the end\n")
    assert (run.attempt.folder / "logs" / "cell-2.txt").read_text().count("line ") == 3000 and len(head["text"]) < 5000


def test_one_ranks_exception_ends_all_and_is_shown_with_its_place(distributed):
    both = "import time\nif rank == 0:\n    open('here', 'w').close()\nwhile not os.path.exists('here'):\n    time.sleep(0.02)\n"
    run = distributed(RANK, both + "if rank == 1:\n    raise ValueError('boom')\ntime.sleep(600)", "1").start()
    assert run.end() == 1
    error = run.result.error
    assert (run.result.status, error.rank, error.cell, error.cell_number, error.line) == ("failed", 1, 1, 2, 7)
    assert "Rank 1, cell 2, line 7: ValueError: boom" in run.result.message["en"]
    assert run.states() == ["done", "failed", "not run"] and run.result.cells_done == 1
    assert "boom" in json.dumps(run.notebook["cells"][1]["outputs"]), (
        "the notebook shows it, though it was another rank"
    )
    assert "ValueError" in run.log(1)


def test_the_first_rank_s_own_error_is_said_once(distributed):
    run = distributed(RANK, "if rank == 0:\n    raise KeyError('x')\nimport time\ntime.sleep(600)").start()
    assert run.end() == 1 and (run.result.error.rank, run.result.error.line) == (0, 2)
    errors = [output for output in run.notebook["cells"][1]["outputs"] if output["output_type"] == "error"]
    assert [error["ename"] for error in errors] == ["KeyError"]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed_is_named(distributed, rank):
    run = distributed(RANK, TOGETHER + f"if rank == {rank}:\n    os.kill(os.getpid(), 9)\ntime.sleep(600)").start()
    assert run.end() == 3
    assert (run.result.status, run.result.signal, run.result.error.rank) == ("dead_kernel", 9, rank)
    assert f"Rank {rank} was killed by SIGKILL" in run.result.message["en"] and "memory" in run.result.message["en"]
    assert run.states()[0] == "done" and "I am 0" in run.text(0), "what was there is kept"


def test_a_rank_that_is_killed_on_another_node_is_the_cause(distributed):
    """srun --kill-on-bad-exit=1 sends SIGTERM to the other nodes, the first among them, when a node fails."""
    run = distributed(RANK, "import time\nif rank == 3:\n    os.kill(os.getpid(), 9)\ntime.sleep(600)", nodes=2).start()
    assert run.processes[1].wait(60) != 0
    run.processes[0].send_signal(signal.SIGTERM)
    assert run.end() == 3
    assert (run.result.status, run.result.signal, run.result.error.rank) == ("dead_kernel", 9, 3)


def test_a_torchrun_that_starts_nothing_is_told_of(distributed):
    run = distributed(RANK).start(torchrun=["-c", "import sys; sys.exit('No module named torch')"])
    assert run.end() == 70
    assert run.result.error.ename == "LauncherFailed" and "No module named torch" in run.result.message["en"]


BUSY = "import time\nfor i in range(6000):\n    print('step', i)\n    time.sleep(0.05)"
ASKING = (
    "import time\nfrom siflab import checkpoint\ni = 0\nwhile not checkpoint.should_stop():\n    i += 1\n    print('step', i)\n"
    "    time.sleep(0.05)\ncheckpoint.save({'i': i}, step=i)\nprint('saved', rank)"
)


@pytest.mark.parametrize(("cell", "saved"), [(BUSY, False), (ASKING, True)], ids=["interrupted", "asking"])
def test_a_warning_reaches_every_rank(distributed, cell, saved):
    run = distributed(RANK, cell, "print('never')", nodes=2).start()
    for rank in range(4):
        run.await_log("step 5", rank)
    run.send(signal.SIGUSR2)
    assert run.end() == 5, run.log()
    assert (run.result.status, run.result.signal, run.result.saved) == ("stopped", signal.SIGUSR2, saved)
    assert run.states()[2] == "not run" and "step 5\n" in run.text(1)
    assert bool(list((run.folder / "checkpoints").glob("step-*"))) == saved if saved else True
    if saved:
        assert all(f"saved {rank}" in run.log(rank) for rank in range(4))


def test_a_node_whose_ranks_are_done_waits_for_one_that_still_saves(distributed):
    saving = (
        "import time\nfrom siflab import checkpoint\nprint('ready')\nwhile not checkpoint.should_stop():\n    time.sleep(0.05)\n"
        "if rank == 0:\n    time.sleep(3)\n    checkpoint.save(1, step=1)\n    print('saved')"
    )
    run = distributed(RANK, saving, nodes=2).start()
    for rank in range(4):
        run.await_log("ready", rank)
    run.send(signal.SIGUSR2)
    assert run.end() == 5 and run.codes == [5, 0], "a node that fails would have the first one ended by srun"
    assert run.result.saved and "saved" in run.text(1)


def test_a_torchrun_that_waits_for_a_node_that_failed_is_ended(distributed):
    run = distributed(RANK, TOGETHER + "time.sleep(600 if rank < 2 else 0)\nassert rank != 3, 'boom'", nodes=2).start()
    assert run.processes[1].wait(60) == 1
    run.processes[0].send_signal(signal.SIGTERM)
    assert run.end() == 1 and run.result.error.rank == 3


def test_an_interrupt_tears_nothing_of_the_runner_s_own(distributed):
    """A cell that prints all the time is most likely to be hit while what it prints is being written."""
    run = distributed(RANK, "import itertools\nfor i in itertools.count():\n    print(f'step {i}')", "1").start()
    for rank in (0, 1):
        run.await_log("step 300\n", rank)
    run.send(signal.SIGTERM)
    assert run.end() == 5 and run.states() == ["done", "stopped", "not run"]
    steps = [line for line in run.text(1).splitlines() if line.startswith("step")]
    assert steps[:-1] == [f"step {i}" for i in range(len(steps) - 1)]  # the last may lack its end: print writes twice
    for rank in (0, 1):
        assert "KeyboardInterrupt" in run.log(rank) and "rank_output" not in run.log(rank), "nor shows it"


def test_a_rank_that_cannot_be_interrupted_is_left(distributed):
    """As one that waits in a collective for a peer that is gone."""
    blocked = (
        "import signal, time\nprint('blocked', flush=True)\nend = time.monotonic() + 600\n"
        "while time.monotonic() < end:\n    try:\n        time.sleep(1)\n    except KeyboardInterrupt:\n        pass"
    )
    run = distributed(RANK, blocked).start()
    run.await_log("blocked")
    run.await_log("blocked", 1)
    run.send(signal.SIGTERM)
    assert run.end() == 5
    assert run.result.status == "stopped" and run.states() == ["done", "stopped"] and "blocked" in run.text(1)


def test_no_rank_outlives_its_node(distributed):
    run = distributed(RANK + "\nprint('pid', os.getpid())", "import time\ntime.sleep(600)").start()
    run.await_log("[2/2]")
    run.await_log("[2/2]", 1)
    pids = [int(re.search(r"pid (\d+)", run.log(rank))[1]) for rank in (0, 1)]
    run.processes[0].kill()
    run.processes[0].wait()
    deadline = time.monotonic() + 20
    while not all(map(is_gone, pids)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert json.loads(run.attempt.output.read_text())["cells"], "and the notebook is valid"
