"""Each rule of advice, on samples of a run to which it applies, and on some to which it does not."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from siflab.inside import AttemptFolder
from siflab.runs.usage_advice import RULES, advise
from siflab.runs.usage_samples import read_nodes
from tests.unit.runs.usage_lines import GIB, lines, write


def low(util=28.0):
    return lambda i: {"util": util}


def loading(top=1.0, busy=1.0, blocked=0.0, rate=50_000_000):
    return lambda i: {"top": top, "busy": busy, "blocked": blocked, "read": 5 * rate * i, "disk_read": 5 * rate * i}


@dataclass
class Sample:
    """`codes`: what is said of it; `en`: words that must be in the first."""

    name: str
    found: list[dict[str, Any]]
    codes: list[str]
    en: tuple[str, ...] = ()
    request: dict[str, Any] | None = None
    more: dict[int, list[dict[str, Any]]] = field(default_factory=dict)


def growing(rate, until=10**9, start=10 * GIB):
    return lambda i: {"memory": start + rate * min(i, until), "peak": start + rate * min(i, until)}


def saw(rate, height):
    return lambda i: {"memory": 10 * GIB + rate * i + height * (i % 20)}


def reads(times, data):
    """`data` bytes `times` over, in 400 samples, with the file open."""
    return lambda i: {"disk_read": times * data * i // 400, "read": times * data * i // 400, "open": data}


ROWS = [
    Sample("all is well", lines(400), []),
    Sample("well, but short", lines(4, loading(), low()), []),
    Sample("20 seconds of an idle GPU", lines(4, lambda i: {"cpu": 0.1}, lambda i: {"util": 0.0, "own": 0}), []),
    # GPUs that nobody uses
    Sample(
        "never used",
        lines(60, lambda i: {}, lambda i: {"util": 0.0, "own": 0, "memory": 3 << 20}),
        ["gpu_unused"],
        ("No GPU was used, of 1",),
        {"gpus": 0},
    ),
    Sample(
        "one of four is used",
        lines(60, lambda i: {}, low(90.0), *[lambda i: {"util": 0.0, "own": 0}] * 3),
        ["gpu_unused"],
        ("GPU 1, GPU 2, GPU 3: never used, while 1 of 4",),
        {"gpus": 1},
    ),
    Sample("its memory is in use", lines(60, lambda i: {}, lambda i: {"util": 0.0, "own": 4 * GIB}), []),
    Sample(
        "no figure of processes, and nothing in its memory",
        lines(60, lambda i: {}, lambda i: {"util": 0.0, "own": None, "memory": 400 << 20}),
        ["gpu_unused"],
    ),
    Sample("NVML cannot tell its use (MIG)", lines(60, lambda i: {}, lambda i: {"util": None}), []),
    # a GPU that waits
    Sample(
        "the training process loads the data itself",
        lines(100, loading(), low()),
        ["data_in_main"],
        ("GPU idled 72 % of the time; data loading waits", "num_workers=6"),
        {},
    ),
    Sample(
        "and there are too few CPUs for workers",
        lines(100, loading(), low(), head={"cpus": 2}),
        ["data_in_main"],
        ("num_workers=6", "7 CPUs instead of 2 (--cpus 7)"),
        {"cpus": 7},
    ),
    Sample(
        "two workers are busy",
        lines(100, loading(top=0.95, busy=2.0), low(50.0)),
        ["data_workers"],
        ("2 busy worker processes are not enough", "num_workers=4"),
    ),
    Sample(
        "processes wait for storage",
        lines(100, loading(top=0.2, busy=0.1, blocked=3.0), low(40.0)),
        ["data_storage"],
        ("waits for storage (47 MB/s",),
    ),
    Sample(
        "Python between the steps",
        lines(100, lambda i: {"top": 1.0, "busy": 1.0, "cpu": 1.0}, low(30.0)),
        ["cpu_bound"],
        ("idled 70 %", "not data"),
    ),
    Sample(
        "no cause is seen, and there is room",
        lines(100, lambda i: {"top": 0.3, "busy": 0.0}, lambda i: {"util": 40.0, "memory": 8 * GIB, "own": 8 * GIB}),
        ["gpu_low"],
        ("used 40 % of the time", "at most 10 % full"),
    ),
    Sample(
        "no cause is seen, and it is full",
        lines(100, lambda i: {"top": 0.3, "busy": 0.0}, low(40.0)),
        ["gpu_low"],
        ("many small kernels",),
    ),
    Sample("70 % is enough", lines(100, loading(), low(70.0)), []),
    Sample(
        "before and after the training it may idle",
        lines(200, loading(), lambda i: {"util": 90.0 if 50 <= i < 150 else 0.0}),
        [],
    ),
    Sample(
        "a GPU that is needed in a small part",
        lines(600, lambda i: {}, lambda i: {"util": 90.0 if i > 500 else 0.0}),
        ["gpu_late"],
        ("in use for 8 min of 50 min",),
    ),
    # its memory
    Sample(
        "full to 95 %",
        lines(60, lambda i: {}, lambda i: {"memory": 76 * GIB if i > 40 else 9 * GIB}),
        ["gpu_memory_tight"],
        ("GPU 0 had 5 % of its 80.0 GB free",),
    ),
    Sample("full to 90 %", lines(60, lambda i: {}, lambda i: {"memory": 72 * GIB}), []),
    Sample(
        "a leak on the GPU",
        lines(400, lambda i: {}, lambda i: {"own": 20 * GIB + i * (50 << 20)}),
        ["gpu_memory_grows"],
        ("grows steadily, by 35.2 GB an hour",),
    ),
    # clocks
    Sample(
        "heat",
        lines(100, lambda i: {}, lambda i: {"heat": float(i % 10 == 0), "temp": 91}),
        ["throttled_heat"],
        ("in 10 % of the time that it worked (up to 91", "gpu01"),
    ),
    Sample("heat for a moment", lines(100, lambda i: {}, lambda i: {"heat": float(i == 7)}), []),
    Sample("heat of somebody else's", lines(100, loading(), lambda i: {"heat": 1.0, "util": 0.0}), []),
    Sample("power", lines(100, lambda i: {}, lambda i: {"capped": 1.0}), ["throttled_power"], ("300 W",)),
    Sample("power at times", lines(100, lambda i: {}, lambda i: {"capped": float(i % 4 == 0)}), []),
    # memory of the host
    Sample(
        "a leak",
        lines(400, growing(20 << 20)),
        ["memory_grows"],
        ("grows steadily, by 14.1 GB an hour, to 17.8 GB", "64.0 GB asked for would be full after about 3 h"),
    ),
    Sample("memory that grows in the beginning", lines(400, growing(200 << 20, until=120, start=20 * GIB)), []),
    Sample("and one that has stopped", lines(400, growing(60 << 20, until=300, start=20 * GIB)), []),
    Sample("and one that is ending", lines(400, lambda i: {"memory": 20 * GIB + (min(i, 270) << 26) + (i << 16)}), []),
    Sample("a little", lines(400, growing(1 << 20, start=40 * GIB)), []),
    Sample("it goes up and down", lines(400, saw(0, 1 * GIB)), []),
    Sample("too short to say", lines(60, growing(200 << 20, start=20 * GIB)), []),
    Sample(
        "asked for, and not used",
        lines(200, lambda i: {"memory": 6 * GIB, "peak": 9 * GIB}),
        ["memory_unused"],
        ("Of 64.0 GB of memory asked for, at most 9.0 GB", "--memory 13G"),
        {"memory": "13G"},
    ),
    Sample(
        "the cache of files uses it",
        lines(200, lambda i: {"memory": 6 * GIB, "peak": 6 * GIB, "read": i * GIB, "disk_read": min(i, 30) * GIB}),
        [],
    ),
    Sample("half of it", lines(200, lambda i: {"memory": 32 * GIB, "peak": 32 * GIB}), []),
    # CPUs
    Sample(
        "CPUs that nobody uses",
        lines(200, lambda i: {"cpu": 1.9, "busy": 2.0}, head={"cpus": 16}),
        ["cpus_unused"],
        ("Of 16 CPUs asked for, no more than 1.9", "--cpus 3"),
        {"cpus": 3},
    ),
    Sample(
        "they are used at times",
        lines(200, lambda i: {"cpu": 15.0 if i % 10 == 0 else 1.0}, head={"cpus": 16}),
        [],
    ),
    Sample("three are no waste", lines(200, lambda i: {"cpu": 1.0}, head={"cpus": 3}), []),
    Sample("more workers are advised", lines(200, lambda i: {**loading()(i), "cpu": 1.0}, low()), ["data_in_main"]),
    # data
    Sample(
        "read ten times over",
        lines(400, reads(10, 200 * GIB), files=[(0, "train.h5", 150 * GIB), (6, "val.h5", 50 * GIB)]),
        ["data_local"],
        ("200 GB in large files; the largest is train.h5, 150 GB", "10 times over", "node's own disk"),
    ),
    Sample(
        "and it would fit the memory",
        lines(400, reads(10, 20 * GIB), files=[(0, "train.h5", 20 * GIB)]),
        ["data_local"],
        ("into memory once (it fits)",),
    ),
    Sample("read twice", lines(400, reads(2, 200 * GIB), files=[(0, "train.h5", 200 * GIB)]), []),
    Sample(
        "new files come until the end",
        lines(400, reads(10, 20 * GIB), files=[(i, f"shard-{i}", GIB // 10) for i in range(0, 400, 2)]),
        [],
    ),
    Sample(
        "the file was open once, what is read are small ones",
        lines(400, lambda i: {**reads(10, 20 * GIB)(i), "open": 0}, files=[(0, "model.pt", 2 * GIB)]),
        [],
    ),
]


def told(tmp_path, sample, resources=None):
    folder = AttemptFolder(tmp_path, 1)
    write(folder.folder / "usage.jsonl", sample.found)
    for number, found in sample.more.items():
        write(folder.folder / f"usage-{number}.jsonl", found)
    return advise(read_nodes(folder), resources or {})


@pytest.mark.parametrize("sample", ROWS, ids=lambda sample: sample.name)
def test_what_is_said_of_a_run(sample, tmp_path):
    advice = told(tmp_path, sample)

    assert [one.code for one in advice] == sample.codes
    if advice:
        text = advice[0].said.text
        assert [words for words in sample.en if words not in text.en] == [], text.en
        assert not any(brace in text.en + text.zh for brace in "{}")
        assert any("\u4e00" <= character <= "\u9fff" for character in text.zh)
        assert sample.request is None or dict(advice[0].said.request) == sample.request


def test_every_rule_has_samples_for_and_against_it():
    spoken = {code for sample in ROWS for code in sample.codes}
    functions = {rule.apply.__name__ for rule in RULES}
    assert spoken >= functions
    assert {"data_in_main", "data_workers", "data_storage", "cpu_bound"} <= spoken


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.apply.__name__)
def test_a_run_of_20_seconds_is_too_short_for_any(rule):
    assert rule.seconds > 20
    assert rule.samples > 4


def test_nodes_are_named_where_there_are_several(tmp_path):
    second = lines(60, lambda i: {}, lambda i: {"memory": 78 * GIB}, head={"node": "gpu02", "number": 1})
    sample = Sample("two nodes", lines(60), [], more={1: second})

    [advice] = told(tmp_path, sample)

    assert advice.code == "gpu_memory_tight"
    assert "GPU 0 on gpu02" in advice.said.text.en
    assert "节点 gpu02 的 GPU 0" in advice.said.text.zh


def test_what_was_asked_for_is_taken_from_the_request_where_the_job_cannot_tell(tmp_path):
    found = lines(200, lambda i: {"memory": GIB, "peak": GIB}, head={"memory": None})
    sample = Sample("", found, [])

    assert told(tmp_path, sample) == []
    [advice] = told(tmp_path, sample, {"memory_mib": 32 * 1024, "cpus": 8, "gpus": 1})
    assert "Of 32.0 GB" in advice.said.text.en


def test_samples_without_figures_are_no_reason_to_fail(tmp_path):
    found = [{**line, **dict.fromkeys(("cpu", "util", "memory", "top", "read"), None)} for line in lines(300)]
    assert told(tmp_path, Sample("", found, [])) == []
