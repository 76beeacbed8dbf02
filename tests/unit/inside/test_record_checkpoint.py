"""What a notebook may import in its run."""

import json

import pytest

import siflab


class Scalar:
    def item(self):
        return 0.25


@pytest.mark.parametrize(
    ("given", "kept"),
    [(1, 1), (0.5, 0.5), ("a", "a"), (None, None), (True, True), (Scalar(), 0.25), (float("nan"), "nan"), ("\ud83d", "?")],
)  # fmt: skip
def test_a_value_is_recorded(inside_run, given, kept):
    siflab.record(loss=given)
    siflab.record(loss=2)
    lines = [json.loads(line) for line in inside_run.attempt.metrics.read_text().splitlines()]
    assert [line["values"] for line in lines] == [{"loss": kept}, {"loss": 2}]


def test_a_value_that_is_none_of_these_is_refused(inside_run):
    with pytest.raises(TypeError, match=r"record\(loss=\.\.\.\).*list"):
        siflab.record(loss=[1])


def test_the_rank_is_noted(inside_run, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    siflab.record(loss=1)
    assert json.loads(inside_run.attempt.metrics.read_text())["rank"] == 3


def test_outside_of_a_run_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("SIFLAB_RUN_FOLDER", raising=False)
    monkeypatch.chdir(tmp_path)
    siflab.record(loss=1)
    assert not siflab.checkpoint.stop_requested() and list(tmp_path.iterdir()) == []


def test_the_newest_checkpoints_are_kept_and_loaded(inside_run):
    for step in range(5):
        siflab.checkpoint.save({"step": step}, step)
    assert sorted(path.name for path in siflab.checkpoint.folder().iterdir()) == [
        f"step-{n:010d}.ckpt" for n in (2, 3, 4)
    ]
    assert siflab.checkpoint.load() == {"step": 4}


def test_a_torn_checkpoint_is_passed_over_aloud(inside_run, capsys):
    siflab.checkpoint.save({"step": 1}, 1)
    siflab.checkpoint.save({"step": 2}, 2).write_bytes(b"\x80torn")
    assert siflab.checkpoint.load() == {"step": 1}
    assert "step-0000000002.ckpt is passed over" in capsys.readouterr().err


def test_a_save_that_fails_leaves_the_old_one(inside_run):
    siflab.checkpoint.save({"step": 1}, 1)
    with pytest.raises(Exception, match="pickle"):
        siflab.checkpoint.save({"step": lambda: None}, 1)
    assert siflab.checkpoint.load() == {"step": 1}
    assert [path.name for path in siflab.checkpoint.folder().iterdir()] == ["step-0000000001.ckpt"]


def test_without_a_checkpoint_there_is_none(inside_run):
    assert siflab.checkpoint.load() is None


def test_a_notebook_that_asks_is_known_to_ask(inside_run):
    attempt = inside_run.attempt
    assert not siflab.checkpoint.stop_requested()
    assert attempt.heeds_stop.exists()
    attempt.stop.touch()
    assert siflab.checkpoint.stop_requested()
