"""The job script of each mode: golden files, and what they do where Slurm's commands only take notes."""

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from siflab.script.run import render_run
from tests.unit.others_folders import HOW, give_away
from tests.unit.script.test_run_script import PLAN, Job

BEGUN = """while [ "$1" != --run ]; do shift; done
place=$2; [ "$5" = --point ] && place=$2/points/$6
echo "{}" > "$place/attempts/$4/progress.json\""""
"""The runner in the step has begun to write."""
GOLDEN = Path(__file__).with_name("golden")
FOLDER = "/home/user1/siflab-runs/20261201-031112_ddp-training_abcdefg2"
CLASSIC = dataclasses.replace(
    PLAN,
    title="ddp-training",
    source="/home/user1/ddp-training.ipynb",
    mode="distributed",
    processes=4,
    attempts=3,
    resources=dataclasses.replace(
        PLAN.resources, nodes=2, gpus=4, cpus=32, memory_mib=128 * 1024, account=None, qos=None, reservation=None
    ),
    environment={"NCCL_DEBUG": "INFO", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
)
SWEEP = dataclasses.replace(PLAN, mode="sweep", points=100, at_once=8, attempts=2)
PLANS = {
    "run_distributed": CLASSIC,
    "run_sweep": SWEEP,
    "run_scratch_follow_up": dataclasses.replace(
        PLAN, attempts=5, signal="USR1", requeue="follow-up", scratch=("/scratch/user1/x y", "/tmpdata/user1/x y")
    ),
    "run_sweep_follow_up": dataclasses.replace(SWEEP, requeue="follow-up", at_once=None),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_golden_file(name):
    """To renew them: SIFLAB_RENEW_GOLDEN=1 pytest tests/unit/script"""
    script, golden = render_run(PLANS[name]), GOLDEN / f"{name}.sh"
    if os.environ.get("SIFLAB_RENEW_GOLDEN"):
        golden.write_text(script, "utf-8")
    assert script == golden.read_text("utf-8")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("name", PLANS)
def test_shellcheck_has_nothing_to_say(name):
    done = subprocess.run(
        ["shellcheck", "-s", "bash", "-"], input=render_run(PLANS[name]), capture_output=True, text=True
    )
    assert done.stdout == ""


def test_the_classic_request():
    """What people write by hand today for two nodes of four A100s."""
    script = render_run(CLASSIC)
    for line in (
        "#SBATCH --job-name=ddp-training", "#SBATCH --partition=gpu-a100", "#SBATCH --nodes=2", "#SBATCH --gres=gpu:a100:4",
        "#SBATCH --ntasks-per-node=1", "#SBATCH --cpus-per-task=32", "#SBATCH --mem=128G", "#SBATCH --time=12:00:00",
        f"#SBATCH --output={FOLDER}/%x-%j.out", "#SBATCH --open-mode=append", "#SBATCH --requeue",
        "#SBATCH --signal=B:USR2@60", "  export NCCL_DEBUG=INFO", "    --nv",
        "  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    ):  # fmt: skip
        assert f"{line}\n" in script, line
    assert "|| echo localhost" not in script and "29500" not in script


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path)
    made.program("scontrol", _SCONTROL)
    made.program("getent", 'echo "127.0.0.2 STREAM gpu01"')
    made.program("srun", f'printf "%s\\n" "$@" > "$NOTES/argv"; env > "$NOTES/env"; {BEGUN}')
    yield made
    assert not list(tmp_path.rglob("pwned"))


_SCONTROL = """echo "scontrol $*" >> "$NOTES/said"
case $1 in
  show) echo gpu01; echo gpu02 ;;
  --oneliner) echo "NodeName=gpu01 Arch=x86_64 NodeAddr=127.0.0.2 NodeHostName=x" ;;
  requeue) [ -e "$NOTES/no-requeue" ] && { echo "Requested operation is presently disabled"; exit 1; }
    kill -TERM "$(ps -o ppid= -p "$PPID" | tr -d ' ')" ;; # the job; its subshell is our parent
esac"""
NODES = {"SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "gpu[01-02]"}


def test_the_nodes_meet_at_the_first_of_them(job):
    plan = dataclasses.replace(CLASSIC, processes=2)
    assert job.wait(job.start(plan, SLURM_JOB_ID="12345", **NODES)) == 0
    argv = (job.folder / "argv").read_text().splitlines()
    assert argv[:2] == ["--nodes=2", "--ntasks-per-node=1"] and "--node" in argv
    torchrun = argv[argv.index("--") + 1 :]
    assert torchrun == [
        "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=2", "--max-restarts=0", "--rdzv-backend=static",
        "--master-addr=127.0.0.2", "--master-port=22345", "--rdzv-id=12345-0",
    ]  # fmt: skip
    env = (job.folder / "env").read_text()
    assert "OMP_NUM_THREADS=16\n" in env and f"CHECKPOINT_DIR={job.run}/checkpoints\n" in env


def test_a_port_that_somebody_has_is_passed_over(job):
    import socket

    job.program("getent", 'echo "127.0.0.1 STREAM gpu01"')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = taken.getsockname()[1]
        if not 20000 <= wanted < 30000:
            with socket.create_server(("127.0.0.1", 27511)):
                assert job.wait(job.start(CLASSIC, SLURM_JOB_ID="7511", **NODES)) == 0
            wanted = 27511
        else:
            assert job.wait(job.start(CLASSIC, SLURM_JOB_ID=str(wanted - 20000), **NODES)) == 0
    assert f"--master-port={wanted + 1}" in (job.folder / "argv").read_text().splitlines()


def test_a_first_node_that_nobody_knows_is_no_localhost(job):
    """R23"""
    job.program("getent", "exit 2")
    assert job.wait(job.start(CLASSIC, **NODES)) == 78
    assert '"problem": "no-rendezvous"' in (job.attempt() / "end.json").read_text()
    assert not (job.folder / "argv").exists()


@pytest.mark.parametrize(
    ("step", "result", "code"),
    [(143, 5, 5), (143, 1, 1), (143, None, 76), (1, 0, 1), (0, 5, 0)],
)
def test_the_first_node_says_how_it_ended(job, step, result, code):
    """srun ends the others when the first has left, and tells how they went."""
    text = (
        ""
        if result is None
        else f'printf \'{{\\n "status": "x",\\n "exit_code": {result},\\n "a": 1\\n}}\' > "$place/attempts/$4/result.json"'
    )
    job.program("srun", f"{BEGUN}\n{text}\nexit {step}")
    assert job.wait(job.start(CLASSIC, **NODES)) == code


def test_each_point_has_a_folder_of_its_own(job):
    for task in ("0", "7"):
        array = {"SLURM_ARRAY_JOB_ID": "50", "SLURM_ARRAY_TASK_ID": task}
        assert job.wait(job.start(SWEEP, **array)) == 0
    argv = (job.folder / "argv").read_text().splitlines()
    assert argv[-2:] == ["--point", "7"]
    assert (job.run / "points" / "0" / "attempts" / "1" / "end.json").exists()
    assert f"CHECKPOINT_DIR={job.run}/points/7/checkpoints\n" in (job.folder / "env").read_text()


def test_an_array_script_outside_of_an_array_says_so(job):
    assert job.wait(job.start(SWEEP)) != 0
    assert "job array" in job.said


WARNED = f"trap 'exit 5' USR2 USR1; {BEGUN}; echo ready > \"$NOTES/ready\"; while :; do sleep 0.05; done"


def stopped(job, plan, name="USR2", **environment):
    """The job is warned, and its step saves and ends with exit code 5."""
    job.program("srun", WARNED)
    os.mkfifo(job.folder / "ready")
    process = job.start(plan, **environment)
    (job.folder / "ready").read_text()
    subprocess.run(["bash", "-c", f"kill -s {name} {process.pid}"], check=True)
    code = job.wait(process)
    (job.folder / "ready").unlink()
    said = job.folder / "said"
    return code, said.read_text() if said.exists() else ""


AGAIN = dataclasses.replace(PLAN, attempts=3)


@pytest.mark.parametrize(
    ("plan", "environment", "requeued"),
    [
        (AGAIN, {}, "scontrol requeue 7\n"),
        (AGAIN, {"SLURM_RESTART_COUNT": "1"}, "scontrol requeue 7\n"),
        (AGAIN, {"SLURM_RESTART_COUNT": "2"}, ""),  # the third start of three
        (PLAN, {}, ""),  # one attempt was asked for
    ],
)
def test_after_the_warning_it_goes_on_in_another_attempt(job, plan, environment, requeued):
    code, said = stopped(job, plan, **environment)
    assert (code, said) == (5, requeued)
    (end,) = job.run.glob("attempts/*/end.json")
    assert f'"problem": "{"goes-on" if requeued else ""}"' in end.read_text()


def test_a_point_is_requeued_alone(job):
    """R25: the job id alone would requeue the whole array."""
    array = {"SLURM_ARRAY_JOB_ID": "50", "SLURM_ARRAY_TASK_ID": "3", "SLURM_JOB_ID": "54"}
    code, said = stopped(job, dataclasses.replace(SWEEP, attempts=2), **array)
    assert (code, said) == (5, "scontrol requeue 50_3\n")


@pytest.mark.parametrize("signals", [("TERM",), ("USR2", "TERM")], ids="-".join)
def test_a_cancelled_run_is_not_requeued(job, signals):
    answers = "trap 'echo warned > \"$NOTES/ready\"' USR2; trap 'exit 5' TERM"
    job.program("srun", f'{answers}; {BEGUN}; echo ready > "$NOTES/ready"; while :; do sleep 0.05; done')
    os.mkfifo(job.folder / "ready")
    process = job.start(AGAIN)
    for name in signals:
        (job.folder / "ready").read_text()
        subprocess.run(["bash", "-c", f"kill -s {name} {process.pid}"], check=True)
    assert job.wait(process) == 5
    assert not (job.folder / "said").exists()


@pytest.mark.parametrize("forbidden", [False, True], ids=["the site says so", "Slurm says so"])
def test_where_requeueing_is_forbidden_a_job_follows(job, forbidden):
    job.program("sbatch", 'printf "%s\\n" "$@" > "$NOTES/sbatch"; env > "$NOTES/sbatch-env"; echo Submitted')
    (job.folder / "no-requeue").touch()
    plan = AGAIN if forbidden else dataclasses.replace(AGAIN, requeue="follow-up")
    code, said = stopped(job, plan, SLURM_CONF="/etc/slurm.conf", SLURM_JOB_NAME="x", SBATCH_QOS="y")
    assert code == 5 and ("scontrol" in said) == forbidden
    assert (job.folder / "sbatch").read_text().splitlines() == ["--dependency=afterany:7", f"{job.run}/job.sh", "1"]
    env = (job.folder / "sbatch-env").read_text()
    assert "SLURM_CONF=/etc/slurm.conf" in env and "SLURM_JOB_NAME" not in env and "SBATCH_QOS" not in env


def test_a_job_that_follows_counts_the_starts_before_it(job):
    assert "before=${1:-0}" in render_run(AGAIN)
    job.program("sbatch", 'printf "%s\\n" "$@" > "$NOTES/sbatch"')
    plan = dataclasses.replace(AGAIN, requeue="follow-up")
    code, said = stopped(job, plan, arguments=["2"])
    assert (code, said) == (5, "") and not (job.folder / "sbatch").exists(), "it was the third start"


def test_when_nothing_can_be_queued_again_it_says_so(job):
    job.program("sbatch", "echo 'sbatch: error: no'; exit 1")
    (job.folder / "no-requeue").touch()
    code, _ = stopped(job, AGAIN)
    assert code == 77
    assert '"problem": "no-requeue"' in (job.attempt() / "end.json").read_text()
    assert "siflab resume abcdefg2" in (job.attempt() / "logs" / "run.log").read_text()


def test_large_things_go_to_scratch_and_are_linked(job):
    scratch = job.folder / "scratch of user1"
    plan = dataclasses.replace(PLAN, scratch=(str(scratch), "/tmpdata/run"))
    assert job.wait(job.start(plan)) == 0
    env = (job.folder / "env").read_text()
    assert "CHECKPOINT_DIR=/tmpdata/run/checkpoints\n" in env and f"LOG_DIR={job.run}/tensorboard\n" in env
    assert (job.run / "checkpoints").resolve() == scratch / "checkpoints"
    assert job.wait(job.start(plan, SLURM_RESTART_COUNT="1")) == 0, "the same for the next attempt"
    assert (job.run / "outputs").resolve() == scratch / "outputs"


@pytest.mark.parametrize("how", HOW)
def test_nothing_runs_where_another_user_can_change_it(job, how):
    scratch = job.folder / "user1"
    give_away(scratch, how)
    plan = dataclasses.replace(PLAN, scratch=(f"{scratch}/run", "/tmpdata/run"))
    assert job.wait(job.start(plan)) == 79
    assert '"problem": "not-yours"' in (job.attempt() / "end.json").read_text()
    assert str(scratch) in (job.attempt() / "logs" / "run.log").read_text()
    assert not (job.folder / "env").exists(), "no container was started"
    give_away(job.run, how)
    assert job.wait(job.start(PLAN, SLURM_RESTART_COUNT="1")) == 79 and not (job.folder / "env").exists()


def test_a_link_of_the_administrators_leads_to_ones_own_scratch(job):
    (job.folder / "disk7").mkdir()
    (job.folder / "user1").symlink_to(job.folder / "disk7")
    plan = dataclasses.replace(PLAN, scratch=(f"{job.folder}/user1/run", "/tmpdata/run"))
    assert job.wait(job.start(plan)) == 0 and (job.folder / "disk7" / "run" / "checkpoints").is_dir()
