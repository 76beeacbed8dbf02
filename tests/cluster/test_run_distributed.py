"""The mode `distributed` on two nodes of the real cluster, two processes each, with torchrun and gloo; and scripts."""

import json
import os
from pathlib import Path

import pytest

from tests.cluster.hub import USERS, slurm
from tests.cluster.person import REPOSITORY, Person, site, texts, why_no_run

IMAGE = os.environ.get("SIFLAB_TEST_DEMO_IMAGE", "")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_no_run() is not None, reason=str(why_no_run())),
    pytest.mark.skipif(not IMAGE, reason="no image with torch: set SIFLAB_TEST_DEMO_IMAGE"),
]
TWO_BY_TWO = ("--profile", "torch", "--mode", "distributed", "--nodes", "2", "--processes", "2")


@pytest.fixture(scope="module")
def user1():
    data = site()
    data["images"]["torch"] = {"path": IMAGE, "title": "PyTorch", "python": "/opt/jupyter/bin/python3"}
    data["slurm"]["partitions"]["gpu-a100"] = {"environment": {"NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "eth0"}}
    data["profiles"]["torch"] = {
        "image": "torch", "title": "PyTorch", "partition": "gpu-a100", "gpus": 2, "gpu_type": "a100", "cpus": 2,
        "memory": "2G", "time": "0:30:00", "allow": {"nodes": {"min": 1, "max": 2}},
    }  # fmt: skip
    person = Person(USERS[0], data)
    yield person
    person.leave()


def log(run, rank):
    return (Path(run["folder"]) / "attempts" / "1" / "logs" / f"rank-{rank}.log").read_text("utf-8")


def test_a_ddp_training_on_two_nodes(user1):
    source = user1.file("ddp.ipynb", (REPOSITORY / "examples" / "ddp.ipynb").read_bytes())
    run = user1.promote(source, *TWO_BY_TWO, "-p", "epochs=3", "--wait")
    assert (run["state"], run["mode"], run["exit_code"]) == ("completed", "distributed", 0), user1.siflab(
        "logs", run["id"]
    ).stdout
    notebook = user1.output(run)
    assert "rank 0 of 4 on" in texts(notebook, 3) and "epoch 2: loss" in texts(notebook, 5)
    nodes = {log(run, rank).split(" of 4 on ")[1].split()[0] for rank in (1, 2, 3)}
    assert len(nodes) == 2, "ranks 2 and 3 are on the second node"
    assert {cell["metadata"]["siflab"]["status"] for cell in notebook["cells"] if cell["cell_type"] == "code"} == {
        "done"
    }
    saved = sorted(path.name for path in (Path(run["folder"]) / "checkpoints").glob("step-*.ckpt"))
    assert len(saved) == 3 and saved[-1].startswith("step-0000000002")
    script = (Path(run["folder"]) / "job.sh").read_text()
    assert "export NCCL_DEBUG=INFO" in script and "export NCCL_SOCKET_IFNAME=eth0" in script


def test_one_ranks_exception_ends_all_ranks(user1):
    source = user1.notebook(
        "fail.ipynb",
        "import torch, torch.distributed as dist\ndist.init_process_group('gloo')\nrank = dist.get_rank()",
        "x = torch.ones(1)\nif rank == 3:\n    raise ValueError('boom')\ndist.all_reduce(x)",
        "print('never')",
    )
    run = user1.promote(source, *TWO_BY_TWO, "--wait")
    assert (run["state"], run["exit_code"]) == ("failed", 1)
    assert (run["diagnosis"]["cause"], run["diagnosis"]["place"]["rank"]) == ("user_exception", 3)
    assert {name: run["error"][name] for name in ("ename", "rank", "cell_number", "line")} == {
        "ename": "ValueError", "rank": 3, "cell_number": 2, "line": 3,
    }  # fmt: skip
    assert "Rank 3, cell 2, line 3" in run["reason"]["en"]
    assert [cell["metadata"]["siflab"]["status"] for cell in user1.output(run)["cells"]] == [
        "done",
        "failed",
        "not run",
    ]


def test_a_script_on_two_nodes_of_which_the_second_runs_out_of_memory(user1):
    source = user1.file("ddp.py", (REPOSITORY / "examples" / "ddp.py").read_bytes())
    text = source.read_text().replace(
        "        if rank == 0:\n", "        if rank == 3:\n            os.kill(os.getpid(), 9)\n        if rank == 0:\n"
    )
    source.write_text(text)
    done = user1.siflab("promote", str(source), *TWO_BY_TWO, "--json", "--wait", "--", "--epochs", "3")
    run = json.loads(done.stdout)
    assert (run["kind"], run["state"], run["exit_code"]) == ("script", "failed", 3)
    assert (run["error"]["ename"], run["error"]["rank"]) == ("DeadProcess", 3)
    said = user1.siflab("logs", run["id"]).stdout
    assert "epoch 0: loss" in said and "Rank 3 was killed by SIGKILL" in said, "not that the first node was cancelled"
    assert "rank 3 of 4 on" in log(run, 3)


def test_the_warning_reaches_the_ranks_of_both_nodes_and_the_run_goes_on(user1):
    source = user1.notebook(
        "resume.ipynb",
        "import time, torch, torch.distributed as dist\nfrom siflab import checkpoint\ndist.init_process_group('gloo')\n"
        "state = checkpoint.load() or {'step': 0, 'starts': 0}\nstate['starts'] += 1\nprint('start', state['starts'])",
        "while state['starts'] < 2 and not checkpoint.should_stop():\n    state['step'] += 1\n    time.sleep(0.2)\n"
        "checkpoint.save(state, step=state['step'])\nprint('rank', dist.get_rank(), 'saved', state['step'])",
    )
    run = user1.promote(source, *TWO_BY_TWO, "--attempts", "2")
    user1.await_output(run["id"], "[2/2]")
    slurm("scancel", "--signal=USR2", "--batch", run["job_id"])
    run = user1.await_run(run["id"], lambda run: run["state"] == "pending")
    slurm("scontrol", "update", f"JobId={run['job_id']}", "StartTime=now")
    run = user1.await_end(run["id"])
    assert (run["state"], run["attempts"]) == ("completed", 2) and "start 2" in texts(user1.output(run), 0)
    assert all("saved" in log(run, rank) for rank in (1, 2, 3))


def test_a_script_with_arguments(user1):
    source = user1.file("train.py", b"import sys, os\nprint(sys.argv[1:], os.getcwd() == os.path.dirname(__file__))\n")
    done = user1.siflab("promote", str(source), "--profile", "cpu", "--json", "--wait", "--", "--epochs", "10", "a b")
    run = json.loads(done.stdout)
    assert (run["state"], run["kind"]) == ("completed", "script")
    assert "['--epochs', '10', 'a b'] True\n" in user1.siflab("logs", run["id"]).stdout


def test_a_sweep_of_a_script(user1):
    source = user1.file(
        "sweep.py", b"import sys, siflab\nrate = float(sys.argv[1].partition('=')[2])\nsiflab.record(loss=rate * 2)\n"
    )
    run = user1.promote(source, "--profile", "cpu", "--sweep", "rate=0.5,1.5", "--wait")
    assert run["points"] == {"completed": 2}
    table = json.loads(user1.siflab("points", run["id"], "--json").stdout)
    assert [point["values"] for point in table["points"]] == [{"loss": 1.0}, {"loss": 3.0}]
