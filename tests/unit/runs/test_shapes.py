"""What the functions give is what openapi.yaml says, and a session sees its own paths."""

import json
from pathlib import Path

import pytest

from siflab.config import Bind, parse_site
from siflab.errors import Internal, Invalid
from siflab.inside import Failure
from siflab.runs import (
    RunRequest,
    SessionFacts,
    Viewer,
    get_run,
    inventory_view,
    list_runs,
    preflight,
    preview,
    read_log,
    session_view,
    site_view,
    submit,
)
from tests.unit.extension.openapi_contract import Contract
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.fake_slurm import UNREACHABLE, done, failing


@pytest.fixture(scope="module")
def contract():
    return Contract()


@pytest.fixture
def session_viewer(viewer, slurm, tmp_path):
    """The same person in a session; the container's /workspace is played by a link."""
    inside = tmp_path / "workspace"
    inside.symlink_to(tmp_path / "home")
    facts = {
        "user": "user1",
        "job_id": "7",
        "node": "gpu01",
        "profile": "a100",
        "image_id": "torch",
        "image_digest": "sha256:" + "0" * 64,
        "binds": [f"{tmp_path}/home:{inside}"],
        "home_host": viewer.home,
        "home_inside": f"{inside}/user1",
        "started_at": "2026-12-01T03:00:00+00:00",
        "ends_at": "2026-12-01T05:00:00+00:00",
        "resources": {"gpus": 2},
    }
    session = SessionFacts._from(tmp_path / "private", facts)
    return Viewer(viewer.site, slurm, "user1", viewer.home, session)


def test_a_run_at_every_stage(contract, viewer, slurm, request_for):
    run = submit(viewer, request_for(name="名称"))
    contract.check_schema("Run", run.as_dict())
    folder = begin(run.folder, "42")
    slurm.queued("42", "RUNNING")
    contract.check_schema("Run", get_run(viewer, run.id).as_dict())
    end(folder, "failed", code=1, error=Failure("ValueError", "boom", 4, 3, 2, "Traceback ..."))
    slurm.accounted("42", "FAILED", "1:0")
    for _ in range(2):
        contract.check_answer("/runs", "get", 200, list_runs(viewer).as_dict())
    (folder.request).write_text("damaged")
    contract.check_answer("/runs", "get", 200, list_runs(viewer).as_dict())


def test_a_preview_submits_nothing(contract, viewer, slurm, request_for):
    seen = preview(viewer, request_for(gpus=2, time="4:00:00"))
    contract.check_schema("Preview", seen.as_dict())
    assert seen.gpu_hours == 8.0
    assert seen.estimated_start is not None and seen.slurm_says is None
    assert "#SBATCH --gres=gpu:a100:2" in seen.script
    assert seen.argv[0] == "sbatch" and seen.argv[-1].endswith("/job.sh")
    assert not Path(viewer.runs_root()).exists()
    assert all("--test-only" in argv or argv[0] == "scontrol" for argv in slurm.asked)


def test_a_preview_says_why_slurm_would_not_take_it(contract, viewer, slurm, request_for):
    slurm.answers["sbatch"] = failing("allocation failure: Requested node configuration is not available\n")
    seen = preview(viewer, request_for())
    assert "no node of this partition" in seen.slurm_says.en
    slurm.answers["sbatch"] = failing("sbatch: error: Unable to contact slurm controller (connect failure)\n")
    unreachable = preview(viewer, request_for())
    assert "cannot be reached" in unreachable.slurm_says.en
    contract.check_schema("Preview", unreachable.as_dict())


def test_preflight_finds_and_only_submit_refuses(contract, viewer, notebook):
    request = RunRequest(path=str(notebook("e.ipynb", "", "  ")), profile="a100")
    findings = preflight(viewer, request)
    contract.check_answer("/preflight", "post", 200, {"findings": [finding.as_dict() for finding in findings]})
    assert [(finding.code, finding.severity) for finding in findings] == [("no-code", "error")]
    preview(viewer, request)
    with pytest.raises(Invalid) as caught:
        submit(viewer, request)
    contract.check_schema("Failure", caught.value.as_failure())
    assert (caught.value.errors[0].field, caught.value.errors[0].code) == ("path", "no-code")


