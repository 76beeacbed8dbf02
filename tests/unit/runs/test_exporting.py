"""One archive of a run: complete, readable, and with nothing that was not asked for."""

import json
import os
import re
import tarfile
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

from siflab.errors import Conflict, Internal, Invalid
from siflab.inside import Failure
from siflab.runs import RunRequest, export, rerun, submit
from siflab.runs.exporting import LOG_LIMIT
from tests.unit.runs.attempt_files import begin, end


@pytest.fixture
def run(viewer, slurm, notebook):
    path = notebook("t.ipynb", "print('<script>alert(1)</script>')")
    run = submit(viewer, RunRequest(path=str(path), profile="a100", name="<b>train</b>"))
    folder = begin(run.folder, "42")
    for name in ("checkpoints", "outputs"):
        (folder.path / name).mkdir()
        (folder.path / name / "data.bin").write_bytes(b"x" * 1000)
    end(folder, "failed", code=1, error=Failure("ValueError", "</pre><img src=x>", 0, 1, 1, ""))
    slurm.accounted("42", "FAILED", "1:0")
    return run


def names_in(path):
    if path.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            return {name.partition("/")[2] for name in archive.namelist()}
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isreg()}


def read(path, name):
    with tarfile.open(path) as archive:
        member = next(member for member in archive if member.name.partition("/")[2] == name)
        return archive.extractfile(member).read()


@pytest.mark.parametrize("ending", [".tar.gz", ".tgz", ".zip"])
def test_what_is_in_it(viewer, run, tmp_path, ending):
    done = export(viewer, run.id, str(tmp_path / f"e{ending}"))
    names = names_in(done.path)
    expected = {"index.html", "provenance.json", "request.json", "run.json", "job.sh", "input.ipynb", "submission.json"}
    assert expected | {"attempts/1/output.ipynb", "attempts/1/result.json", "attempts/1/logs/run.log"} <= names
    assert (
        not {name for name in names if name.startswith(("checkpoints", "outputs", "."))} and "runner.pyz" not in names
    )
    assert (done.files, done.left_out, done.cut) == (len(names), ("checkpoints", "outputs"), ())
    assert Path(done.path).stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) and not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


def test_data_when_it_is_asked_for_also_behind_a_link_to_scratch(viewer, run, tmp_path):
    scratch = tmp_path / "scratch"
    (Path(run.folder) / "checkpoints").rename(scratch)
    (Path(run.folder) / "checkpoints").symlink_to(scratch)
    (scratch / "secret").symlink_to("/etc/passwd")
    (scratch / "away").symlink_to("/etc")
    done = export(viewer, run.id, str(tmp_path / "e.tar.gz"), checkpoints=True)
    names = names_in(done.path)
    assert "checkpoints/data.bin" in names and done.left_out == ("outputs",)
    assert not {name for name in names if "secret" in name or "away" in name}
    assert "outputs/data.bin" in names_in(export(viewer, run.id, str(tmp_path / "o.zip"), outputs=True).path)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src")]


def test_the_index_is_readable_and_harmless(viewer, run, tmp_path):
    page = read(export(viewer, run.id, str(tmp_path / "e.tar.gz")).path, "index.html").decode()
    tags = Tags()
    tags.feed(page)
    assert not {"script", "img", "b", "iframe", "link"} & set(tags.tags)
    assert "attempts/1/output.ipynb" in tags.links and not [
        link for link in tags.links if ":" in link or link[0] == "/"
    ]
    assert "&lt;script&gt;alert(1)" in page and "&lt;b&gt;train" in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert "ValueError" in page and run.source_sha256 in page and "失败" in page
    assert not re.search(r"https?://(?!docs)", page)


def test_provenance_is_in_it(viewer, run, tmp_path):
    told = json.loads(read(export(viewer, run.id, str(tmp_path / "e.tar.gz")).path, "provenance.json"))
    assert told["attempts"][0]["status"] == "failed" and told["source"]["sha256"] == run.source_sha256


def test_long_logs_keep_both_ends(viewer, run, tmp_path):
    log = Path(run.folder) / "attempts/1/logs/run.log"
    log.write_text("first line\n" + "middle\n" * (LOG_LIMIT // 4) + "last line\n")
    done = export(viewer, run.id, str(tmp_path / "e.tar.gz"))
    text = read(done.path, "attempts/1/logs/run.log").decode()
    assert text.startswith("first line\n") and text.endswith("last line\n") and "left out" in text
    assert len(text) <= LOG_LIMIT + 200 and done.cut == ("attempts/1/logs/run.log",)


def test_an_unpacked_export_can_be_repeated(viewer, run, tmp_path):
    done = export(viewer, run.id, str(tmp_path / "e.tar.gz"))
    with tarfile.open(done.path) as archive:
        archive.extractall(tmp_path / "here")
    again = rerun(viewer, tmp_path / "here" / Path(run.folder).name)
    assert again.run.source_sha256 == run.source_sha256 and again.differences == ()


def test_secret_parameters_are_named(viewer, slurm, notebook, tmp_path):
    path = notebook("p.ipynb", "api_token = ''")
    data = json.loads(path.read_text())
    data["cells"][0]["metadata"]["tags"] = ["parameters"]
    path.write_text(json.dumps(data))
    run = submit(viewer, RunRequest(path=str(path), profile="a100", parameters={"api_token": "s3cret"}))
    assert export(viewer, run.id, str(tmp_path / "e.zip")).secrets == ("api_token",)


def test_what_is_refused_leaves_nothing(viewer, run, tmp_path, monkeypatch):
    there = tmp_path / "there.zip"
    there.write_text("mine")
    with pytest.raises(Conflict):
        export(viewer, run.id, str(there))
    assert there.read_text() == "mine"
    with pytest.raises(Invalid):
        export(viewer, run.id, str(tmp_path / "e.rar"))
    with pytest.raises(Internal):
        export(viewer, run.id, str(tmp_path / "nowhere" / "e.zip"))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("siflab.runs.exporting._Tar.add_file", full)
    with pytest.raises(Internal) as caught:
        export(viewer, run.id, str(tmp_path / "full.tar.gz"))
    assert "No space left" in caught.value.message.en
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith((".", "full"))] == []


def test_a_file_that_shrinks_meanwhile(viewer, run, tmp_path, monkeypatch):
    """The archive is whole all the same."""
    log = Path(run.folder) / "attempts/1/logs/run.log"
    log.write_text("x" * 1000)
    facts = log.stat
    real = Path.lstat
    monkeypatch.setattr(Path, "lstat", lambda self: _then_cut(self, real, log))
    done = export(viewer, run.id, str(tmp_path / "e.tar.gz"))
    assert len(read(done.path, "attempts/1/logs/run.log")) == 1000 and facts().st_size == 10


def _then_cut(path, real, log):
    facts = real(path)
    if path == log:
        log.write_text("x" * 10)
    return facts


def test_a_journal_is_there_whole_where_it_is_needed(viewer, run, tmp_path):
    """Cut, it would be replayed into a notebook that lacks its middle."""
    attempt = Path(run.folder) / "attempts/1"
    (attempt / "outputs.jsonl").write_text("x" * (LOG_LIMIT + 100))
    assert "attempts/1/outputs.jsonl" not in names_in(export(viewer, run.id, str(tmp_path / "a.tar.gz")).path)
    (attempt / "result.json").unlink()
    done = export(viewer, run.id, str(tmp_path / "b.tar.gz"))
    assert len(read(done.path, "attempts/1/outputs.jsonl")) == LOG_LIMIT + 100 and done.cut == ()
