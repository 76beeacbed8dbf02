"""The shim as a job starts it: a process of its own, a Hub that answers or does not, a server that is a few lines."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.unit.node.shim_process import CLAIM, ask, ended, ready


def test_a_session_from_claim_to_end(shim, hub, folder):
    process = shim()
    hub.listen()
    port = ready(hub)
    assert json.loads((folder / "session.json").read_text())["job_id"] == "77"
    assert json.loads((folder / "site.json").read_text()) == {"name": "demo"}
    assert (folder / "key.pem").read_text() == "a-secret-key"
    assert {oct(path.stat().st_mode & 0o777) for path in folder.glob("*.*") if path.name != "node.pyz"} == {"0o600"}
    assert not (folder / "claim.json").exists()
    env = json.loads(ask(port, "env"))
    assert env["JUPYTERHUB_API_TOKEN"] == "a-secret-token"
    assert env["PATH"] == f"{folder}/bin:/usr/bin:/bin"
    ask(port, "exit")
    code, out, err = ended(process)
    assert code == 5
    assert [verb for verb, _ in hub.seen] == ["claim", "ready", "ended"]
    assert hub.seen[1][1] == {key: hub.seen[0][1][key] for key in ("user", "server", "code", "claimant", "port")}
    assert f"binding {port}" in out
    for secret in ("a-secret-token", "a-secret-key", CLAIM["code"]):
        assert secret not in out + err


def test_the_commands_of_slurm_are_installed_for_the_image_s_python(shim, hub, folder):
    shim()
    hub.listen()
    ready(hub)
    assert (folder / "python").read_text() == sys.executable + "\n"
    for name in ("sbatch", "squeue", "scancel", "sacct", "sinfo", "scontrol", "srun"):
        assert os.access(folder / "bin" / name, os.X_OK)


def test_the_hub_is_away_when_the_job_starts_and_comes_back(shim, hub):
    process = shim()
    while b"the Hub does not answer" not in process.stderr.readline():
        assert process.poll() is None
    hub.listen()
    ready(hub)
    process.terminate()
    code, _, err = ended(process)
    assert code == 0
    assert err.count("does not answer") == 0  # the first line is read already, and there is no second
    assert "the Hub answers again" in err


def test_an_answer_that_got_lost_is_asked_for_again_by_the_same_claimant(shim, hub):
    hub.plans["claim"], hub.plans["ready"] = ["drop", 409], ["drop"]
    shim()
    hub.listen()
    ready(hub)
    ready(hub)
    claims, readies = hub.bodies("claim"), hub.bodies("ready")
    assert claims == [claims[0]] * 3
    assert readies == [readies[0]] * 2


def test_a_refusal_ends_the_job_with_the_words_of_the_hub(shim, hub):
    hub.plans["claim"] = [403]
    process = shim()
    hub.listen()
    code, _, err = ended(process)
    assert code == 41
    assert "siflab: the Hub refused: no, because 403\n" in err
    assert "siflab: Hub 拒绝：拒绝 403\n" in err
    assert [verb for verb, _ in hub.seen] == ["claim"]


def test_a_refused_ready_ends_the_server(shim, hub):
    hub.plans["ready"] = [403]
    process = shim()
    hub.listen()
    code, out, _ = ended(process)
    assert code == 41
    assert "stopped by 15" in out


def test_a_port_that_another_process_listens_on_is_never_reported_ready(shim, hub):
    hub.plans["claim"] = ["steal", "steal"]
    shim()
    hub.listen()
    port = ready(hub)
    claims = hub.bodies("claim")
    assert len(claims) == 3
    assert len({claim["port"] for claim in claims}) == 3
    assert len({claim["claimant"] for claim in claims}) == 1
    assert port == claims[2]["port"]
    assert [body["port"] for body in hub.bodies("ready")] == [port]


def test_a_server_that_lives_beside_a_thief_is_not_ready_either(shim, hub):
    """It does not bind at all, so it does not die of the stolen port."""
    hub.answer["argv"] = [sys.executable, "-c", "import time; time.sleep(60)"]
    hub.plans["claim"] = ["steal"] * 5
    process = shim()
    hub.listen()
    code, _, err = ended(process, 30)
    assert code == 45
    assert hub.bodies("ready") == []
    assert "one port after the other" in hub.bodies("failed")[0]["message"]["en"]
    assert "不断抢占端口" in err


def test_a_server_that_dies_at_once_is_reported_with_its_last_lines(shim, hub):
    hub.answer["argv"] = [
        sys.executable,
        "-c",
        "import sys; print('x' * 9000); print('No module named jupyterhub'); sys.exit(3)",
    ]
    process = shim()
    hub.listen()
    code, out, err = ended(process)
    [failed] = hub.bodies("failed")
    assert code == failed["exit_code"] == 3
    assert failed["log_tail"].endswith("No module named jupyterhub\n")
    assert len(failed["log_tail"]) <= 4096
    assert "exit code 3" in failed["message"]["en"] and "退出码 3" in failed["message"]["zh"]
    assert out.endswith("No module named jupyterhub\n")
    assert failed["message"]["zh"] in err


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (["/no/such/program"], 43),
        ([sys.executable, "-c", "pass"], 43),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], 46),
    ],
)
def test_every_way_not_to_start_has_an_exit_code_under_128(shim, hub, program, code):
    hub.answer["argv"] = program
    process = shim()
    hub.listen()
    assert ended(process)[0] == code == hub.bodies("failed")[0]["exit_code"]


def test_a_server_that_never_listens_is_ended_at_the_boot_limit(shim, hub):
    hub.answer["argv"] = [sys.executable, "-c", "print('loading', flush=True); import time; time.sleep(60)"]
    process = shim(boot_limit=1)
    hub.listen()
    code, _, err = ended(process)
    assert code == 44 == hub.bodies("failed")[0]["exit_code"]
    assert hub.bodies("failed")[0]["log_tail"] == "loading\n"
    assert "session.boot_limit" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_reach_the_server_and_its_exit_code_comes_back(shim, hub, number):
    hub.answer["env"]["ON_STOP"] = "9"
    process = shim()
    hub.listen()
    ready(hub)
    process.send_signal(number)
    code, out, _ = ended(process)
    assert code == 9
    assert f"stopped by {int(number)}" in out


def test_a_server_that_is_deaf_to_term_is_killed_after_the_grace_time(shim, hub):
    hub.answer["env"]["DEAF"] = "yes"
    process = shim(code="sys.exit(Shim(sys.argv[1], __import__('json').loads(sys.argv[2]), grace=0.3).run())")
    hub.listen()
    ready(hub)
    process.terminate()
    assert ended(process)[0] == 47


def test_term_while_the_hub_is_away_ends_the_job_at_once(shim, hub):
    process = shim()
    while b"the Hub does not answer" not in process.stderr.readline():
        assert process.poll() is None
    process.terminate()
    code, _, err = ended(process)
    assert code == 47
    assert "told to end" in err and "结束信号" in err


def test_a_hub_that_stays_away_ends_the_job(shim, hub):
    process = shim(
        code="c = __import__('json').loads(sys.argv[2]); sys.exit(Shim(sys.argv[1], c, Hub(c, patience=0.2, pause=0.05)).run())"
    )
    code, _, err = ended(process)
    assert code == 42
    assert "start the session again" in err and "重新启动会话" in err


def test_a_killed_server_is_no_exit_code_over_128(shim, hub):
    process = shim()
    hub.listen()
    ask(ready(hub), "kill")
    code, _, err = ended(process)
    assert code == 46
    assert "signal 9 (often: out of memory)" in err


def test_interrupts_work_below_a_shim_that_a_shell_started_in_the_background(shim, hub):
    """A shell's "&" ignores INT and QUIT, and that is inherited: Ctrl-C in a terminal would do nothing."""
    hub.answer["argv"] = ["/bin/sh", "-c", "grep ^SigIgn /proc/self/status"]
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        process = shim()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    hub.listen()
    _, out, _ = ended(process)
    ignored = int(out.split()[1], 16)
    assert not ignored & (1 << (signal.SIGINT - 1))
    assert not ignored & (1 << (signal.SIGQUIT - 1))


def test_an_old_python_is_told_what_it_is(folder):
    """__main__ is read by whatever `python` the image has."""
    import zipfile

    main = zipfile.ZipFile(folder / "node.pyz").read("__main__.py").decode()
    old = "import sys; sys.version_info = (2, 7, 18)\n" + main
    done = subprocess.run([sys.executable, "-c", old], capture_output=True, text=True)
    assert done.returncode == 98
    assert "is Python 2.7, and Siflab needs Python 3.6 or later" in done.stderr
