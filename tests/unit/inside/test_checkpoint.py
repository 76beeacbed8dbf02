"""The checkpoint helper without torch; with it: tests/cluster/test_checkpoint_torch.py, in an image that has it."""

import errno
import os
import random
import subprocess
import sys

import pytest

from siflab.inside import checkpoint, checkpoint_files, checkpoint_state, stopping
from siflab.inside.checkpoint_files import Torn, check


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(checkpoint, "_hooks", [])
    monkeypatch.setattr(checkpoint, "_swept", False)


class Part:
    def __init__(self, value):
        self.value = value

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


class DistributedDataParallel(Part):
    def __init__(self, module):
        self.module = module

    def state_dict(self):
        return {f"module.{name}": value for name, value in self.module.state_dict().items()}


class Sampler:
    epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch


def names():
    return sorted(path.name for path in checkpoint.folder().iterdir())


def test_the_parts_of_a_training_come_back(inside_run):
    sampler = Sampler()
    sampler.set_epoch(4)
    random.seed(5)
    checkpoint.save(
        epoch=4, model=DistributedDataParallel(Part(1)), optimizer=[Part(2), Part(3)], scheduler=Part(4), scaler=Part(5),
        sampler=sampler, rng=True, ema=Part(6), best=0.25,
    )  # fmt: skip
    drawn = random.random()
    model, optimizers, others = Part(0), [Part(0), Part(0)], [Part(0), Part(0), Part(0)]
    sampler = Sampler()
    state = checkpoint.restore(
        model=model, optimizer=optimizers, scheduler=others[0], scaler=others[1], ema=others[2], sampler=sampler
    )
    assert (state["step"], state["epoch"], state["best"], sampler.epoch) == (4, 4, 0.25, 4)
    assert [part.value for part in [model, *optimizers, *others]] == [1, 2, 3, 4, 5, 6]
    assert random.random() == drawn
    assert names() == ["step-0000000004.ckpt"]


@pytest.mark.parametrize(
    ("restored", "error"),
    [({"scheduler": Part(0)}, KeyError), ({"sampler": Sampler()}, KeyError), ({"model": [Part(0), Part(0)]}, ValueError)],
)  # fmt: skip
def test_a_part_that_was_not_saved_is_an_error(inside_run, restored, error):
    checkpoint.save(step=1, model=[Part(1)])
    with pytest.raises(error):
        checkpoint.restore(**restored)


def test_parts_and_a_value_that_is_no_dict_are_not_saved_together(inside_run):
    with pytest.raises(TypeError, match="dict, not list"):
        checkpoint.save([1], 1, model=Part(1))
    checkpoint.save([1], 1)
    with pytest.raises(TypeError, match="holds a list"):
        checkpoint.restore(model=Part(0))
    assert checkpoint.load() == [1]


def test_steps_follow_each_other(inside_run):
    for given in ({}, {}, {"epoch": 7}, {}):
        checkpoint.save({"a": 1}, keep=9, **given)
    assert [checkpoint_files.step_of(path) for path in checkpoint.saved()] == [0, 1, 7, 8]
    assert checkpoint.restore() == {"a": 1}


def test_nothing_of_a_torn_file_is_taken(inside_run, capsys):
    checkpoint.save({"step": 1}, 1)
    path = checkpoint.save({"step": 2, "much": list(range(1000))}, 2)
    whole = path.read_bytes()
    chance = random.Random(3)
    for cut in [0, 1, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(50))]:
        path.write_bytes(whole[:cut])
        assert checkpoint.load() == {"step": 1}, cut
    for _ in range(50):
        at = chance.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(Torn):
            check(path)
    assert "step-0000000002.ckpt is passed over" in capsys.readouterr().err
    path.write_bytes(whole)
    assert checkpoint.load()["step"] == 2


def test_a_pickle_is_refused_where_only_weights_are_wanted(inside_run, capsys):
    checkpoint.save({"a": 1}, 1)
    assert checkpoint.load(weights_only=True) is None and "weights_only refuses" in capsys.readouterr().err
    assert checkpoint.load() == {"a": 1}


