"""The batch script of a session: its text, and what it does when it runs."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from siflab.config import Bind, SingularitySite
from siflab.node.archive import build_archive, profile_script
from siflab.script.session import PROBLEMS, SessionPlan, render_session

GOLDEN = Path(__file__).parent / "golden" / "session.sh"
CLAIM = {
    "claim_url": "http://10.0.0.1:8081/hub/api/siflab",
    "ca": None,
    "user": "user1",
    "server": "",
    "code": "the-code-of-this-start",
    "boot_limit": 300,
}


def example() -> SessionPlan:
    return SessionPlan(
        singularity=SingularitySite(binds=("/home:/workspace", "/dataset:/datasets:ro")),
        image_path="/images/pytorch-2.7.sif",
        python="/opt/jupyter/bin/python3",
        nv=True,
        home=("/home/user1", "/workspace/user1"),
        claim=CLAIM,
        slurm_conf="/etc/slurm/slurm.conf",
        prologue="module load apptainer",
        node_archive=b"(the archive)",
    )


def test_the_script_is_the_golden_one(request):
    """To accept a change: SIFLAB_UPDATE_GOLDEN=1 pytest, then look at the difference."""
    script = render_session(example())
    if os.environ.get("SIFLAB_UPDATE_GOLDEN"):
        GOLDEN.write_text(script, "utf-8")
    assert script == GOLDEN.read_text("utf-8")


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="no shellcheck here")
def test_shellcheck_finds_nothing():
    done = subprocess.run(["shellcheck", "-"], input=render_session(example()), capture_output=True, text=True)
    assert done.stdout == ""


def test_it_asks_slurm_for_nothing_and_is_small():
    script = render_session(replace(example(), node_archive=build_archive()))
    assert "#SBATCH" not in script
    assert len(script) < 48 * 1024


def test_nv_only_when_the_plan_says_so():
    assert "--nv" in render_session(example())
    assert "--nv" not in render_session(replace(example(), nv=False))


# ---- run


SINGULARITY = """#!python
import json, os, signal, sys
from pathlib import Path
words = sys.argv[1:]
binds = dict(reversed(words[n + 1].split(":")[:2]) for n, word in enumerate(words) if word == "--bind")
private = Path(binds["/run/siflab"])
here = Path(os.environ["SEEN"])
here.write_text(json.dumps({
    "words": words, "private": str(private), "cwd": os.getcwd(), "mode": oct(private.stat().st_mode & 0o777),
    "files": sorted(path.name for path in private.iterdir()), "conf": os.environ.get("SLURM_CONF"),
    "claim": json.loads((private / "claim.json").read_text()), "bridge": json.loads((private / "bridge.json").read_text()),
    "archive": (private / "node.pyz").read_bytes().decode("latin-1"), "profile": Path(binds["/etc/profile.d/zz-siflab.sh"]).read_text(),
    "note": (private / "no-bridge").read_text().splitlines() if (private / "no-bridge").exists() else None,
}))
if os.environ.get("SHIM", "yes") == "yes":
    (private / "claim.json").unlink()
if os.environ.get("WAIT"):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # one that comes before sigwait is not lost, as with pause
    print("container waits", flush=True)
    signal.sigwait([signal.SIGTERM])
    sys.exit(12)
if os.environ.get("KILL"):
    os.kill(os.getpid(), 9)
sys.exit(int(os.environ.get("CODE", "0")))
"""


class Job:
    """The script, run by bash as slurmd does, with a program of the test in Singularity's place."""

    def __init__(self, tmp_path: Path) -> None:
        self.root, self.seen = tmp_path, tmp_path / "seen.json"
        self.parent = tmp_path / "node's tmp"
        self.parent.mkdir()
        self.image = tmp_path / "the $(touch oops) image's.sif"
        self.image.write_bytes(b"")
        (tmp_path / "data").mkdir()
        program = tmp_path / "singularity"
        program.write_text(SINGULARITY.replace("#!python", "#!" + sys.executable))
        program.chmod(0o755)
        self.changes: dict = {"host_pythons": ()}
        self.processes: list[subprocess.Popen] = []

    def plan(self, **changes) -> SessionPlan:
        return SessionPlan(**{
            "singularity": SingularitySite(command=str(self.root / "singularity"), binds=(Bind(source=str(self.root / "data"), target="/datasets", read_only=True),)),
            "image_path": str(self.image), "python": "python3", "nv": False, "home": ("/home/user1", "/workspace/user1"),
            "claim": CLAIM, "folder": str(self.parent), "node_archive": b"(the archive)", **self.changes, **changes,
        })  # fmt: skip

    def start(self, **environment: str) -> subprocess.Popen:
        env = {"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": "77", "SEEN": str(self.seen), **environment}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen(["bash"], env=env, cwd=self.root, text=True, start_new_session=True, **pipes)
        self.processes.append(process)
        return process

    def start_waiting(self, plan: SessionPlan) -> subprocess.Popen:
        """Until the container runs and waits."""
        process = self.start(WAIT="yes")
        process.stdin.write(render_session(plan))
        process.stdin.close()
        assert process.stdout.readline() == "container waits\n"
        return process

    def close(self) -> None:
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()

    def run(self, plan: SessionPlan | None = None, script: str | None = None, **environment: str):
        """(exit code, what it said, what the container saw)"""
        process = self.start(**environment)
        _, err = process.communicate(render_session(plan or self.plan()) if script is None else script, timeout=30)
        return process.returncode, err, json.loads(self.seen.read_text()) if self.seen.exists() else None

    def left(self) -> list[str]:
        return sorted(path.name for path in self.parent.iterdir())


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path)
    yield made
    made.close()


