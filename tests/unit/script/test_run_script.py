"""The job script of a run: the golden file shows it in review, shellcheck and bash judge it, hostile words do nothing."""

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from siflab.config import Bind, Resources, SingularitySite
from siflab.config.models import Image
from siflab.script.directives import directive, pattern
from siflab.script.run import PROBLEMS, RunPlan, render_run
from siflab.text import Text

GOLDEN = Path(__file__).with_name("run_golden.sh")
RESOURCES = Resources(
    profile="a100-2",
    image_id="pytorch",
    image=Image(path="/images/pytorch-v2.7.sif", title=Text.plain("PyTorch"), python="/opt/conda/bin/python3"),
    partition="gpu-a100",
    account="lab",
    qos="normal",
    reservation="course",
    nodes=1,
    gpus=2,
    gpu_type="a100",
    cpus=8,
    memory_mib=32768,
    time_seconds=12 * 3600,
)
PLAN = RunPlan(
    run_id="abcdefg2",
    job_name="ddp-training",
    title='训练 "a" $(id)',
    source='/home/user1/训练 "a" $(id).ipynb',
    folder="/home/user1/siflab-runs/20261201-031112_ddp-training_abcdefg2",
    folder_inside="/workspace/user1/siflab-runs/20261201-031112_ddp-training_abcdefg2",
    resources=RESOURCES,
    singularity=SingularitySite(binds=(Bind(source="/home", target="/workspace"), Bind(source="/dataset", target="/datasets", read_only=True))),
    home=("/home/user1", "/workspace/user1"),
    environment={"NCCL_DEBUG": "INFO", "NCCL_SOCKET_IFNAME": "ib0"},
)  # fmt: skip
HOSTILE = "/home/a n'n/$(touch pwned)`touch pwned`/\"; touch pwned; \\ %j #!"


def test_the_golden_file():
    """To renew it: SIFLAB_RENEW_GOLDEN=1 pytest tests/unit/script"""
    script = render_run(PLAN)
    if os.environ.get("SIFLAB_RENEW_GOLDEN"):
        GOLDEN.write_text(script, "utf-8")
    assert script == GOLDEN.read_text("utf-8")


def test_a_percent_sign_of_a_folder_is_no_symbol_of_slurms():
    script = render_run(dataclasses.replace(PLAN, folder="/home/user1/100%j"))
    assert "#SBATCH --output=/home/user1/100%%j/%x-%j.out\n" in script
    assert "#SBATCH --chdir=/home/user1/100%j\n" in script


def test_what_is_not_asked_for_is_left_out():
    plain = dataclasses.replace(RESOURCES, account=None, qos=None, reservation=None, gpus=0, gpu_type=None)
    script = render_run(dataclasses.replace(PLAN, resources=plain, environment={}))
    lines = [line for line in script.splitlines() if line.startswith("#SBATCH")]
    assert not [line for line in lines if any(word in line for word in ("account", "qos", "reservation", "gres"))]
    assert not [line for line in lines if line.endswith("=")]
    assert "--nv" not in script


@pytest.mark.parametrize(("seconds", "warning"), [(12 * 3600, 60), (60, 15), (2, 1)])
def test_a_short_run_is_warned_later(seconds, warning):
    plan = dataclasses.replace(PLAN, resources=dataclasses.replace(RESOURCES, time_seconds=seconds))
    assert f"#SBATCH --signal=B:USR2@{warning}\n" in render_run(plan)


def hostile_plan() -> RunPlan:
    image = Image(path="/images/it's $(touch pwned).sif", title=Text.plain("x"))
    return dataclasses.replace(
        PLAN,
        title="a\n#SBATCH --uid=0\ntouch pwned\n",
        source=HOSTILE + "\r\ntouch pwned",
        folder=HOSTILE,
        folder_inside=HOSTILE,
        resources=dataclasses.replace(RESOURCES, image=image),
        home=(HOSTILE, HOSTILE),
        environment={"VALUE": "$(touch pwned) 'x' \n touch pwned"},
    )


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("plan", [PLAN, hostile_plan()], ids=["plain", "hostile"])
def test_shellcheck_has_nothing_to_say(plan, tmp_path):
    path = tmp_path / "job.sh"
    path.write_text(render_run(plan), "utf-8")
    single_quotes = ["--exclude=SC2016"] if plan is not PLAN else []  # the hostile words are in them, which is right
    done = subprocess.run(["shellcheck", "--shell=bash", *single_quotes, str(path)], capture_output=True, text=True)
    assert done.stdout == ""
    assert done.returncode == 0


