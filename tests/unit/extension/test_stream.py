"""What one page is sent when it is slow, when nothing happens, when its wishes change, and when reading fails."""

import asyncio
import json

import pytest

from siflab.errors import Internal, NotFound, SlurmUnreachable
from siflab.text import Text
from siflab_extension.events import FollowLog
from siflab_extension.log_follower import LogFollower
from siflab_extension.outbox import Outbox
from siflab_extension.stream import Stream, StreamPace
from siflab_extension.watcher import Pace, Watcher
from tests.unit.extension.fake_runs import sample_run

FOLLOW_LOG = '{"follow": {"logs": [{"id": "a"}]}}'


class Link:
    """A connection whose other side takes an event when the test says so."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue = asyncio.Queue()
        self.takes = asyncio.Semaphore(0)

    async def send(self, event) -> None:
        await self.sent.put(event)
        await self.takes.acquire()

    async def next(self):
        event = await asyncio.wait_for(self.sent.get(), 5)
        self.takes.release()
        return event


class Log:
    """A log without end, given in pieces of 10 bytes; `answers` come first."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.reads = []

    async def read(self, run_id, attempt, offset):
        self.reads.append(offset)
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        return piece(offset, offset + 10, size=10**9)

    read_log = read

    async def read_metrics(self, wish, position):
        """As `read`, but a step a time; the answers of a list are (position, complete), or failures."""
        self.reads.append(position)
        answer = self.answers.pop(0) if self.answers else (f"1:{len(self.reads)}", False)
        if isinstance(answer, Exception):
            raise answer
        return {"position": answer[0], "whole": position is None, "complete": answer[1]}


def piece(start, end, *, size=None, complete=False):
    size = end if size is None else size
    return {"text": "x" * (end - start), "offset": start, "next_offset": end, "size": size, "complete": complete}


