"""One start after the other: from the request to ready, ours and batchspawner's, and the floor under both."""

import json
import socket
import statistics
import subprocess
import time
from collections import defaultdict
from typing import Any

from bench.spawner import lab

_LONGEST = 120.0  # seconds
FLOOR = """#!/bin/bash
exec singularity exec --bind /home:/workspace {image} {python} -m jupyterhub.singleuser
"""


def until_ready(hub: Any, user: str, **options: object) -> float:
    """Seconds from the request until JupyterHub's progress stream says ready."""
    begun = time.monotonic()
    hub.api("POST", hub.server_path(user), json=options)
    path = f"{hub.url}/hub/api/{hub.server_path(user)}/progress"
    with hub.session.get(path, stream=True, timeout=60) as stream:
        for line in stream.iter_lines():
            event = json.loads(line[6:]) if line.startswith(b"data: ") else {}
            took = time.monotonic() - begun
            if event.get("ready"):
                return took
            assert not event.get("failed") and took < _LONGEST, f"not ready after {took:.0f} s: {event}"
    raise AssertionError("the progress stream ended")


def floor(hub: Any, user: str, port: int) -> float:
    """Seconds from sbatch until a server listens: sbatch, the container and the import, nothing else."""
    token = hub.api("POST", f"users/{user}/tokens", json={"note": "floor"}).json()["token"]
    base = f"/user/{user}/"
    given = {
        "JUPYTERHUB_API_TOKEN": token, "JUPYTERHUB_API_URL": f"http://{hub.address}:{hub.hub_port}/hub/api",
        "JUPYTERHUB_SERVICE_URL": f"http://0.0.0.0:{port}{base}", "JUPYTERHUB_SERVICE_PREFIX": base,
        "JUPYTERHUB_BASE_URL": "/", "JUPYTERHUB_HOST": "", "JUPYTERHUB_USER": user,
        "JUPYTERHUB_CLIENT_ID": "floor", "JUPYTERHUB_OAUTH_CALLBACK_URL": f"{base}oauth_callback",
        "JUPYTERHUB_OAUTH_SCOPES": "[]", "JUPYTERHUB_OAUTH_ACCESS_SCOPES": "[]",
        "JUPYTERHUB_ACTIVITY_URL": f"http://{hub.address}:{hub.hub_port}/hub/api/users/{user}/activity",
    }  # fmt: skip
    argv = ["sbatch", "--parsable", "--partition=cpu", "--cpus-per-task=1", "--mem=1G", "--time=30", "--nodelist=b01",
            f"--output=/home/{user}/floor.log", "--export=ALL", f"--chdir=/home/{user}"]  # fmt: skip
    environment = [f"{name}={value}" for name, value in given.items()]
    begun = time.monotonic()
    script = FLOOR.format(image=lab.IMAGE, python=lab.PYTHON)
    done = subprocess.run(["runuser", "-u", user, "--", "env", *environment, *argv], input=script, text=True, cwd="/",
                          capture_output=True, check=True)  # fmt: skip
    address = lab.kept(lab.settings()).address(lab.settings().nodes[0])
    while True:
        try:
            socket.create_connection((address, port), timeout=1).close()
            break
        except OSError:
            assert time.monotonic() - begun < 60, "the floor's server does not listen"
            time.sleep(0.01)
    took = time.monotonic() - begun
    subprocess.run(["scancel", done.stdout.strip()], check=True)
    return took


def measure(times: int) -> dict[str, list[float]]:
    """Seconds of each start, one of each kind in turn."""
    from tests.cluster.hub import Hub

    counted = lab.Counted(lab.ROOT / "counted")
    ours = Hub(lab.folder("ours"), lab.site(), "c.JupyterHub.log_level = 20\n")
    theirs = lab.batchspawners_hub("theirs", counted.folder)
    user, found = lab.USERS[0], defaultdict(list)
    try:
        for hub in (ours, theirs):
            hub.start()
            hub.add_user(user)
        for number in range(times):
            found["floor"].append(floor(ours, user, 45000 + number))
            for name, hub in (("siflab", ours), ("batchspawner", theirs)):
                options = {"profile": "cpu"} if hub is ours else {}
                found[name].append(until_ready(hub, user, **options))
                if number == 0 and hub is ours:
                    found["parts"] = parts(hub, user)
                hub.stop_server(user)
                hub.wait_stopped(user)
    finally:
        for hub in (ours, theirs):
            hub.stop()
        subprocess.run(["scancel", "--user", user], check=False)
    return dict(found)


def parts(hub: Any, user: str) -> list[float]:
    """Of one start, from the state that is kept: intent to claim, claim to listening."""
    import sqlite3

    database = sqlite3.connect(f"file:{hub.folder}/data/jupyterhub.sqlite?mode=ro", uri=True)
    (text,) = database.execute("select state from spawners where state is not null").fetchone()
    database.close()
    state = json.loads(text)
    return [state["claimed_at"] - state["intended_at"], state["ready_at"] - state["claimed_at"]]


def median(values: list[float]) -> float:
    return statistics.median(values)
