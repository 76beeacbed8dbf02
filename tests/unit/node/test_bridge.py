"""The bridge and its clients, both as a session starts them; programs of the test stand for Slurm's."""

import hashlib
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading

import pytest

from siflab.node import bridge as bridge_module
from siflab.node import protocol
from siflab.node.folder import install_clients

JOB = {
    "PATH": "/usr/bin:/bin",
    "SLURM_CONF": "/etc/lab/slurm.conf",
    "SLURM_CPU_BIND": "quiet,mask_cpu:0x1",
    "SBATCH_PARTITION": "wrong",
    "CUDA_VISIBLE_DEVICES": "0",
    "LANG": "C.UTF-8",
}
SHOW = """#!python
import json, os, sys
words = sys.argv[1:]
script = [word for word in words if os.path.isfile(word)]
reads = not script and "--wrap" not in words
json.dump({
    "name": os.path.basename(sys.argv[0]), "words": words, "cwd": os.getcwd(), "env": dict(os.environ),
    "script": open(script[0]).read() if script else None, "stdin": sys.stdin.read() if reads else None,
}, sys.stdout)
"""


class Session:
    """A bridge that runs, and the clients of its container."""

    def __init__(self, folder, home, started, make_program):
        self.folder, self.home, self.slurm = folder, home, folder.parent / "slurm"
        self._started, self._make_program = started, make_program
        from siflab.node import archive

        with open(os.path.join(os.path.dirname(archive.__file__), "client.sh"), encoding="utf-8") as source:
            install_clients(str(folder), sys.executable, source.read())
        settings = {"binds": [[str(home), "/workspace"]], "slurm_bin": str(self.slurm), "home": str(home)}
        (folder / "bridge.json").write_text(json.dumps(settings))
        for name in ("sbatch", "squeue", "sinfo"):
            self.command(name, SHOW)

    def command(self, name, text):
        return self._make_program(self.slurm / name, text)

    def start(self, wrapper=()):
        argv = [*wrapper, sys.executable, "-I", "-S", self.folder / "node.pyz", "bridge", self.folder]
        self.process = self._started(argv, env={**JOB, "HOME": str(self.home)}, stdout=None, stderr=None)
        self.wait()
        return self

    def wait(self):
        while True:  # a socket that listens is no event that could be awaited
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(str(self.folder / protocol.SOCKET))
                    return
            except OSError:
                assert self.process.poll() is None

    def client(self, *words, environment=None, **kwargs):
        env = {
            "PATH": f"{self.folder}/bin:/usr/bin:/bin",
            "SIFLAB_DIR": str(self.folder),
            "LANG": "C.UTF-8",
            "JUPYTERHUB_API_TOKEN": "t",
        }
        return self._started(words, env={**env, **(environment or {})}, **kwargs)

    def run(self, *words, input=None, **kwargs):
        """(exit code, standard output, standard error)"""
        process = self.client(*words, stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL, **kwargs)
        out, err = process.communicate(input, timeout=30)
        return process.returncode, out, err.decode()

    def shown(self, *words, **kwargs):
        code, out, err = self.run(*words, **kwargs)
        assert code == 0, err
        return {**json.loads(out), "err": err}


@pytest.fixture
def session(folder, tmp_path, started, make_program):
    home = tmp_path / "home"
    (home / "user1").mkdir(parents=True)
    return Session(folder, home, started, make_program).start()


def test_a_command_runs_with_its_words_and_a_clean_environment(session):
    seen = session.shown("squeue", "--me", "-o", "%i %j", "", "a'b $(id) 训练\n")
    assert seen["words"] == ["--me", "-o", "%i %j", "", "a'b $(id) 训练\n"]
    assert {"SLURM_CONF": "/etc/lab/slurm.conf", "HOME": str(session.home)}.items() <= seen["env"].items()
    for name in ("SLURM_CPU_BIND", "SBATCH_PARTITION", "CUDA_VISIBLE_DEVICES", "JUPYTERHUB_API_TOKEN", "SIFLAB_DIR"):
        assert name not in seen["env"]


def test_a_name_that_is_no_utf8_survives(session):
    assert session.shown("squeue", b"caf\xe9")["words"] == [os.fsdecode(b"caf\xe9")]


