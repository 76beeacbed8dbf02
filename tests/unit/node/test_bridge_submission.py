"""sbatch over the bridge: the script, the folder and the paths of a submission."""

import json
import os
import socket
import subprocess

import pytest

from siflab.node import protocol


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