def test_the_container_is_started_as_planned(job):
    code, err, seen = job.run(job.plan(nv=True, slurm_conf="/etc/lab/slurm.conf"))
    assert code == 0, err
    private = seen["private"]
    assert seen["words"] == [
        "exec", "--nv", "--bind", f"{job.root}/data:/datasets:ro", "--bind", f"{private}:/run/siflab",
        "--bind", f"{private}/profile.sh:/etc/profile.d/zz-siflab.sh:ro", "--home", "/home/user1:/workspace/user1",
        "--pwd", "/workspace/user1", str(job.image), "sh", "-c", 'command -v "$1" > /dev/null || exit 97; exec "$@"', "sh",
        "python3", "-I", "/run/siflab/node.pyz", "shim", "/run/siflab",
    ]  # fmt: skip
    assert seen["cwd"] == "/"
    assert seen["mode"] == "0o700"
    assert seen["claim"] == CLAIM
    assert seen["archive"] == "(the archive)"
    assert seen["conf"] == "/etc/lab/slurm.conf"
    assert seen["bridge"] == {
        "binds": [[f"{job.root}/data", "/datasets"], ["/home/user1", "/workspace/user1"]], "slurm_bin": None, "home": "/home/user1",
    }  # fmt: skip
    assert Path(private).name.startswith("siflab.77.")
    assert "job 77 on node" in err


def test_nothing_is_left_behind_and_nothing_is_expanded(job):
    job.run()
    assert job.left() == []
    assert not (job.root / "oops").exists()


@pytest.mark.parametrize("code", [0, 3, 41, 127])
def test_the_exit_code_is_the_server_s(job, code):
    assert job.run(CODE=str(code))[0] == code


def test_a_killed_container_is_no_exit_code_over_128(job):
    code, err, _ = job.run(KILL="yes")
    assert code == 46
    assert "ended by signal 9" in err and "信号 9" in err
    assert job.left() == []


PROBLEM = [
    # what is wrong, exit code, what the message names
    ({"image_path": "/no/such/image.sif"}, "no-image", "/no/such/image.sif"),
    ({"singularity": SingularitySite(command="/no/such/singularity")}, "no-singularity", "/no/such/singularity"),
    ({"singularity": SingularitySite(command="true", binds=("/no/such/data:/datasets",))}, "no-bind", "/no/such/data"),
    ({"folder": "/no/such/folder"}, "no-folder", "/no/such/folder"),
]


@pytest.mark.parametrize(
    ("change", "problem", "named"), PROBLEM, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_missing_is_said_before_the_container_starts(job, change, problem, named):
    code, err, seen = job.run(job.plan(**change))
    assert code == PROBLEMS[problem] < 128
    assert seen is None
    said = [line for line in err.splitlines() if line.startswith("siflab: ")]
    assert len(said) == 2 and all(named in line for line in said)
    assert said[0].isascii() and not said[1].isascii()
    assert "tell your administrator" in said[0] and "管理员" in said[1]


def test_an_image_without_python(job):
    code, err, _ = job.run(SHIM="no", CODE="97")
    assert code == PROBLEMS["no-python"]
    assert f"the image {job.image} has no python3" in err


def test_an_image_with_an_old_python(job):
    code, err, _ = job.run(SHIM="no", CODE="98")
    assert code == PROBLEMS["old-python"]
    assert "older than Python 3.6" in err and "早于 Python 3.6" in err


def test_a_container_that_does_not_start(job):
    code, err, _ = job.run(SHIM="no", CODE="255")
    assert code == PROBLEMS["no-container"]
    assert "the container did not start (exit code 255)" in err and "容器没有启动" in err
    assert job.left() == []


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9, 0.99, 1])
def test_a_script_that_arrived_in_part_does_nothing(job, share):
    script, end = render_session(job.plan()), 'main "$@"\n'
    assert script.endswith(end)
    _, _, seen = job.run(script=script[: int((len(script) - len(end)) * share)])
    assert seen is None
    assert job.left() == []


