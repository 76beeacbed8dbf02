"""What a Hub keeps of its sessions in its database, read beside it."""

import json
import sqlite3

from tests.cluster.hub import Hub


def kept_jobs(hub: Hub) -> list[tuple[str, str]]:
    """(job id, cluster) of each session."""
    with sqlite3.connect(f"file:{hub.folder / 'data' / 'jupyterhub.sqlite'}?mode=ro", uri=True) as database:
        states = [json.loads(row[0]) for row in database.execute("select state from spawners where state is not null")]
    return [(state["job_id"], state["cluster"]) for state in states if "job_id" in state]
