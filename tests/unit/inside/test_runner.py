"""The runner with real kernels: few, since each takes two seconds to start."""

import os
import resource
import signal
import sys
import time
from pathlib import Path

import nbformat
import pytest

from siflab.inside import read_progress, recover
from siflab.inside.notebook import blank
from siflab.inside.outputs import Outputs

kernel = pytest.mark.kernel
PRINT_FOREVER = "import time, itertools\nprint('READY')\nfor n in itertools.count():\n    print('tick', n, flush=True); time.sleep(0.01)"

WHOLE = [
    "first_names = set(dir()); print('out'); import sys; print('err', file=sys.stderr); 1 + 1",
    "import ctypes, os; c = b'from C\\n' * 20_000; _ = ctypes.PyDLL(None).write(1, c, len(c)); sorted(n for n in first_names if not n.startswith('_'))",
    ("1/0", "skip-execution"),
    ("input('name? ')", "raises-exception"),
    "",
    "from IPython.display import display, clear_output\nh = display('a', display_id=True); h.update('b'); print('x'); clear_output(wait=True); print('y')",
    "import asyncio\ngo = asyncio.Event()\nasync def late():\n    await go.wait(); print('late')\ntask = asyncio.create_task(late())",
    "go.set(); await task; import siflab; siflab.record(loss=0.5); siflab.checkpoint.save({'a': 1}, 1); print('now')",
    "import ipywidgets\nb = ipywidgets.IntProgress(max=5); display(b)\nfor n in range(6): b.value = n\no = ipywidgets.Output(); display(o)\nwith o: print('captured')",
    "os.getcwd()",
    "def f():\n    return 1/0\n\nf()",
    "print('never')",
]


@kernel
def test_a_notebook_of_everything(make_run):
    run = make_run(*WHOLE, image={"id": "an-image"})
    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    exit_code, printed = run.start().end()
    result, notebook = run.result, run.notebook

    assert (exit_code, result.status, result.cells_total, result.cells_done) == (1, "failed", 12, 10), printed
    assert (result.error.ename, result.error.cell, result.error.cell_number, result.error.line) == (
        "ZeroDivisionError",
        10,
        11,
        2,
    )
    assert result.message["zh"].startswith("第 11 个单元格第 2 行") and result.message["en"] in printed
    assert run.states() == ["done", "done", "skipped", *["done"] * 7, "failed", "not run"]
    assert notebook["metadata"]["siflab"] == {
        "run": "r-1",
        "name": "a name",
        "attempt": 1,
        "status": "failed",
        "image": {"id": "an-image"},
    }
    nbformat.validate(nbformat.from_dict(notebook))

    outputs = [cell["outputs"] for cell in notebook["cells"]]
    shown = {
        index: o["data"]["text/plain"]
        for index, each in enumerate(outputs)
        for o in each
        if o["output_type"] == "execute_result"
    }
    assert (run.text(0), shown[0]) == ("out\nerr\n", "2")
    assert (run.text(1), shown[1]) == (
        "from C\n" * 20_000,
        "['In', 'Out', 'exit', 'get_ipython', 'open', 'quit']",
    )  # nothing of ours
    assert outputs[3][0]["ename"] == "StdinNotImplementedError"
    assert outputs[5] == [{"output_type": "stream", "name": "stdout", "text": "y\n"}]
    assert (run.text(6), run.text(7)) == ("late\n", "now\n")  # a task's output goes to the cell that began it
    assert shown[9] == repr(str(run.folder))
    widgets = notebook["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"].values()
    assert [w["state"]["value"] for w in widgets if w["model_name"] == "IntProgressModel"] == [5]
    assert [w["state"]["outputs"][0]["text"] for w in widgets if w["model_name"] == "OutputModel"] == ["captured\n"]

    # the journal holds all of it
    replayed = nbformat.from_dict(notebook)
    blank(replayed)
    again = Outputs(replayed)
    for record in run.records:
        again.apply(record)
    again.settle()
    assert [cell["outputs"] for cell in replayed["cells"]][:7] == outputs[:7]
    assert replayed["metadata"]["widgets"] == notebook["metadata"]["widgets"]
    assert [cell["metadata"] for cell in replayed["cells"]] == [cell["metadata"] for cell in notebook["cells"]]

    # what lies there, and what does not
    assert {path.name for path in run.attempt.folder.iterdir()} == {
        "facts.json", "logs", "metrics.jsonl", "output.ipynb", "outputs.jsonl", "progress.json", "result.json",
        "usage.json", "usage.jsonl"}  # fmt: skip
    assert (read_progress(run.attempt).phase, read_progress(run.attempt).cells_done) == ("finished", 10)
    log = run.attempt.run_log.read_text("utf-8")
    assert "──── [1/12] " in log and "Cell In[9], line 2, in f()" in log and "\x1b" not in log
    assert {name: (run.folder / name).read_bytes() for name in before} == before

    # an attempt is made once
    assert run.start().end()[0] == 70 and run.notebook == notebook