def test_the_site(contract, viewer, session_viewer):
    contract.check_schema("Site", site_view(viewer))
    seen = site_view(session_viewer)
    contract.check_schema("Site", seen)
    assert seen["images"][0]["current"] is True
    assert seen["runs_root"] == session_viewer.in_session.home_inside + "/siflab-runs"
    assert seen["default_profile"] == "a100"
    assert seen["profiles"][0]["allow"] == {"gpus": {"min": 1, "max": 4}, "time": {"max": "8:00:00"}}
    assert seen["can_submit"] is True


def test_where_there_is_no_sbatch_it_says_so(contract, viewer, session_viewer, slurm):
    slurm.locate = lambda name: None
    for one in (viewer, session_viewer):
        seen = site_view(one)
        contract.check_schema("Site", seen)
        assert seen["can_submit"] is False and seen["cannot_submit_reason"]["zh"]


def test_the_session(contract, viewer, session_viewer, monkeypatch):
    assert session_view(viewer) == {"in_slurm": False}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    seen = session_view(session_viewer)
    contract.check_schema("Session", seen)
    assert (seen["job_id"], seen["gpus"], seen["cuda_visible_devices"]) == ("7", 2, "0,1")


def test_what_is_free(contract, viewer, slurm):
    node = "NodeName=gpu01 CPUTot=32 Gres=gpu:a100:4 GresUsed=gpu:a100:1(IDX:0) State=MIXED Partitions=gpu-a100\n"
    partition = "PartitionName=gpu-a100 MaxTime=08:00:00 State=UP\n"
    slurm.answers["scontrol"] = lambda argv, _: done(argv, node if "node" in argv else partition)
    seen = inventory_view(viewer)
    contract.check_schema("Inventory", seen)
    assert seen["partitions"][0]["gpus"] == [{"type": "a100", "total": 4, "used": 1}]


def test_a_session_sees_its_paths_and_the_folder_has_the_hosts(session_viewer, viewer, notebook):
    source = notebook("work/t.ipynb")
    shown = str(source).replace(viewer.home, session_viewer.in_session.home_inside)
    run = submit(session_viewer, RunRequest(path=shown, profile="a100"))
    assert run.source == shown
    assert run.folder.startswith(session_viewer.in_session.home_inside)
    request = json.loads((Path(run.folder) / "request.json").read_text())
    assert request["source"] == str(source)
    assert request["workdir"] == "/workspace/user1/work"
    assert request["image"]["digest"] == "sha256:" + "0" * 64
    assert request["submitted_from"]["session_job"] == "7"
    script = (Path(run.folder) / "job.sh").read_text()
    assert f"#SBATCH --chdir={viewer.home}/siflab-runs/" in script
    assert session_viewer.in_session.home_inside not in script, "nothing of the session's own view"
    assert get_run(viewer, run.id).source == str(source)


def test_a_kernel_of_the_image_is_known_in_a_session_of_that_image(
    session_viewer, viewer, notebook, monkeypatch, tmp_path
):
    spec = tmp_path / "jupyter" / "kernels" / "ir"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text('{"language": "R"}')
    monkeypatch.setattr("siflab.notebook.kernels._folders", lambda: [tmp_path / "jupyter"])
    shown = str(notebook()).replace(viewer.home, session_viewer.in_session.home_inside)
    with pytest.raises(Invalid) as caught:
        submit(session_viewer, RunRequest(path=shown, profile="a100", kernel="julia"))
    (error,) = caught.value.errors
    assert (error.field, error.code) == ("kernel", "no-such-kernel")
    assert "ir" in error.message.en


def test_a_path_that_only_the_container_has_is_refused(session_viewer, tmp_path):
    lonely = tmp_path / "image" / "t.ipynb"
    lonely.parent.mkdir()
    lonely.write_text('{"nbformat": 4, "cells": [{"cell_type": "code", "source": "1"}]}')
    with pytest.raises(Invalid) as caught:
        submit(session_viewer, RunRequest(path=str(lonely), profile="a100"))
    assert caught.value.errors[0].code == "not-in-job"


def test_a_root_that_a_session_does_not_see(session_viewer, site_data):
    site = parse_site({**site_data, "runs": {"root": "/elsewhere/runs"}})
    other = Viewer(site, session_viewer.slurm, "user1", session_viewer.home, session_viewer.in_session)
    with pytest.raises(Internal) as caught:
        list_runs(other)
    assert "runs.root" in caught.value.message.en


