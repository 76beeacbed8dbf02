"""What a rank's cells print, gathered."""

import os
import threading

import pytest

from siflab.inside import rank_stream
from siflab.inside.rank_stream import Gathered, Stream


@pytest.fixture
def sent():
    return []


@pytest.fixture
def gathered(sent, monkeypatch):
    monkeypatch.setattr(rank_stream, "_SECONDS", 600)
    return Gathered(lambda kind, content: sent.append((kind, content.get("text"))))


def test_prints_are_one_message_and_in_order_with_others(gathered, sent):
    out, err = (Stream(name, 1, gathered.take) for name in ("stdout", "stderr"))
    print("a", 1, file=out)
    print("b", file=out)
    assert sent == []
    print("c", file=err)
    gathered.take("display_data", {"data": {}})
    print("d", file=out, flush=True)
    assert sent == [("stream", "a 1\nb\n"), ("stream", "c\n"), ("display_data", None), ("stream", "d\n")]


def test_they_come_by_themselves(sent):
    came = threading.Event()
    gathered = Gathered(lambda kind, content: came.set())
    gathered.take("stream", {"name": "stdout", "text": "x"})
    assert came.wait(30)


def test_much_is_not_gathered_for_long(gathered, sent):
    gathered.take("stream", {"name": "stdout", "text": "x" * 2_000_000})
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("stream", {"name": "stdout", "text": "x"}, b"x"),
        ("display_data", {"data": {"text/plain": "7"}}, b"7\n"),
        ("error", {"traceback": ["a", "b"]}, b"a\nb\n"),
        ("clear_output", {"wait": True}, b""),
        ("flush", {}, b""),
    ],
)
def test_a_forked_worker_writes_past_locks_that_nobody_gives_back(gathered, sent, kind, content, text):
    read, write = os.pipe()
    held, over = threading.Event(), threading.Event()

    def hold():
        with gathered._lock:
            held.set()
            over.wait(30)

    threading.Thread(target=hold).start()
    assert held.wait(30)
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1)
        gathered.take(kind, content)
        os._exit(0)
    os.close(write)
    assert os.waitpid(pid, 0)[1] == 0 and sent == []
    over.set()
    with os.fdopen(read, "rb") as stream:
        assert stream.read() == text


def test_only_text_is_written(gathered):
    with pytest.raises(TypeError, match="bytes"):
        Stream("stdout", 1, gathered.take).write(b"x")