def test_term_reaches_the_container_and_its_exit_code_comes_back(job):
    process = job.start_waiting(job.plan())
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 12
    assert job.left() == []


def test_folders_of_dead_jobs_are_swept_and_no_others(job):
    def folder(name: str, shell: str | None) -> Path:
        made = job.parent / name
        made.mkdir()
        if shell is not None:
            (made / "shell").write_text(shell + "\n")
        return made

    node = os.uname().nodename
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    dead = folder("siflab.1.dead", f"{2**22 + 1} 123 {node}")
    reused = folder("siflab.2.reused", f"{os.getpid()} 1 {node}")
    (job.root / "data" / "file").write_text("kept")
    (dead / "link").symlink_to(job.root / "data")
    alive = folder("siflab.3.alive", f"{os.getpid()} {start} {node}")
    elsewhere = folder("siflab.4.elsewhere", f"1 1 another-{node}")
    begun = folder("siflab.5.begun", None)
    (job.parent / "siflab.6.link").symlink_to(job.root / "data")
    folder("another", f"1 1 {node}")
    job.run()
    assert not dead.exists() and not reused.exists()
    assert alive.exists() and elsewhere.exists() and begun.exists()
    assert job.left() == ["another", "siflab.3.alive", "siflab.4.elsewhere", "siflab.5.begun", "siflab.6.link"]
    assert (job.root / "data" / "file").read_text() == "kept"


def test_a_site_s_prologue_runs_first_and_not_in_our_strict_mode(job):
    prologue = 'test -z "$NO_SUCH_VARIABLE"; false; export SLURM_CONF=/from/the/prologue'
    code, err, seen = job.run(job.plan(prologue=prologue))
    assert code == 0, err
    assert seen["conf"] == "/from/the/prologue"


@pytest.mark.parametrize("pythons", [(), ("/no/such/python",), ("false",)])
def test_without_python_on_the_node_the_session_starts_and_says_what_it_lacks(job, pythons):
    code, err, seen = job.run(job.plan(host_pythons=pythons))
    assert code == 0
    english, chinese = seen["note"]
    assert english.startswith("Slurm commands are not available in this session: no Python 3.6 or later on node")
    assert "本会话无法使用 Slurm 命令" in chinese
    assert f"siflab: {english}\nsiflab: {chinese}\n" in err


def test_the_bridge_runs_while_the_session_does(job):
    """With the real archive: the socket is there, and gone with the script."""
    plan = job.plan(host_pythons=("/no/such/python", sys.executable), node_archive=build_archive())
    process = job.start_waiting(plan)
    private = Path(json.loads(job.seen.read_text())["private"])
    while not (private / "bridge.sock").exists():
        assert process.poll() is None
    called = f"{private}/node.pyz bridge {private}"
    [bridge] = [pid for pid in os.listdir("/proc") if pid.isdigit() and called in _command_line(pid)]
    process.terminate()
    assert process.wait(20) == 12
    process.stdout.read()  # ends when nobody has it open: the bridge is gone
    assert _command_line(bridge) == ""


def _command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def test_values_that_no_script_can_carry_are_refused():
    with pytest.raises(ValueError, match="NUL"):
        render_session(replace(example(), python="py\0thon"))


@pytest.mark.parametrize("name", ["SIFLAB_END", "\nSIFLAB_END\nrm -rf /", "$(id)", "训练'\"", "@{node}"])
def test_a_server_name_cannot_leave_its_place(job, name):
    _, _, seen = job.run(job.plan(claim={**CLAIM, "server": name}))
    assert seen["claim"]["server"] == name


# ---- login shells


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_login_shell_gets_its_path_back(shell):
    """profile.sh, after an /etc/profile that set PATH anew and another file that added to it."""
    env = {"SIFLAB_PATH": "/run/siflab/bin:/opt/jupyter/bin:/usr/bin:/bin", "PATH": "/usr/bin:/bin"}
    script = "PATH=/usr/local/bin:/usr/bin:/sw/bin\n" + profile_script() + 'echo "$PATH"; echo ${_siflab_rest-unset}'
    done = subprocess.run([shell, "-eu", "-c", script], env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["/run/siflab/bin:/opt/jupyter/bin:/usr/bin:/bin:/usr/local/bin:/sw/bin", "unset"], (
        done.stderr
    )
    del env["SIFLAB_PATH"]
    done = subprocess.run([shell, "-eu", "-c", script], env=env, capture_output=True, text=True)
    assert done.stdout.split()[0] == "/usr/local/bin:/usr/bin:/sw/bin"
