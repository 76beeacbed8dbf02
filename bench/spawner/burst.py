"""Many starts at the same moment, and a restart of the Hub with all of these sessions.

Only Jupyter itself is replaced, by `light_server`; sbatch, container, claim, proxy and route are real.
"""

import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import requests

from bench.spawner import lab

_LOOK = 2.0  # seconds: a list of 200 servers takes the Hub 30 ms and more, which nobody asks for all the time


def names(count: int) -> list[tuple[str, str]]:
    """(user, server) of so many sessions: each user's default server, until there are no more users."""
    turns = [divmod(number, len(lab.USERS)) for number in range(count)]
    return [(lab.USERS[user], f"s{turn}" if turn else "") for turn, user in turns]


class Probe:
    """Asks the Hub for its version and for a user ten times a second; `slowest(95)` is a percentile in seconds."""

    def __init__(self, hub: Any) -> None:
        self.hub, self.times, self.over = hub, [], threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        session = requests.Session()
        session.headers.update(self.hub.session.headers)
        while not self.over.wait(0.1):
            begun = time.monotonic()
            session.get(f"{self.hub.url}/hub/api/users/{lab.USERS[0]}", timeout=60)
            self.times.append(time.monotonic() - begun)

    def __enter__(self) -> "Probe":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def p95(self) -> float:
        return statistics.quantiles(self.times, n=20)[-1]


def states(hub: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """All servers by (user, name)."""
    users = hub.api("GET", "users?include_stopped_servers").json()
    return {(user["name"], name): server for user in users for name, server in user["servers"].items()}


def start_all(hub: Any, count: int, **options: object) -> dict[str, float]:
    """Start `count` sessions at once; figures of it."""
    wanted = names(count)
    with Probe(hub) as probe:
        begun = time.monotonic()
        with ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(lambda one: hub.api("POST", hub.server_path(*one), json=options), wanted))
        accepted = time.monotonic() - begun
        refused = [answer.status_code for answer in answers if not answer.ok]
        while True:
            found = states(hub)
            settled = [found.get(one, {}) for one in wanted]
            if all(server.get("ready") or (server and not server.get("pending")) for server in settled):
                break
            time.sleep(_LOOK)
        took = time.monotonic() - begun
    ready = sum(1 for server in settled if server.get("ready"))
    jobs = hub.jobs() if options else []
    return {
        "requests answered after s": accepted,
        "all ready after s": took,
        "ready": ready,
        "requests refused": len(refused),
        "failed": count - ready,
        "duplicate jobs": len(jobs) - len({job["comment"].rpartition(":")[0] for job in jobs}) if jobs else 0,
        "Hub p95 ms": 1000 * probe.p95(),
        "Hub slowest ms": 1000 * max(probe.times),
    }


def stop_all(hub: Any, count: int) -> None:
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(lambda one: hub.stop_server(*one), names(count)))
    while any(server.get("pending") or server.get("ready") for server in states(hub).values()):
        time.sleep(0.5)


def restart(hub: Any, count: int, counted: lab.Counted) -> dict[str, float]:
    """Kill the Hub with SIGKILL and start it again."""
    hub.kill()
    counted.reset()
    begun = time.monotonic()
    hub.start()
    answers = time.monotonic() - begun
    while sum(1 for server in states(hub).values() if server.get("ready")) < count:
        assert time.monotonic() - begun < 300, "not all sessions are there again"
        time.sleep(0.1)
    return {
        "Hub answers after s": answers,
        "all sessions confirmed after s": time.monotonic() - begun,
        "Slurm commands": sum(counted.counts().values()),
    }


def measure(count: int) -> dict[str, dict[str, float]]:
    from tests.cluster.hub import Hub

    counted = lab.Counted(lab.ROOT / "counted")
    hub = Hub(lab.folder("burst"), lab.site(counted.folder, memory="100M"), lab.light())
    found = {}
    try:
        hub.start()
        for user in lab.USERS:
            hub.add_user(user)
        found[f"{count} starts at once"] = start_all(hub, count, profile="cpu")
        found[f"restart with {count} sessions"] = restart(hub, count, counted)
        stop_all(hub, count)
    finally:
        hub.stop()
    return found


def batchspawners(count: int) -> dict[str, float]:
    """The same burst with batchspawner and the same light server."""
    hub = lab.batchspawners_hub("burst-theirs", lab.Counted(lab.ROOT / "counted").folder, server=lab.LIGHT)
    try:
        hub.start()
        for user in lab.USERS:
            hub.add_user(user)
        return start_all(hub, count)
    finally:
        stop_all(hub, count)
        hub.stop()
