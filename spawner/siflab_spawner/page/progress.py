"""What the page says while a session starts, in plain words."""

import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from siflab.slurm.reasons import pending_reason
from siflab.text import Text
from siflab_spawner.language import in_words, language_of

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

SIGN_OF_LIFE = 8.0  # seconds between two events at most; static/pending.js looks for the Hub when it hears none
_PREPARING = (5, Text("Looking at the image and handing the job to Slurm", "正在检查镜像并提交作业"))
_SUBMITTED = (10, Text("Slurm has the job", "Slurm 已接受作业"))
_BOOTING = (60, Text("The container is starting", "容器正在启动"))
_CLAIMED = (75, Text("JupyterLab is starting", "JupyterLab 正在启动"))
_READY = (95, Text("JupyterLab answers, opening it", "JupyterLab 已就绪，正在打开"))


async def progress_events(spawner: "SingularitySlurmSpawner") -> AsyncIterator[dict[str, Any]]:
    """JupyterHub's progress events, with a message whenever what it says has changed. Without one they are a sign of
    life: a proxy may keep a stream open whose Hub is gone. `siflab` is for our own page; JupyterHub's takes no notice
    of it. JupyterHub ends it with the start."""
    said = None
    while True:
        seen = spawner.bell.count
        state = state_of(spawner)
        words = in_words(Text(**state["words"]), language_of(spawner.user.name))
        if words != said:
            said = words
            yield {"progress": state["percent"], "message": words, "siflab": state}
        else:
            yield {"progress": state["percent"], "siflab": state}
        await spawner.bell.wait(seen, SIGN_OF_LIFE)


def state_of(spawner: "SingularitySlurmSpawner") -> dict[str, Any]:
    """What the page of a start shows, as JSON: `phase` is waiting (in the queue), starting, or preparing before Slurm
    has the job; `start_at` an ISO time; `begun_at` and `now` seconds since the epoch by the Hub's clock. Null: not
    known."""
    percent, text = describe(spawner)
    session = spawner.session
    reading = spawner.watcher.reading(session.job_id) if session.job_id else None
    record = reading.record if reading else None
    pending = reading is not None and reading.kind == "pending"
    node = record.batch_host if record is not None and not pending else ""
    return {
        "phase": "preparing" if record is None else "waiting" if pending else "starting",
        "percent": percent,
        "words": text.as_dict(),
        "job_id": session.job_id or None,
        "node": node or session.host or None,
        "start_at": record.start.isoformat() if pending and record is not None and record.start else None,
        "begun_at": session.intended_at or None,
        "now": time.time(),
    }


def describe(spawner: "SingularitySlurmSpawner") -> tuple[int, Text]:
    """(percent, what is going on)."""
    session = spawner.session
    if session.phase == "ready":
        return _READY
    if session.phase == "claimed":
        return _CLAIMED
    if not session.job_id:
        return _PREPARING
    trouble = spawner.watcher.failures >= 3
    reading = spawner.watcher.reading(session.job_id)
    record = reading.record
    if trouble:
        return 15, Text(
            "Slurm does not answer at present; the job is safe, waiting for Slurm",
            "Slurm 暂时没有响应；作业不受影响，正在等待 Slurm",
        )
    if record is None:
        return _SUBMITTED[0], Text(f"{_SUBMITTED[1].en}: job {session.job_id}", f"{_SUBMITTED[1].zh}：{session.job_id}")
    if reading.kind == "pending":
        return 20, waiting(session.job_id, record.reason, record.start)
    if reading.kind == "running":
        node = record.batch_host
        return _BOOTING[0], Text(
            f"Job {session.job_id} starts on {node}. {_BOOTING[1].en}",
            f"作业 {session.job_id} 在 {node} 上启动。{_BOOTING[1].zh}",
        )
    return 50, Text(f"Job {session.job_id} is {record.state.text.en}", f"作业 {session.job_id}：{record.state.text.zh}")


def waiting(job_id: str, reason: str, start: datetime | None) -> Text:
    """``Job 12 waits in the queue: Resources - no node that fits is free yet. Expected to start about 14:02``"""
    plain = pending_reason(reason)
    code = reason.partition(",")[0].strip("() ")
    known = code and code != "None" and not plain.en.startswith("Slurm says")
    text = Text(
        f"Job {job_id} waits in the queue: {f'{code} — ' if known else ''}{plain.en}.",
        f"作业 {job_id} 正在排队：{f'{code} — ' if known else ''}{plain.zh}。",
    )
    if start is None:
        return text
    day = "" if start.date() == datetime.now().astimezone().date() else start.strftime("%Y-%m-%d ")
    at = f"{day}{start.strftime('%H:%M')}"
    return text + Text(f"Expected to start about {at}.", f"预计 {at} 左右开始。")
