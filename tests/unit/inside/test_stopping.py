"""A run that is asked to stop saves its work, and the next attempt goes on, with real kernels."""

import json
import os
import signal

import pytest

from siflab.inside import AttemptFolder, checkpoint_files, read_result

pytestmark = pytest.mark.kernel

HOOKED = """
import time
from siflab import checkpoint
state = checkpoint.load() or {"n": 0}
print("from", state["n"])

@checkpoint.on_stop
def keep():
    print("kept", state["n"])
    checkpoint.save(state, step=state["n"])
"""
COUNT = """
while True:
    state["n"] += 1
    if state["n"] == 5: print("READY", flush=True)
    time.sleep(0.01)
"""


def send_when(run, text, number):
    run.await_text(text)
    os.kill(run.process.pid, number)
    return run.end(timeout=30)


@pytest.mark.parametrize("name", ["USR2", "USR1"])
def test_a_hook_is_called_when_the_warning_comes(make_run, name):
    run = make_run(HOOKED, COUNT, "print('never')", signal=name, warning_seconds=40).start()
    exit_code, printed = send_when(run, "READY", getattr(signal, f"SIG{name}"))
    result = run.result
    assert (exit_code, result.status, result.saved, result.resumable) == (5, "stopped", True, True), printed
    assert "its checkpoint was saved" in result.message["en"] and "time limit is near" in result.message["en"]
    assert run.states() == ["done", "stopped", "not run"]
    outputs = run.notebook["cells"][1]["outputs"]
    assert [o["output_type"] for o in outputs] == ["stream", "error", "stream"]
    assert outputs[1]["ename"] == "KeyboardInterrupt" and outputs[2]["text"].startswith("kept ")
    assert run.notebook["cells"][1]["execution_count"] == 2
    left = {path.name for path in run.attempt.folder.iterdir()}
    assert left.isdisjoint({"stop", "heeds-stop", "stop-answers"})
    kept = int(outputs[2]["text"].split()[1])
    os.environ["CHECKPOINT_DIR"] = str(run.attempt.checkpoints)
    try:
        assert [checkpoint_files.step_of(path) for path in checkpoint_files.saved()] == [kept]
    finally:
        del os.environ["CHECKPOINT_DIR"]

    run.start(number=2)
    second = AttemptFolder(run.folder, 2)
    while f"from {kept}" not in (second.journal.read_text() if second.journal.exists() else ""):
        assert run.process.poll() is None
    run.process.kill()
    run.process.wait()


def test_a_hook_that_fails_is_told(make_run):
    run = make_run("from siflab import checkpoint\n@checkpoint.on_stop\ndef f(): 1/0", "import time; print('READY'); time.sleep(60)").start()  # fmt: skip
    exit_code, _ = send_when(run, "READY", signal.SIGTERM)
    assert (exit_code, run.result.saved, run.result.resumable) == (5, False, False)
    assert "ZeroDivisionError" in run.text(1)


def test_a_last_cell_that_breaks_off_is_not_taken_for_the_end(make_run):
    asks = "from siflab import checkpoint\nimport time\nprint('READY', checkpoint.should_stop(), flush=True)\n"
    asks += "while not checkpoint.should_stop(): time.sleep(0.01)"
    run = make_run(asks).start()
    exit_code, _ = send_when(run, "READY", signal.SIGUSR2)
    assert (exit_code, run.result.status, run.result.cells_done, run.result.saved) == (5, "stopped", 1, True)


def test_code_of_the_old_habit_resumes(make_run):
    """It knows nothing of Siflab: a file in the working directory, which is the same in every attempt."""
    old = """
import os, pickle, time
n = pickle.load(open("checkpoint.pt", "rb")) if os.path.exists("checkpoint.pt") else 0
print("from", n)
while n < 20:
    n += 1
    pickle.dump(n, open("checkpoint.pt", "wb"))
    if n == 7:
        print("READY", flush=True); time.sleep(60)
"""
    run = make_run(old, "print('done')").start()
    exit_code, _ = send_when(run, "READY", signal.SIGUSR2)
    assert (exit_code, run.result.status, run.result.saved) == (5, "stopped", False)
    run.start(number=2).end()
    second = AttemptFolder(run.folder, 2)
    assert read_result(second).status == "completed"
    assert json.loads(second.output.read_text())["cells"][0]["outputs"][0]["text"] == "from 7\n"
