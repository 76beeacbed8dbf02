"""How often the runs are looked at, and for whom."""

import asyncio
import itertools

import pytest

from siflab_extension.watcher import Pace, Watcher
from tests.unit.extension.fake_runs import sample_run

STATES = [
    ({"completed", "running"}, True, 0.1, 2),
    ({"submitting"}, True, 0.1, 2),
    ({"pending"}, True, 5.0, 5),
    ({"completed", "unknown", "failed"}, True, 0.1, 15),
    (set(), True, 0.1, 15),
    ({"running"}, False, 0.1, 10),
    ({"running"}, False, 60.0, 60),
]


@pytest.mark.parametrize(("states", "healthy", "took", "pause"), STATES)
def test_how_soon_the_next_look_is(states, healthy, took, pause):
    assert Pace(2, 15, 10).until_next(states, healthy, took) == pause


async def test_looks_go_on_by_themselves_while_somebody_listens():
    class Ear:
        def __init__(self):
            self.names = asyncio.Queue()

        def tell(self, key, event):
            if event["type"] == "run":
                self.names.put_nowait(event["run"]["name"])

    numbers = itertools.count()

    async def list_runs():
        return {"runs": [sample_run("a", name=str(next(numbers)))], "slurm": {"reachable": True}}

    watcher, ear = Watcher(list_runs, Pace(0.001, 3600, 3600)), Ear()
    watcher.add(ear)
    assert [await asyncio.wait_for(ear.names.get(), 5) for _ in range(3)] == ["0", "1", "2"]

    watcher.remove(ear)
    assert not watcher.looking
    watcher.add(ear)  # what was seen before is forgotten, so the next look tells all
    assert int(await asyncio.wait_for(ear.names.get(), 5)) >= 3
    await watcher.close()
