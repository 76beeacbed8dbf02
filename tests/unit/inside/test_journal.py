"""The journal: what was written is read, and a torn line costs no other."""

import errno
import json
import os

import pytest

from siflab.inside import journal as journal_module
from siflab.inside.journal import Journal, read_journal, unpack

TEXTS = ["plain", "训练", "\x1b[31mred\x1b[0m", "a\r\nb\u2028c", "half a pair: \ud83d", "\0", "a" * 100_000]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "outputs.jsonl"


@pytest.mark.parametrize("text", TEXTS, ids=lambda t: ascii(t)[:20])
def test_a_record_comes_back_as_it_was(path, text):
    record = {"type": "stream", "cell": 0, "at": "now", "parent": "p", "content": {"text": text}}
    journal = Journal(path)
    journal.append(record)
    journal.close()
    assert list(read_journal(path)) == [record]


@pytest.mark.parametrize("cut", [1, 2, 10, 30])
def test_a_torn_last_line_is_left_out(path, cut):
    journal = Journal(path)
    first = journal.mark("start", 0)
    journal.mark("done", 0, status="done")
    journal.close()
    os.truncate(path, path.stat().st_size - 1 - cut)
    assert list(read_journal(path)) == [first, None]


@pytest.mark.parametrize("line", [b"", b"\n", b"null\n", b"[1]\n", b'{"no": "type"}\n', b"\xff\xfe\n", b"{"])
def test_a_line_that_is_no_record_is_none(path, line):
    path.write_bytes(b'{"type": "@begin"}\n' + line)
    records = list(read_journal(path))
    assert records[0] == {"type": "@begin"} and set(records[1:]) <= {None}


def test_after_a_full_disk_the_next_record_is_whole_again(path, monkeypatch):
    journal = Journal(path)
    whole = journal_module.write_all

    def full(descriptor, data):
        os.write(descriptor, data[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal_module, "write_all", full)
    journal.mark("start", 0)
    monkeypatch.setattr(journal_module, "write_all", whole)
    last = journal.mark("done", 0, status="done")
    assert (journal.lost, journal.error.errno) == (1, errno.ENOSPC)
    assert list(read_journal(path)) == [None, last]


def test_it_is_begun_anew_before_it_grows_without_end(path):
    journal, largest, states = Journal(path, least=5000), 0, 0

    def state():
        nonlocal states
        states += 1
        return {"states": states, "text": "x" * 2000}

    begin = journal.mark("begin", version=1)
    for n in range(1000):
        journal.append({"type": "stream", "cell": 0, "at": "now", "parent": "p", "content": {"text": f"{n}\r"}})
        journal.shorten_if_due(state)
        assert journal.size == path.stat().st_size
        largest = max(largest, path.stat().st_size)
    journal.close()
    records = list(read_journal(path))
    assert largest < 10_000 and states > 5
    assert (records[0], records[1]["type"], records[1]["state"]["states"]) == (begin, "@state", states)
    texts = [int(record["content"]["text"]) for record in records[2:]]
    assert texts == list(range(texts[0], 1000))


def test_on_a_full_disk_it_stays_as_it_is(path, monkeypatch):
    journal = Journal(path, least=10)
    first = journal.mark("begin", version=1)

    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal_module, "replace_file", full)
    journal.shorten_if_due(dict)
    last = journal.mark("done", 0, status="done")
    assert list(read_journal(path)) == [first, last] and journal.lost == 0


RAW = [
    b'{"name": "stdout", "text": "%s"}' % (b"x" * 5000),
    '{"name": "stdout", "text": "训练 \\n \\u8bad %s"}'.encode() % (b"x" * 5000),
    b'{"name": "stdout", "text": "\xff%s"}' % (b"x" * 5000),
    b'{"name": "stdout",\n"text": "%s"}' % (b"x" * 5000),
    b'{"name": "stdout", "text": "short"}',
    b'["%s"]' % (b"x" * 5000),
]


@pytest.mark.parametrize("raw", RAW, ids=lambda raw: ascii(raw)[:30])
def test_what_came_as_json_is_written_as_it_came(path, raw):
    content = unpack(memoryview(raw))
    assert content == json.loads(raw.decode("utf-8", "replace"))
    record = {"type": "stream", "cell": 0, "at": "now", "parent": "p", "content": content, "buffers": ["eA=="]}
    journal = Journal(path)
    journal.append(record)
    journal.close()
    assert list(read_journal(path)) == [record] and path.read_bytes().count(b"\n") == 1


def test_a_journal_of_what_is_in_the_notebook_is_not_begun_anew(path):
    journal = Journal(path, least=100)
    for _ in range(50):
        journal.mark("done", 0, status="x" * 100)
        journal.shorten_if_due(lambda: pytest.fail("begun anew"), lambda: journal.size)
    journal.close()


def test_an_absent_journal_has_no_records(path):
    assert list(read_journal(path)) == []