def test_a_killed_writer_leaves_the_older_one(inside_run):
    code = (
        "import os, sys; from siflab import checkpoint\n"
        "class Slow:\n  def __reduce__(self): print('half', flush=True); sys.stdin.read()\n"
        "checkpoint.save({'step': 1}, 1); checkpoint.save(['x' * 100_000, Slow()], 2)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, **pipes) as writer:
        assert writer.stdout.readline() == b"half\n"
        writer.kill()
    assert len([name for name in names() if name.endswith(".tmp")]) == 1
    assert checkpoint.load() == {"step": 1}
    checkpoint.save({"step": 2}, 2)  # the next attempt's
    assert names() == ["step-0000000001.ckpt", "step-0000000002.ckpt"]


def test_a_full_disk_costs_older_checkpoints_but_not_the_newest(inside_run, monkeypatch, capsys):
    for step in (1, 2):
        checkpoint.save({"step": step}, step)
    dump = checkpoint.pickle.dump

    def full(content, file, **options):
        if len(checkpoint.saved()) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        dump(content, file, **options)

    monkeypatch.setattr(checkpoint.pickle, "dump", full)
    checkpoint.save({"step": 3}, 3)
    assert names() == ["step-0000000002.ckpt", "step-0000000003.ckpt"]
    assert "older checkpoints than step-0000000002.ckpt were removed" in capsys.readouterr().err


def test_a_rank_keeps_its_own_random_numbers(inside_run, monkeypatch):
    drawn = {}
    monkeypatch.setenv("WORLD_SIZE", "2")
    for step in range(5):
        for rank in (1, 0):
            monkeypatch.setenv("RANK", str(rank))
            random.seed(10 * step + rank)
            checkpoint.save(step=step, model=Part(rank), rng=True, keep=2)
            drawn[rank] = random.random()
    assert names() == [name for step in (3, 4) for name in (f"step-{step:010d}.ckpt", f"step-{step:010d}.rank-1.ckpt")]
    for rank in (0, 1):
        monkeypatch.setenv("RANK", str(rank))
        model = Part(None)
        checkpoint.restore(model=model)
        assert (model.value, random.random()) == (0, drawn[rank])


def test_a_rank_without_its_file_goes_on_aloud(inside_run, monkeypatch, capsys):
    checkpoint.save(step=1, rng=True)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert checkpoint.restore()["step"] == 1
    assert "the random numbers of rank 1 begin anew" in capsys.readouterr().err


@pytest.mark.parametrize("value", [1, 2.5, "a", b"a", None, True, [1, (2, "b")], {"a": {1: [None]}}])
def test_plain_values_stay_the_same_object(value):
    assert checkpoint_state.as_plain(value) == (value, True)
    assert checkpoint_state.as_plain(value)[0] is value


@pytest.mark.parametrize("value", [object(), {"a": [object()]}, {(1, 2): 3}, {1, 2}])
def test_what_is_not_plain_is_known(value):
    assert checkpoint_state.as_plain(value)[1] is False


def test_hooks_are_called_and_their_end_is_known(inside_run, capsys):
    called, attempt = [], inside_run.attempt

    def hook(name, action=lambda: None):
        def function():
            called.append(name)
            action()

        function.__qualname__ = name
        return checkpoint.on_stop(function)

    hook("first")
    hook("second", lambda: 1 / 0)
    assert stopping.answers(attempt) == {stopping.HOOK}
    attempt.stop.touch()
    assert checkpoint.run_stop_hooks() is False
    assert called == ["second", "first"] and "ZeroDivisionError" in capsys.readouterr().err
    assert stopping.SAVED not in stopping.answers(attempt)
    hook("second")  # as when its cell runs again
    assert checkpoint.run_stop_hooks() is True
    assert called == ["second", "first", "second", "first"]
    assert stopping.SAVED in stopping.answers(attempt)


def test_a_checkpoint_counts_as_saved_only_after_the_stop(inside_run):
    checkpoint.save({"a": 1}, 1)
    assert stopping.answers(inside_run.attempt) == frozenset()
    inside_run.attempt.stop.touch()
    assert checkpoint.should_stop() and checkpoint.stop_requested is checkpoint.should_stop
    checkpoint.save({"a": 1}, 2)
    assert stopping.answers(inside_run.attempt) == {stopping.SEEN, stopping.SAVED}
