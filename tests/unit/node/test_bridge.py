"""The bridge and its clients, both as a session starts them; programs of the test stand for Slurm's."""

import hashlib
import json
import os
import pty
import select
import signal
import socket
import sys
import threading

import pytest

from siflab.node import bridge as bridge_module
from siflab.node import protocol
from tests.unit.node.bridge_process import JOB, Session


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
