"""What the routes behind the spawn page answer, for what a cluster cannot be brought to in a test: a broken partition, limits,
a queue of hours. In the form of docs/spawn-page.md."""

from typing import Any

from playwright.sync_api import Page, Route


def text(en: str, zh: str = "") -> dict[str, str]:
    return {"en": en, "zh": zh or f"中文 {en}"}


def gpus(total: int, free: int, kind: str = "gpu", name: str = "a100") -> dict[str, Any]:
    return {"type": name, "kind": kind, "total": total, "free": free, "down": total - free if name == "v100" else 0}


def name(value: str, why: str = "", **counts: int) -> dict[str, Any]:
    return {"value": value, "words": text(value, value), "possible": not why, "why": text(why) if why else None,
            "free": counts.get("free"), "total": counts.get("total"), "limits": None}  # fmt: skip


def node(called: str, state: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"name": called, "state": state, "words": text(state), "cpus_total": 32, "cpus_free": 20,
            "memory_mib_total": 102400, "memory_mib_free": 90000, "gpus": list(parts)}  # fmt: skip


def partition(called: str, state: str, nodes: list[dict[str, Any]], *parts: dict[str, Any]) -> dict[str, Any]:
    return {"name": called, "state": state, "max_time_seconds": 28800, "nodes_total": len(nodes), "nodes_up": len(nodes),
            "nodes_idle": 0, "cpus_total": 32, "cpus_free": 20, "gpus": list(parts), "nodes": nodes, "nodes_left_out": 0}  # fmt: skip


def fields(most_gpus: int, **more: Any) -> dict[str, Any]:
    return {
        "gpus": {"min": 0, "max": most_gpus, "choices": [], "preset": 1, "why": text("the limit of QOS normal")},
        "cpus": {"min": 1, "max": 32, "choices": [], "preset": 1, "why": None},
        "memory": {"max_mib": 4096, "preset_mib": 1024, "why": None},
        "time": {"max_seconds": 7200, "preset_seconds": 1800, "why": None},
        **more,
    }


def profile(possible: str, gpus_free: int | None, gpus_total: int | None, its: dict[str, Any]) -> dict[str, Any]:
    """`possible` is why not; empty when it is."""
    return {"possible": not possible, "why": text(possible) if possible else None, "free_now": not possible,
            "gpus_free": gpus_free, "gpus_total": gpus_total, "fields": its}  # fmt: skip


NAMES = {
    "partition": {"preset": "gpu-a100", "choices": [name("gpu-a100", free=2, total=8), name("interactive", "it has no A100")]},
    "gpu_type": {"preset": "a100", "choices": [name("a100", free=2, total=8), name("v100", "not in this partition")]},
    "account": {"preset": "", "choices": [name(""), name("lab")]},
    "reservation": {"preset": "", "choices": [name("")]},
}  # fmt: skip
OFFER: dict[str, Any] = {
    "taken_at": "2026-12-01T14:02:10+00:00", "age_seconds": 2, "stale": False, "message": None,
    "partitions": [
        partition("gpu-a100", "up", [node("gpu01", "mixed", gpus(4, 2), gpus(7, 3, "mig", "1g.10gb")), node("gpu02", "allocated", gpus(4, 0))],
                  gpus(8, 2), gpus(7, 3, "mig", "1g.10gb")),
        partition("gpu-v100", "down", [node("gpu03", "drained", gpus(2, 0, name="v100"))], gpus(2, 0, name="v100")),
        partition("cpu", "up", [node("cpu01", "idle")]),
    ],
    "accounts": [], "qos": [], "reservations": [],
    "profiles": {
        "a100": profile("", 2, 8, fields(3, **NAMES)),
        "v100": profile("partition gpu-v100 is down", 0, 2, fields(2)),
        "cpu": profile("", None, None, fields(0)),
        "broken": profile("", None, None, fields(0)),
    },
}  # fmt: skip


def estimate(options: dict[str, Any]) -> dict[str, Any]:
    """99 hours are refused; three GPUs wait; all else starts now."""
    answer: dict[str, Any] = {"start_at": None, "now": True, "words": text("Would start now."), "errors": [],
                              "alternatives": [], "cached": False, "retry_after": None}  # fmt: skip
    if options.get("time") == "99:00:00":
        message = text("99:00:00 is more than this profile allows (8:00:00); ask for less")
        answer["errors"] = [{"field": "time", "code": "time-over-limit", "message": message}]
    elif str(options.get("gpus")) == "3":
        answer.update(now=False, words=text("Would start about 16:10."), retry_after=30)
        answer["alternatives"] = [
            {"options": {"gpus": 2}, "start_at": None, "now": True, "words": text("2 GPUs: would start now")},
            {"options": {"profile": "cpu"}, "start_at": None, "now": True, "words": text("CPU only: would start now")},
            {"options": {"time": "0:10:00"}, "start_at": None, "now": True, "words": text("0:10:00: about 14:20")},
        ]
    return answer


class Routes:
    """The two routes answered from here, for one page. `asked` are the choices that the estimate was asked for."""

    def __init__(self, page: Page) -> None:
        self.asked: list[dict[str, Any]] = []
        self.away = False
        page.route("**/hub/api/siflab/offer*", self._offer)
        page.route("**/hub/api/siflab/estimate*", self._estimate)

    def _offer(self, route: Route) -> None:
        if self.away:
            route.abort()
        else:
            route.fulfill(json=OFFER)

    def _estimate(self, route: Route) -> None:
        if self.away:
            return route.abort()
        self.asked.append(route.request.post_data_json)
        return route.fulfill(json=estimate(self.asked[-1]))
