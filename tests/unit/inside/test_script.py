"""A run of a script: where it runs, how it ends, and what it does when it is asked to stop."""

import signal

import pytest

from siflab.inside import read_progress
from tests.unit.inside.distributed import end_all, make_script


@pytest.fixture
def script(make_run):
    made = []

    def make(source, **request):
        made.append(make_script(make_run("1", kind="script", **request), source))
        return made[-1]

    yield make
    end_all(made)


def test_a_script_runs_where_its_source_is(script):
    source = (
        "import os, sys, beside\nprint(sys.argv[1:], os.getcwd() == os.path.dirname(__file__), beside.VALUE, __name__)"
    )
    run = script(source, arguments=["--epochs", "10", "a b"]).start(torch=False)
    assert run.end() == 0, run.log()
    assert "['--epochs', '10', 'a b'] True 7 __main__\n" in run.log()
    assert run.result.status == "completed" and read_progress(run.attempt).phase == "finished"


@pytest.mark.parametrize(
    ("source", "code", "status", "line", "said"),
    [
        ("x = 1\ndef f():\n    raise ValueError('boom')\nf()", 1, "failed", 3, "Line 3: ValueError: boom"),
        ("x = (", 1, "failed", 1, "SyntaxError"),
        ("import sys\nsys.exit('no data')", 1, "failed", None, "exit code 1"),
        ("import sys\nsys.exit(7)", 1, "failed", None, "exit code 7"),
        ("import sys\nsys.exit(0)", 0, "completed", None, ""),
        ("import os\nos.kill(os.getpid(), 9)", 3, "dead_kernel", None, "killed by SIGKILL"),
        ("import os\nos._exit(3)", 3, "dead_kernel", None, "exit code 3"),
        ("import os\nos._exit(0)", 0, "completed", None, ""),
    ],
)
def test_how_a_script_ends(script, source, code, status, line, said):
    run = script(source).start(torch=False)
    assert run.end() == code, run.log()
    assert run.result.status == status and said in (run.result.message or {"en": ""})["en"]
    assert (run.result.error.line if run.result.error else None) == line
    if line == 3:
        assert "ValueError: boom" in run.log() and "runner.pyz" not in run.log().split("Traceback")[1]


def test_a_script_is_warned_and_may_save(script):
    source = (
        "import signal, sys, time\nfrom siflab import checkpoint\nprint('ready', flush=True)\n"
        "while not checkpoint.should_stop():\n    time.sleep(0.05)\ncheckpoint.save({'x': 1}, step=1)\nprint('saved')"
    )
    run = script(source).start(torch=False)
    run.await_log("ready")
    run.send(signal.SIGUSR2)
    assert run.end() == 5
    assert (run.result.status, run.result.saved, run.result.resumable) == ("stopped", True, True)


def test_a_script_that_pays_no_attention_is_ended(script):
    run = script("import time\nprint('ready', flush=True)\ntime.sleep(600)", warning_seconds=1).start(torch=False)
    run.await_log("ready")
    run.send(signal.SIGTERM)
    assert run.end() == 5 and run.result.status == "stopped"


def test_distributed_scripts(script):
    source = (
        "import os, pathlib, time\nrank = int(os.environ['RANK'])\nprint('rank', rank)\nready = pathlib.Path('ready')\n"
        "rank or ready.touch()\nwhile not ready.exists():\n    time.sleep(0.01)\nassert rank != 1, 'boom'"
    )
    run = script(source, mode="distributed", nodes=1, processes=2).start()
    assert run.end() == 1
    assert (run.result.error.rank, run.result.error.line) == (
        1,
        8,
    ) and "Rank 1, line 8: AssertionError" in run.result.message["en"]
    assert "rank 0" in run.log(0) and "rank 1" in run.log(1)


def test_the_snapshot_runs_in_all_processes_and_is_shown(script):
    """The source has been edited meanwhile."""
    run = script(
        "import multiprocessing\ndef f(x):\n    return x * 10\nif __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        print(pool.map(f, [1, 2]))\n"
        "    raise ValueError  # of the snapshot"
    ).start(torch=False)
    assert run.end() == 1
    assert "[10, 20]\n" in run.log() and "raise ValueError  # of the snapshot" in run.log()


@pytest.mark.parametrize("ends", ["sys.exit(0)", "sys.exit(143)", "raise KeyboardInterrupt"])
@pytest.mark.parametrize("number", [signal.SIGUSR2, signal.SIGTERM])
def test_a_script_s_own_handler_is_heard_to_stop(script, number, ends):
    source = (
        "import os, pathlib, signal, sys, time\ndef on_signal(number, frame):\n"
        "    pathlib.Path(os.environ['CHECKPOINT_DIR'], 'mine').write_text('x')\n    ENDS\n"
        "pathlib.Path(os.environ['CHECKPOINT_DIR']).mkdir()\n"
        "signal.signal(NUMBER, on_signal)\nprint('ready')\ntime.sleep(600)"
    )
    run = script(source.replace("ENDS", ends).replace("NUMBER", str(int(number)))).start(torch=False)
    run.await_log("ready")
    run.send(number)
    assert run.end() == 5, run.log()
    assert (run.result.status, run.result.signal, run.result.saved) == ("stopped", number, True)
    assert "cells" not in run.result.message["en"] and "单元格" not in run.result.message["zh"]


def test_what_a_script_does_with_a_stop_is_no_excuse_for_its_error(script):
    source = (
        "import signal, time\ndef on_signal(number, frame):\n    raise ValueError('not saved')\n"
        "signal.signal(signal.SIGUSR2, on_signal)\nprint('ready')\ntime.sleep(600)"
    )
    run = script(source).start(torch=False)
    run.await_log("ready")
    run.send(signal.SIGUSR2)
    assert run.end() == 1 and run.result.error.ename == "ValueError"


@pytest.mark.parametrize("number", [signal.SIGUSR2, signal.SIGTERM])
def test_a_script_s_hook_is_called(script, number):
    source = (
        "import time\nfrom siflab import checkpoint\n@checkpoint.on_stop\ndef save():\n    print('hook')\n"
        "    checkpoint.save(1, step=1)\nprint('ready')\ntime.sleep(600)"
    )
    run = script(source).start(torch=False)
    run.await_log("ready")
    run.send(number)
    assert run.end() == 5
    assert "hook\n" in run.log() and (run.result.status, run.result.saved) == ("stopped", True)


def test_a_script_that_knows_of_no_warning_runs_on(script):
    source = "import pathlib, time\nprint('ready')\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.02)\nprint('done')"
    run = script(source).start(torch=False)
    run.await_log("ready")
    run.send(signal.SIGUSR2)
    run.await_log("signal 12")
    (run.folder / "src" / "go").touch()
    assert run.end() == 0 and "done" in run.log()