def test_exit_code_and_both_outputs_come_back(session):
    session.command("squeue", "#!/bin/sh\necho out; echo err >&2; exit 7\n")
    assert session.run("squeue") == (7, b"out\n", "err\n")
    session.command("squeue", "#!/bin/sh\nkill -9 $$\n")
    assert session.run("squeue")[0] == 137


def test_ten_megabytes_arrive_whole(session):
    session.command("sacct", "#!python\nimport sys\nfor n in range(160000): sys.stdout.write('%063d\\n' % n)\n")
    right = hashlib.sha256(b"".join(b"%063d\n" % n for n in range(160000))).hexdigest()
    code, out, _ = session.run("sacct")
    assert (code, len(out), hashlib.sha256(out).hexdigest()) == (0, 10240000, right)


def test_a_reader_that_stops_early_ends_the_command(session, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    session.command("squeue", f"#!/bin/sh\nexec 9> {gate}\nexec yes\n")
    reader = threading.Thread(target=lambda: gate.read_bytes())  # until the command is gone
    reader.start()
    code, out, _ = session.run("sh", "-c", "squeue | head -1; :")
    reader.join(20)
    assert (code, out, reader.is_alive()) == (0, b"y\n", False)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_client_that_goes_away_takes_its_command_along(session, tmp_path, number):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    session.command("squeue", f"#!/bin/sh\nexec 9> {gate}\nexec sleep 600\n")
    client = session.client("squeue")
    with gate.open("rb") as held:  # opens when the command runs
        client.send_signal(number)
        assert is_closed(held)
    assert client.wait(20) == (-9 if number == signal.SIGKILL else 128 + number)


def is_closed(gate, within=20):
    """Whether nobody has the other end of a FIFO open any more, or soon has not."""
    return bool(select.select([gate], [], [], within)[0]) and gate.read() == b""


def test_two_commands_run_at_the_same_time(session, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    session.command("squeue", f"#!/bin/sh\necho met > {gate}\n")  # a FIFO opens when both ends are there
    session.command("sinfo", f"#!/bin/sh\ncat {gate}\n")
    one = session.client("squeue")
    assert session.run("sinfo") == (0, b"met\n", "")
    assert one.wait(20) == 0


@pytest.mark.parametrize(("name", "words"), [("srun", "submit it with sbatch"), ("salloc", "start another session")])
def test_what_a_session_cannot_run_says_what_to_do(session, name, words):
    code, _, err = session.run(name, "hostname")
    assert code == 71
    assert words in err
    assert "会话中不能" in session.run(name, environment={"LANG": "zh_CN.UTF-8"})[2]


def test_no_other_program_runs_whoever_asks(session):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(session.folder / protocol.SOCKET))
        request = {"argv": ["/bin/sh", "-c", "id"], "cwd": "/", "terminal": None, "environment": {}}
        protocol.send(connection, protocol.REQUEST, protocol.encode(request))
        kind, payload = protocol.receive(connection)
    assert kind == protocol.FAILURE
    assert "not one of the commands" in protocol.decode(payload)["en"]


def test_a_path_in_the_command_s_name_is_not_followed(session):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(session.folder / protocol.SOCKET))
        request = {"argv": ["/somewhere/else/squeue"], "cwd": "/", "terminal": None, "environment": {}}
        protocol.send(connection, protocol.REQUEST, protocol.encode(request))
        protocol.send(connection, protocol.INPUT)
        kind, payload = protocol.receive(connection)
    assert kind == protocol.OUTPUT
    assert json.loads(payload)["name"] == "squeue"


@pytest.mark.parametrize(
    "sent",
    [
        b"R\xff\xff\xff\xffxxxx",
        b"R\x00\x00\x00\x04nope",
        b"I\x00\x00\x00\x00",
        b'R\x00\x00\x00\x0d{"argv": "x"}',
        b"GET / HTTP/1.0\r\n\r\n",
    ],
)
def test_a_request_that_is_none_is_dropped_and_the_bridge_goes_on(session, sent):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(session.folder / protocol.SOCKET))
        connection.sendall(sent)
        try:
            assert connection.recv(1) == b""
        except ConnectionResetError:  # closed with bytes of ours unread
            pass
    assert session.shown("squeue")["name"] == "squeue"