def test_the_viewer_of_this_process(monkeypatch, site_data, tmp_path):
    site = parse_site(site_data)
    here = Viewer.here(site)
    assert here.in_session is None and here.shown("/a/../b") == "/b" == here.host("/b")
    (tmp_path / "private" / "bin").mkdir(parents=True)
    session = tmp_path / "private" / "session.json"
    session.write_text(
        json.dumps(
            {
                "user": "user1",
                "binds": ["/home:/workspace"],
                "home_host": "/home/user1",
                "home_inside": "/workspace/user1",
            }
        )
    )
    monkeypatch.setenv("SIFLAB_SESSION", str(session))
    inside = Viewer.here(site)
    assert (
        inside.user == here.user
        and inside.home == "/home/user1"
        and inside.slurm.bin_dir == str(tmp_path / "private" / "bin")
    )
    assert inside.host("/workspace/user1/x") == "/home/user1/x"
    assert inside.host("/opt/x") is None and inside.seen("/opt/x") is None and inside.shown("/opt/x") == "/opt/x"
    assert inside.binds == (Bind(source="/home", target="/workspace"),)


@pytest.mark.parametrize("version", ["22.05", "24.11"])
def test_the_log_piece_by_piece(contract, viewer, slurm, request_for, version):
    slurm.version = version
    run = submit(viewer, request_for())
    empty = read_log(viewer, run.id)
    contract.check_schema("LogPiece", empty.as_dict())
    assert (empty.text, empty.size, empty.complete) == ("", 0, False)
    folder = begin(run.folder, "42")
    log = folder.attempt(1).run_log
    log.write_bytes("中文\n".encode() + "训".encode()[:2])
    slurm.queued("42", "RUNNING")
    piece = read_log(viewer, run.id, None, 0)
    assert (piece.text, piece.next_offset, piece.size) == ("中文\n", 7, 9), "half a character is kept for later"
    log.write_bytes("中文\n训练\n".encode())
    assert read_log(viewer, run.id, None, piece.next_offset).text == "训练\n"
    assert read_log(viewer, run.id, 1, -4).text.endswith("\n")
    assert read_log(viewer, run.id, None, 999).offset == 14
    end(folder)
    slurm.accounted("42", "COMPLETED")
    assert read_log(viewer, run.id, None, 7).complete
    assert not read_log(viewer, run.id, None, 0, limit=8).complete


def test_a_log_of_any_size_comes_in_pieces(viewer, slurm, request_for):
    run = submit(viewer, request_for())
    folder = begin(run.folder, "42")
    text = "".join(f"line {i} 中\n" for i in range(60_000))
    folder.attempt(1).run_log.write_text(text, "utf-8")
    end(folder)
    slurm.accounted("42", "COMPLETED")
    slurm.asked.clear()
    offset, parts = 0, []
    while True:
        piece = read_log(viewer, run.id, None, offset)
        assert len(piece.text.encode()) <= 256 * 1024
        parts.append(piece.text)
        offset = piece.next_offset
        if piece.complete:
            break
    assert "".join(parts) == text
    assert len(parts) > 3 and slurm.count("squeue") == 1, "Slurm is asked at the end, and not before each piece"


def test_when_no_attempt_began_the_log_is_what_slurm_said(viewer, slurm, request_for):
    run = submit(viewer, request_for())
    (Path(run.folder) / "train-42.out").write_text("slurmstepd: error: no space\n")
    assert read_log(viewer, run.id).text == ""
    slurm.accounted("42", "FAILED", "0:53")
    piece = read_log(viewer, run.id)
    assert piece.text == "slurmstepd: error: no space\n" and piece.complete


def test_a_log_while_slurm_is_away_is_not_complete(viewer, slurm, request_for):
    run = submit(viewer, request_for())
    begin(run.folder, "42")
    slurm.answers["squeue"] = UNREACHABLE
    assert not read_log(viewer, run.id).complete


def test_nothing_of_the_readers_environment_is_in_the_script(viewer, request_for, monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "s3cret-token")
    run = submit(viewer, request_for())
    for path in Path(run.folder).iterdir():
        assert b"s3cret-token" not in path.read_bytes()