@kernel
def test_a_killed_kernel_is_told_with_its_cell(make_run):
    run = make_run("print(1)", "import os, time\nprint('before')\ntime.sleep(0.1)\nos.kill(os.getpid(), 9)", "print(3)")
    exit_code, printed = run.start().end()
    assert (exit_code, run.result.status, run.result.signal, run.result.error.cell_number) == (3, "dead_kernel", 9, 2)
    log = run.attempt.run_log.read_text("utf-8") + printed  # a job's are one file
    assert [log.count(run.result.message[language]) for language in ("en", "zh")] == [1, 1]
    assert run.states() == ["done", "killed", "not run"]
    assert run.text(1) == "before\n" and run.notebook["cells"][1]["outputs"][-1]["ename"] == "DeadKernel"


@kernel
def test_a_cancelled_run_keeps_the_running_cells_output(make_run, await_end):
    run = make_run("print(1)", PRINT_FOREVER, "print(3)").start()
    run.await_text("tick 3")
    kernel_pid = run.kernel()
    for pid in (kernel_pid, run.process.pid):  # Slurm signals every process of a step
        os.kill(pid, signal.SIGTERM)
    exit_code, _ = run.end(timeout=20)
    assert (exit_code, run.result.status, run.result.signal) == (5, "stopped", signal.SIGTERM)
    assert run.states() == ["done", "stopped", "not run"] and "tick 3" in run.text(1)
    assert run.notebook["cells"][1]["outputs"][-1]["ename"] == "KeyboardInterrupt"  # the kernel outlived the signal
    await_end(kernel_pid)


@kernel
def test_a_notebook_that_asks_may_end_its_cell_by_itself(make_run):
    waits = "from siflab import checkpoint\nimport time\nprint('READY', checkpoint.stop_requested(), flush=True)\n"
    waits += "while not checkpoint.stop_requested(): time.sleep(0.01)\nprint('saved')"
    run = make_run(waits, "print(2)").start()
    run.await_text("READY False")
    os.kill(run.process.pid, signal.SIGUSR2)
    exit_code, _ = run.end(timeout=20)
    assert (exit_code, run.result.status, run.result.signal, run.text(0)) == (
        5,
        "stopped",
        signal.SIGUSR2,
        "READY False\nsaved\n",
    )
    assert run.states() == ["done", "not run"]


@kernel
def test_a_killed_runner_leaves_a_valid_notebook_and_no_kernel(make_run, await_end):
    # it holds the interpreter's lock, so that no thread of the kernel can look after its parent
    run = make_run(
        "print(1)", "import ctypes, time\nprint('READY'); time.sleep(0.1)\nctypes.PyDLL(None).sleep(60)"
    ).start()
    run.await_text("READY")
    nbformat.validate(nbformat.read(run.attempt.output, 4))
    kernel_pid = run.kernel()
    run.process.kill()
    run.process.wait()
    await_end(kernel_pid)
    assert run.result is None
    found = recover(run.folder, 1)
    assert (found.status, found.cell_number, run.states()) == ("killed", 2, ["done", "killed"])
    assert run.text(1) == "READY\n"
    nbformat.validate(nbformat.read(run.attempt.output, 4))


@kernel
def test_a_full_disk_is_told_and_leaves_the_last_notebook_that_fitted(make_run):
    limit = (1_500_000, 1_500_000)
    run = make_run("print(1)", "for n in range(400): print('z' * 10_000)", "print('end')")
    run.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    exit_code, printed = run.end()
    assert (exit_code, run.result.status, run.result.error.ename) == (70, "internal", "DiskFull"), printed
    assert "output.ipynb" in run.result.message["en"] and run.result.message["zh"] in printed
    nbformat.validate(nbformat.read(run.attempt.output, 4))
    assert not list(run.attempt.folder.glob(".*"))