def test_another_user_is_turned_away(folder, monkeypatch):
    monkeypatch.setattr(bridge_module.os, "getuid", lambda: 12345)
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    bridge = bridge_module.Bridge(str(folder), bridge_module.Settings([], None, "/"), {})
    with ours:
        bridge._answer(theirs)
        kind, payload = protocol.receive(ours)
        assert kind == protocol.FAILURE
        assert protocol.decode(payload)["en"] == "this session belongs to another user"
    assert oct(folder.stat().st_mode & 0o777) == "0o700"


def test_the_socket_is_the_user_s_alone(session):
    assert oct((session.folder / protocol.SOCKET).stat().st_mode & 0o777) == "0o600"


# ---- sbatch


def submit(session, *words, cwd="/workspace/user1", script=None, at=None, environment=None):
    """As a client that is in `cwd` inside does it; (what sbatch saw, warnings)."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(session.folder / protocol.SOCKET))
        request = {"argv": ["sbatch", *words], "cwd": cwd, "terminal": None, "environment": environment or {}}
        request["script"] = None if script is None else {"at": at, "size": len(script)}
        protocol.send(connection, protocol.REQUEST, protocol.encode(request))
        if script:
            protocol.send(connection, protocol.SCRIPT, script)
        protocol.send(connection, protocol.INPUT)
        out, warnings = b"", []
        while True:
            kind, payload = protocol.receive(connection)
            if kind == protocol.OUTPUT:
                out += payload
            elif kind == protocol.WARNING:
                warnings.append(protocol.decode(payload))
            elif kind == protocol.EXIT:
                assert connection.recv(1) == b""  # closed when all is cleared away
                return json.loads(out), warnings


def test_a_script_of_the_container_is_sent_along_under_its_name(session):
    seen, _ = submit(session, "-p", "gpu", "sub/train me.sh", "--lr", "0.1", script=b"#!/bin/sh\nhostname\n", at=3)
    assert seen["words"][:2] == ["-p", "gpu"]
    assert seen["words"][3:] == ["--lr", "0.1"]
    assert os.path.basename(seen["words"][2]) == "train me.sh"
    assert seen["words"][2].startswith(str(session.folder))
    assert seen["script"] == "#!/bin/sh\nhostname\n"
    assert list((session.folder / "scripts").iterdir()) == []


def test_a_script_that_the_host_has_too_keeps_its_path(session):
    (session.home / "user1" / "train.sh").write_text("#!/bin/sh\nhostname\n")
    seen, _ = submit(session, "train.sh", script=b"#!/bin/sh\nhostname\n", at=1)
    assert seen["words"] == [str(session.home / "user1" / "train.sh")]
    seen, _ = submit(session, "train.sh", script=b"#!/bin/sh\nanother\n", at=1)
    assert seen["script"] == "#!/bin/sh\nanother\n"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_the_host_has_there_and_is_no_file_is_not_waited_for(session, make):
    make(str(session.home / "user1" / "train.sh"))
    seen, _ = submit(session, "train.sh", script=b"#!/bin/sh\nhostname\n", at=1)
    assert seen["script"] == "#!/bin/sh\nhostname\n"
    assert os.path.basename(seen["words"][0]) == "train.sh"


def test_the_folder_and_the_paths_in_options_are_the_host_s(session):
    seen, warnings = submit(session, "-o", "/workspace/user1/%j.out", "--wrap", "cat /workspace/user1/x")
    assert seen["cwd"] == seen["env"]["PWD"] == str(session.home / "user1")
    assert seen["words"] == ["-o", f"{session.home}/user1/%j.out", "--wrap", "cat /workspace/user1/x"]
    assert warnings == []


def test_a_folder_that_only_the_container_has_is_said(session):
    seen, [warning] = submit(session, "--wrap", "hostname", cwd="/opt/jupyter")
    assert seen["cwd"] == str(session.home)
    assert (
        warning["en"]
        == f"the folder /opt/jupyter is not on the node, only in the container: the job starts in {session.home}"
    )
    assert "/opt/jupyter" in warning["zh"]


def test_a_folder_for_output_that_is_not_there_is_said(session):
    _, [warning] = submit(session, "-o", "/workspace/user1/no/%j.out", "--wrap", "hostname")
    assert f"{session.home}/user1/no" in warning["en"]


def test_the_client_reads_the_script_and_names_what_is_wrong(session, tmp_path):
    script = tmp_path / "训练 $(id).sh"
    script.write_text("#!/bin/sh\n#SBATCH --export=SEED\n")
    seen = session.shown("sbatch", str(script), "a b", environment={"SEED": "7", "OTHER": "x"})
    assert seen["script"] == script.read_text()
    assert seen["words"][1:] == ["a b"]
    assert os.path.basename(seen["words"][0]) == script.name
    assert seen["env"]["SEED"] == "7"
    assert "OTHER" not in seen["env"]
    assert session.run("sbatch", "/no/such.sh")[::2] == (
        1,
        "sbatch: error: Unable to open file /no/such.sh: No such file or directory\n",
    )


def test_a_script_on_standard_input(session):
    script = b"#!/bin/sh\n" + b"# filler\n" * 30000 + b"hostname\n"
    assert session.shown("sbatch", "-p", "gpu", input=script)["stdin"] == script.decode()


def test_a_script_over_the_limit_is_refused_before_it_is_sent(session, tmp_path):
    script = tmp_path / "big.sh"
    script.write_bytes(b"#" * (protocol.SCRIPT_LIMIT + 1))
    code, _, err = session.run("sbatch", str(script))
    assert code == 1
    assert "longer than Slurm allows" in err


def test_a_script_of_some_megabytes_is_sent(session, tmp_path):
    script = tmp_path / "big.sh"
    script.write_bytes(b"#!/bin/sh\n" + b"# 0123456789\n" * 200000)
    session.command("sbatch", '#!/bin/sh\ncksum < "$1"\n')
    right = subprocess.run(["cksum"], input=script.read_bytes(), capture_output=True, check=True).stdout
    assert session.run("sbatch", str(script), cwd="/tmp") == (0, right, "")


def test_commands_that_read_nothing_leave_the_input_to_the_loop_around_them(session):
    session.command("squeue", '#!/bin/sh\necho "job $2"\n')
    loop = "while read -r job; do squeue -j $job; done"
    assert session.run("sh", "-c", loop, input=b"1\n2\n3\n")[1] == b"job 1\njob 2\njob 3\n"


# ---- terminals


def test_output_to_a_terminal_is_one_for_the_command(session):
    session.command(
        "squeue", "#!/bin/sh\ntest -t 1 && echo terminal $COLUMNS; stty size <&1; test -t 2 || echo plain >&2\n"
    )
    ours, theirs = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 33, 111, 0, 0))
    client = session.client("squeue", stdout=theirs)
    assert client.wait(20) == 0
    os.close(theirs)
    assert os.read(ours, 4096).replace(b"\r", b"") == b"terminal 111\n33 111\n"
    os.close(ours)
    assert client.stderr.read() == b"plain\n"


# ---- its life


def test_it_ends_with_the_shell_that_started_it_and_takes_the_commands_along(folder, tmp_path, started, make_program):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    home = tmp_path / "home"
    home.mkdir()
    session = Session(folder, home, started, make_program).start(wrapper=["sh", "-c", '"$@" & wait', "sh"])
    session.command("squeue", f"#!/bin/sh\nexec 9> {gate}\nexec sleep 600\n")
    client = session.client("squeue")
    with gate.open("rb") as held:
        session.process.kill()  # the shell alone
        assert is_closed(held)
    assert client.wait(20) in (76, 143)
    with pytest.raises(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(folder / protocol.SOCKET))


def test_it_starts_in_a_folder_with_a_name_longer_than_a_socket_s_may_be(tmp_path, started, make_program):
    from siflab.node.archive import build_archive

    folder = tmp_path / ("long-" * 30)
    folder.mkdir()
    (folder / "node.pyz").write_bytes(build_archive())
    session = Session(folder, tmp_path, started, make_program)
    argv = [sys.executable, "-I", "-S", folder / "node.pyz", "bridge", folder]
    process = started(argv, env=JOB)
    while not (folder / protocol.SOCKET).exists():
        assert process.poll() is None
    assert session.folder == folder


def test_without_a_bridge_the_reason_of_the_job_script_is_said(folder, tmp_path, started, make_program):
    session = Session(folder, tmp_path, started, make_program)
    (folder / "no-bridge").write_text("no Python on gpu01\ngpu01 没有 Python\n", "utf-8")
    assert session.run("squeue")[::2] == (69, "siflab: no Python on gpu01\n")
    assert session.run("squeue", environment={"LANG": "zh_CN.UTF-8"})[2] == "siflab: gpu01 没有 Python\n"
    (folder / "no-bridge").unlink()
    assert "its bridge ended" in session.run("sinfo")[2]