def test_a_script_that_is_cut_off_does_nothing(tmp_path):
    script = render_run(PLAN)
    for share in (0.3, 0.6, 0.9):
        cut = script[: int(len(script) * share)].replace("/home/user1", str(tmp_path))
        subprocess.run(
            ["bash"], input=cut, text=True, capture_output=True, env={"PATH": os.environ["PATH"], "SLURM_JOB_ID": "1"}
        )
    assert list(tmp_path.iterdir()) == []


BEGUN = 'while [ "$1" != --run ]; do shift; done; echo "{}" > "$2/attempts/1/progress.json"'
"""The runner in the step has begun to write."""


class Job:
    """Runs a script as slurmd would, with `srun` and `singularity` that only take notes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = folder / "run's $(touch pwned) %j"
        self.run.mkdir()
        self.image = folder / "image.sif"
        self.image.write_text("image")
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.program("singularity", "exit 0")
        self.program("srun", 'printf "%s\\n" "$@" > "$NOTES/argv"; env > "$NOTES/env"')

    def program(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def start(
        self, plan: RunPlan = PLAN, arguments: "list[str] | None" = None, **environment: str
    ) -> "subprocess.Popen[str]":
        image = Image(path=str(self.image), title=Text.plain("x"), python="python3")
        plan = dataclasses.replace(
            plan,
            folder=str(self.run),
            folder_inside=str(self.run),
            resources=dataclasses.replace(plan.resources, image=image),
            singularity=SingularitySite(binds=(Bind(source=str(self.folder), target="/inside"),)),
        )
        env = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "NOTES": str(self.folder),
            "SLURM_JOB_ID": "7",
            "SLURMD_NODENAME": "gpu01",
            **environment,
        }
        return subprocess.Popen(
            ["bash", "-s", "--", *(arguments or [])],
            stdin=self.script(plan),
            text=True,
            env=env,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def script(self, plan: RunPlan):
        path = self.folder / "script"
        path.write_text(render_run(plan), "utf-8")
        return path.open()

    def wait(self, process: "subprocess.Popen[str]") -> int:
        self.said = process.communicate(timeout=30)[0]
        return process.returncode

    def attempt(self, number: int = 1) -> Path:
        return self.run / "attempts" / str(number)


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path)
    yield made
    assert not list(tmp_path.rglob("pwned")), "no word of a name was obeyed"


def test_the_step_gets_its_words_and_its_environment(job):
    assert job.wait(job.start(APPTAINER_BIND="/evil", SINGULARITYENV_X="1", JUPYTERHUB_API_TOKEN="t", KEPT="1")) == 0
    argv = (job.folder / "argv").read_text().splitlines()
    assert argv[:5] == ["--nodes=1", "--ntasks=1", "--export=ALL", "--kill-on-bad-exit=1", "--input=none"]
    assert argv[5:7] == ["singularity", "exec"]
    assert argv[-5:] == [f"{job.run}/runner.pyz", "--run", str(job.run), "--attempt", "1"]
    env = dict(line.split("=", 1) for line in (job.folder / "env").read_text().splitlines() if "=" in line)
    assert (env["SRUN_CPUS_PER_TASK"], env["OMP_NUM_THREADS"], env["NCCL_SOCKET_IFNAME"], env["KEPT"]) == (
        "8",
        "8",
        "ib0",
        "1",
    )
    assert not {"APPTAINER_BIND", "SINGULARITYENV_X", "JUPYTERHUB_API_TOKEN"} & set(env)


def test_each_start_gets_a_folder_of_its_own(job):
    job.wait(job.start())
    job.wait(job.start(SLURM_RESTART_COUNT="1"))
    job.wait(job.start())  # again by hand: Slurm counts from 0
    assert sorted(path.name for path in (job.run / "attempts").iterdir()) == ["1", "2", "3"]
    assert '"restart_count": 1' in (job.attempt(2) / "job.json").read_text()
    assert (job.attempt(3) / "logs" / "run.log").read_text().count("attempt 3") == 1


CODES = [(0, 0, ""), (1, 1, ""), (5, 5, ""), (70, 70, ""), (137, 76, "signal"), (143, 76, "signal")]


@pytest.mark.parametrize(("step", "code", "problem"), CODES)
def test_the_exit_code_is_the_runners_and_under_128(job, step, code, problem):
    job.program("srun", f"{BEGUN}; exit {step}")
    assert job.wait(job.start()) == code
    ended = (job.attempt() / "end.json").read_text()
    assert f'"exit_code": {code}, "problem": "{problem}", "step_exit_code": {step}' in ended


def test_a_container_that_did_not_start_is_told_from_a_notebook_that_failed(job):
    job.program("srun", "echo 'FATAL: no such image'; exit 255")
    assert job.wait(job.start()) == PROBLEMS["no-container"]
    log = (job.attempt() / "logs" / "run.log").read_text("utf-8")
    assert "FATAL" in log and "did not start" in log and "没有启动" in log


@pytest.mark.parametrize(
    ("break_it", "problem"),
    [
        (lambda job: job.image.unlink(), "no-image"),
        (lambda job: (job.bin / "singularity").unlink(), "no-singularity"),
        (lambda job: (job.run / "attempts").write_text("no folder"), "no-attempt"),
    ],
    ids=["image", "singularity", "folder"],
)
def test_what_is_missing_on_the_node_is_said(job, break_it, problem):
    break_it(job)
    if problem == "no-singularity" and shutil.which("singularity", path="/usr/bin:/bin"):
        plan = dataclasses.replace(PLAN, singularity=SingularitySite(command="no-such-singularity"))
        job.start = lambda: _start_with(job, plan)
    assert job.wait(job.start()) == PROBLEMS[problem]
    assert not (job.folder / "argv").exists(), "nothing was started"
    if problem != "no-attempt":
        assert f'"problem": "{problem}"' in (job.attempt() / "end.json").read_text()


def _start_with(job: Job, plan: RunPlan) -> "subprocess.Popen[str]":
    image = Image(path=str(job.image), title=Text.plain("x"))
    plan = dataclasses.replace(
        plan,
        folder=str(job.run),
        folder_inside=str(job.run),
        resources=dataclasses.replace(plan.resources, image=image),
    )
    env = {"PATH": f"{job.bin}:/usr/bin:/bin", "NOTES": str(job.folder), "SLURM_JOB_ID": "7"}
    return subprocess.Popen(["bash"], stdin=job.script(plan), text=True, env=env, stdout=subprocess.PIPE)


@pytest.mark.parametrize("name", ["TERM", "USR2"])
def test_a_signal_of_slurms_reaches_the_step_and_its_end_is_awaited(job, name):
    on_signal = f"trap 'echo got {name} >> \"$NOTES/signals\"; sleep 0.3; exit 5' {name}"
    job.program("srun", f'{on_signal}; {BEGUN}; echo ready > "$NOTES/ready"; while :; do sleep 0.05; done')
    os.mkfifo(job.folder / "ready")
    process = job.start()
    (job.folder / "ready").read_text()  # the step runs
    subprocess.run(["bash", "-c", f"kill -s {name} {process.pid}"], check=True)
    assert job.wait(process) == 5
    assert (job.folder / "signals").read_text() == f"got {name}\n"


def test_outside_of_a_job_it_says_how_it_is_meant(job):
    assert job.wait(job.start(SLURM_JOB_ID="")) == 2
    assert "sbatch" in job.said
    assert list(job.run.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("/home/user1/run", "#SBATCH --chdir=/home/user1/run"),
        ("/home/a n/run", '#SBATCH --chdir="/home/a n/run"'),
        ('/a "b" \\', '#SBATCH --chdir="/a \\"b\\" \\\\"'),
        ("/$(id)/'", '#SBATCH --chdir="/$(id)/\'"'),
        ("/训练", '#SBATCH --chdir="/训练"'),
    ],
)
def test_a_directive(value, line):
    assert directive("chdir", value) == line


def test_no_directive_holds_a_line_end():
    with pytest.raises(ValueError, match="control character"):
        directive("chdir", "/a\n#SBATCH --uid=0")
    assert pattern("/a/%j") == "/a/%%j"