class Looks:
    """In the place of `list_runs`: gives one answer after the other, and counts."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.count = 0

    async def __call__(self):
        self.count += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return {"runs": answer, "slurm": {"reachable": True}}


@pytest.fixture
def make_stream(jp_asyncio_loop):
    streams = []

    def make(link, log=None, looks=None, pace=None, watch=None):
        watcher = Watcher(looks or Looks([]), watch or Pace(3600, 3600, 3600))
        streams.append(Stream(link.send, watcher, log or Log(), pace or StreamPace(3600, 0.001, 0.001)))
        return streams[-1], watcher

    yield make

    async def stopping():
        for stream in streams:
            stream.stop()
        if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(tasks, timeout=5)

    jp_asyncio_loop.run_until_complete(stopping())


async def test_a_log_is_read_no_faster_than_the_page_takes_it(make_stream):
    link, log = Link(), Log()
    stream, _ = make_stream(link, log)
    stream.receive(FOLLOW_LOG)
    await link.sent.get()
    for _ in range(100):
        await asyncio.sleep(0)
    assert log.reads == [0, 10, 20]  # one at the page, one in the outbox, one that waits for room

    link.takes.release()
    assert [(await link.next())["log"]["offset"] for _ in range(20)] == list(range(10, 210, 10))


async def test_a_slow_page_gets_the_newest_state_only(make_stream):
    link = Link()
    states = [[sample_run("a", name=f"look {number}")] for number in range(5)]
    looks = Looks(*states)
    stream, _watcher = make_stream(link, looks=looks, watch=Pace(0, 0, 0))
    stream.receive('{"follow": {"runs": true}}')
    assert (await link.sent.get())["run"]["name"] == "look 0"
    while looks.count < 6:
        await asyncio.sleep(0)
    link.takes.release()

    assert (await link.next())["type"] == "slurm"
    assert (await link.next())["run"]["name"] == "look 4"
    assert link.sent.empty()


async def test_a_log_that_cannot_be_read_is_told_once_and_tried_again(make_stream):
    failure = SlurmUnreachable(Text("no answer", "无响应"))
    log = Log(failure, failure, piece(0, 5), Internal(Text("disk", "磁盘")), piece(5, 9, complete=True))
    link = Link()
    stream, _ = make_stream(link, log)
    stream.receive(FOLLOW_LOG)

    events = [await link.next() for _ in range(4)]
    assert [event["message"]["en"] if event["type"] == "error" else event["log"]["text"] for event in events] == [
        "no answer",
        "x" * 5,
        "disk",
        "x" * 4,
    ]
    assert log.reads == [0, 0, 0, 5, 5]


async def test_a_silent_log_sends_nothing_but_its_first_piece(make_stream):
    log = Log(piece(0, 0), piece(0, 0), piece(0, 0), piece(0, 3, complete=True))
    link = Link()
    stream, _ = make_stream(link, log)
    stream.receive(FOLLOW_LOG)

    assert [(await link.next())["log"]["text"] for _ in range(2)] == ["", "xxx"]
    assert log.reads == [0, 0, 0, 0]


@pytest.mark.parametrize("last", [piece(0, 3, complete=True), NotFound(Text("no such run", "没有该任务"))])
async def test_following_ends_with_the_run_or_without_one(last):
    log, outbox = Log(last), Outbox()
    follower = LogFollower(FollowLog("a"), log.read, outbox, 0.001)
    await asyncio.wait_for(follower.task, 5)

    assert log.reads == [0]
    assert (await outbox.take())["id"] == "a"


WISHES = [  # after the bytes 20 to 40 of attempt None were sent
    (20, None, 20),  # the beginning again
    (21, None, 40),  # the page had read so far when it wrote this, and will get what is under way
    (40, None, 40),
    (51, None, 51),
    (0, None, 0),
    (-5, None, -5),
    (30, 1, 30),
]


@pytest.mark.parametrize(("offset", "attempt", "next_read"), WISHES)
async def test_a_new_wish_goes_on_or_begins_anew(offset, attempt, next_read, make_stream):
    log = Log(piece(20, 30, size=50), piece(30, 40, size=50))
    link = Link()
    stream, _ = make_stream(link, log)
    stream.receive('{"follow": {"logs": [{"id": "a", "offset": 20}]}}')
    assert (await link.next())["log"]["offset"] == 20
    assert (await link.sent.get())["log"]["offset"] == 30
    while len(log.reads) < 4:  # 40 waits in the outbox, 50 for room there
        await asyncio.sleep(0)
    wish = {"id": "a", "offset": offset} | ({"attempt": attempt} if attempt else {})
    stream.receive(json.dumps({"follow": {"runs": True, "logs": [wish]}}))
    link.takes.release()

    event = await link.next()
    while event["type"] != "log":
        event = await link.next()
    assert event["log"]["offset"] == next_read


async def test_it_pings(make_stream):
    link = Link()
    make_stream(link, pace=StreamPace(ping=0.001))

    assert [await link.next() for _ in range(2)] == [{"type": "ping"}] * 2


async def test_a_stopped_stream_leaves_no_task(make_stream):
    link = Link()
    stream, watcher = make_stream(link)
    stream.receive('{"follow": {"runs": true, "logs": [{"id": "a"}]}}')
    await link.next()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    assert len(tasks) >= 4  # it writes, pings, follows a log, and the watcher looks
    stream.stop()
    stream.stop()

    _, left = await asyncio.wait(tasks, timeout=5)
    assert (left, watcher.looking) == (set(), False)


async def test_an_outbox_keeps_order_and_one_event_for_each_key():
    outbox = Outbox()
    for key, value in [("a", 1), ("b", 2), ("a", 3), ("c", 4)]:
        outbox.post(key, {"value": value})
    outbox.drop("c")
    outbox.drop("never there")

    assert [(await outbox.take())["value"] for _ in range(2)] == [3, 2]


FOLLOW_METRICS = '{"follow": {"metrics": [{"id": "a"}]}}'


async def test_metrics_are_followed_to_the_end_and_a_failure_is_told_once(make_stream):
    failure = SlurmUnreachable(Text("no answer", "无响应"))
    log = Log(failure, failure, ("1:5", False), ("1:5", False), ("1:5", False), ("1:10", False), ("1:10", True))
    link = Link()
    stream, _ = make_stream(link, log)
    stream.receive(FOLLOW_METRICS)
    events = [await link.next() for _ in range(4)]
    assert (events[0]["type"], events[0]["of"], events[0]["id"]) == ("error", "metrics", "a")
    assert [event["metrics"]["position"] for event in events[1:]] == ["1:5", "1:10", "1:10"], "what is new, and the end"
    assert log.reads == [None, None, None, "1:5", "1:5", "1:5", "1:10"]


@pytest.mark.parametrize(
    ("wish", "next_read"),
    [({"position": "1:2"}, "1:4"), ({}, None), ({"attempt": 1, "position": "1:2"}, "1:2"), ({"point": 0}, None)],
)
async def test_a_new_wish_for_metrics_goes_on_or_begins_anew(wish, next_read, make_stream):
    link, log = Link(), Log()
    stream, _ = make_stream(link, log)
    stream.receive(FOLLOW_METRICS)
    await link.sent.get()
    while len(log.reads) < 3:  # the second waits in the outbox, the third for room there
        await asyncio.sleep(0)
    stream.receive(json.dumps({"follow": {"metrics": [{"id": "a", **wish}]}}))
    link.takes.release()
    while len(log.reads) < 4:
        event = await link.next()
        assert event["type"] == "metrics"
    assert log.reads[3] == (next_read if next_read != "1:4" else "1:3")