@kernel
def test_a_runner_that_cannot_read_for_a_while_loses_nothing(make_run):
    count = 3500  # more than ZeroMQ keeps: it would drop the rest, and the cell's end with it
    run = make_run(
        f"from IPython.display import display\nprint('READY', flush=True)\nfor n in range({count}): display(n)"
    ).start()
    run.await_text("READY")
    kernel_pid = run.kernel()
    os.kill(run.process.pid, signal.SIGSTOP)
    await_idle(kernel_pid)
    os.kill(run.process.pid, signal.SIGCONT)
    assert run.end()[0] == 0
    shown = [o["data"]["text/plain"] for o in run.notebook["cells"][0]["outputs"] if o["output_type"] == "display_data"]
    assert shown == [str(n) for n in range(count)]


def await_idle(pid, quiet=0.4):
    """Until a process has used no processor time for `quiet` seconds."""
    spent, since = None, time.monotonic()
    while time.monotonic() - since < quiet:
        now = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        if now != spent:
            spent, since = now, time.monotonic()
        time.sleep(0.02)


NOT_RUN = [
    # what is wrong, the name of the error, what is said
    ({"kernel": "julia-1.9"}, "NoSuchKernel", "no kernel named 'julia-1.9'; it has: "),
    ({"workdir": "/nowhere/at/all"}, "WorkdirMissing", "/nowhere/at/all"),
]


@pytest.mark.parametrize(("request_", "ename", "said"), NOT_RUN)
def test_what_cannot_be_run_is_told(make_run, request_, ename, said):
    run = make_run("print(1)", **request_)
    exit_code, printed = run.start().end()
    assert (exit_code, run.result.status, run.result.error.ename) == (70, "internal", ename), printed
    assert said in run.result.message["en"] and said.split(";")[0].split("'")[-1] in run.result.message["zh"]
    assert run.states() == ["not run"]


def test_an_image_without_nbclient_is_told(make_run):
    run = make_run("print(1)")
    exit_code, _ = run.start(python=(sys.executable, "-S")).end()
    assert (exit_code, run.result.error.ename) == (70, "ImageIncomplete")
    assert "needs nbclient and ipykernel" in run.result.message["en"]


@pytest.mark.parametrize(("name", "text"), [("input.ipynb", "{"), ("request.json", "[")])
def test_a_broken_run_folder_is_told(make_run, name, text):
    run = make_run("print(1)")
    (run.folder / name).write_text(text)
    exit_code, _ = run.start().end()
    assert (exit_code, run.result.error.ename) == (70, "BadNotebook")
    assert name in run.result.message["en"] and not run.attempt.output.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--run"),
        (["--run", "/nowhere", "--attempt", "1"], "/nowhere"),
        (["--run", "/", "--attempt", "0"], "from 1"),
    ],
)
def test_wrong_arguments_are_told(arguments, said, capsys):
    from siflab.inside.__main__ import main

    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2 and said in capsys.readouterr().err


@kernel
def test_the_hello_example_runs(make_run):
    run = make_run("")
    example = Path(__file__).parents[3] / "examples" / "hello.ipynb"
    (run.folder / "input.ipynb").write_bytes(example.read_bytes())
    exit_code, printed = run.start().end()
    assert (exit_code, run.result.status, run.result.cells_done) == (0, "completed", 5), printed
    code = [cell for cell in run.notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["metadata"]["siflab"]["status"] for cell in code] == ["done", "done", "done", "skipped", "done"]
    assert code[1]["outputs"][0]["text"].startswith("Hello, world!\n")
    assert code[4]["outputs"][0]["data"]["text/plain"] == "55"


MANY_QUESTIONS = """
import runpy, sys
from jupyter_client.asynchronous import AsyncKernelClient as Client
asked, times = Client.kernel_info, int(sys.argv[1])
def once_many(self):
    Client.kernel_info = asked
    return [asked(self) for _ in range(times)][-1]
Client.kernel_info = once_many
del sys.argv[:2]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("questions", [9, 11, 300])
def test_a_kernel_that_was_slow_to_answer_is_read_to_the_end(make_run, questions):
    """It is asked every second until it answers, and tells of each question twice: all read before ZeroMQ's limits on
    messages are lowered, which must not count them as unread for ever."""
    cells = ["for i in range(2000): print(i, flush=True)", "print('end')"]
    code, printed = make_run(*cells).start(python=(sys.executable, "-c", MANY_QUESTIONS, str(questions))).end()
    assert code == 0, printed
