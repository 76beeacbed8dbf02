"""What Siflab tells Prometheus, on JupyterHub's own endpoint (``/hub/metrics``).

No label holds what a person typed or is called; each has a value from a table. What is counted elsewhere (by the
watcher, by JupyterHub's list of servers) is read when somebody asks, not counted twice.
"""

from collections import Counter as Tally
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from prometheus_client import REGISTRY, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from siflab.errors import Invalid, SiflabError, SlurmRefused, SlurmUnreachable
from siflab.script.session import PROBLEMS
from siflab.slurm import execute
from siflab.slurm.execute import Completed
from siflab_spawner.start.failure import StartFailed
from siflab_spawner.watch.watcher_settings import all_watchers
from siflab_spawner.wrapped.inner import innermost

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

M = TypeVar("M", Counter, Histogram)

COMMANDS = ("sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo", "sacctmgr")
STATES = ("preparing", "queued", "booting", "ready", "stopping", "unknown")
_MINUTES = (1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400)
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_OF_JOB = {
    **{code: name.replace("-", "_") for name, code in PROBLEMS.items()},
    41: "claim_refused", 42: "hub_away", 43: "server_not_started", 44: "server_not_listening", 45: "ports_taken",
    46: "server_killed", 47: "job_ended", 48: "image_lacks_jupyter",
}  # fmt: skip


def _once(kind: type[M], name: str, words: str, labels: tuple[str, ...] = (), **more: Any) -> M:
    """The metric of this name, made where there is none yet: a module that is loaded again must not make another."""
    known = getattr(REGISTRY, "_names_to_collectors", {}).get(name)
    return known if known is not None else kind(name, words, labels, **more)


QUEUED = _once(
    Histogram, "siflab_session_queue_seconds", "From the submission of a session's job to its start", buckets=_MINUTES
)
BOOTED = _once(
    Histogram,
    "siflab_session_boot_seconds",
    "From the start of a session's job until its server is ready",
    buckets=(1, 2.5, 5, 7.5, 10, 15, 20, 30, 60, 120, 300),
)
FAILED = _once(Counter, "siflab_session_start_failures_total", "Starts of sessions that failed", ("cause",))
ADOPTED = _once(Counter, "siflab_sessions_adopted_total", "Jobs of starts that a restarted Hub took up again")
REFUSED = _once(Counter, "siflab_claims_refused_total", "Requests of jobs that were refused", ("request",))
EXTENDED = _once(Counter, "siflab_session_extensions_total", "Requests for more time", ("result",))
IDLE = _once(Counter, "siflab_sessions_stopped_idle_total", "Sessions that were stopped because nobody used them")
COMMAND = _once(Counter, "siflab_slurm_commands_total", "Commands of Slurm that the Hub ran", ("command", "result"))
TOOK = _once(
    Histogram, "siflab_slurm_command_seconds", "How long Slurm's commands took", ("command",), buckets=_SECONDS
)
for _request in ("claim", "ready", "failed", "ended"):
    REFUSED.labels(_request)
for _result in ("granted", "refused"):
    EXTENDED.labels(_result)


def count_command(done: Completed, seconds: float) -> None:
    """For `siflab.slurm.execute.observers`."""
    name = done.argv[0].rpartition("/")[2] if done.argv else ""
    command = name if name in COMMANDS else "other"
    result = (
        "ok" if done.ok else "timeout" if done.returncode == 124 else "no_answer" if done.unreachable else "refused"
    )
    COMMAND.labels(command, result).inc()
    TOOK.labels(command).observe(seconds)


def started(spawner: "SingularitySlurmSpawner") -> None:
    """Its server is ready."""
    session = spawner.session
    record = spawner.watcher.reading(session.job_id).record
    if record is None or record.start is None:
        return
    begun = record.start.timestamp()  # Slurm counts in whole seconds
    QUEUED.observe(max(0.0, begun - session.intended_at))
    BOOTED.observe(max(0.0, session.ready_at - begun))


def failed(spawner: "SingularitySlurmSpawner", error: StartFailed | SiflabError) -> None:
    FAILED.labels(cause_of(spawner, error)).inc()


def cause_of(spawner: "SingularitySlurmSpawner", error: StartFailed | SiflabError) -> str:
    """One word of a table: what made a start fail."""
    if not isinstance(error, StartFailed):
        kinds = ((Invalid, "options"), (SlurmRefused, "slurm_refused"), (SlurmUnreachable, "slurm_unreachable"))
        return next((word for kind, word in kinds if isinstance(error, kind)), "hub")
    reading = spawner.watcher.reading(spawner.session.job_id) if spawner.session.job_id else None
    if reading is None:
        return "hub"
    told = _OF_JOB.get(spawner.failure.exit_code if spawner.failure else -1)
    if reading.outcome is not None:
        name = reading.outcome.state.name
        if name in ("FAILED", "COMPLETED", "GONE"):
            return told or _OF_JOB.get(reading.outcome.exit_code, "server_ended")
        return f"job_{name.lower()}"
    return told or {"running": "boot_limit", "pending": "queue_limit"}.get(reading.kind, "other")


class FromHub:
    """What is there at the moment of the question."""

    def describe(self) -> list[Any]:
        return []

    def collect(self) -> Iterator[Any]:
        sessions = GaugeMetricFamily("siflab_sessions", "Sessions by what they are doing", labels=["state"])
        found = Tally(state_of(spawner) for spawner in all_sessions())
        for state in STATES:
            sessions.add_metric([state], found[state])
        yield sessions
        age = GaugeMetricFamily(
            "siflab_slurm_answer_age_seconds", "Since Slurm last said what becomes of the sessions; absent without any"
        )
        unusable = CounterMetricFamily(
            "siflab_slurm_unusable_answers", "Answers about the queue that proved nothing", labels=["cause"]
        )
        ages, causes = [], Tally[str]()
        for watcher in all_watchers():
            causes.update(watcher.failed)
            if watcher.sessions() and watcher.age() is not None:
                ages.append(watcher.age())
        if ages:
            age.add_metric([], max(one for one in ages if one is not None))
        for cause, number in sorted(causes.items()):
            unusable.add_metric([cause], number)
        yield age
        yield unusable


def all_sessions() -> "Iterator[SingularitySlurmSpawner]":
    """Those that are active, of all users that the Hub has in memory: it has all who have a server."""
    from jupyterhub.app import JupyterHub

    from siflab_spawner.spawner import SingularitySlurmSpawner

    users = getattr(JupyterHub.instance(), "users", None) if JupyterHub.initialized() else None
    for user in list((users or {}).values()):
        for owner in list(user.spawners.values()):
            spawner = innermost(owner)
            if owner.active and isinstance(spawner, SingularitySlurmSpawner):
                yield spawner


def state_of(spawner: "SingularitySlurmSpawner") -> str:
    """One of `STATES`."""
    session = spawner.session
    if spawner.owner.pending == "stop":
        return "stopping"
    if session.phase == "ready":
        return "ready"
    if not session.job_id:
        return "preparing"
    kind = spawner.watcher.reading(session.job_id).kind
    return {"pending": "queued", "running": "booting", "ending": "stopping"}.get(kind, "unknown")


def register() -> None:
    """Once a process, however many spawner classes there are and however often this is loaded."""
    known = getattr(REGISTRY, "_collector_to_names", {})
    if not any(type(one).__qualname__ == FromHub.__qualname__ for one in known):
        REGISTRY.register(FromHub())
    execute.observers[:] = [one for one in execute.observers if one.__name__ != count_command.__name__]
    execute.observers.append(count_command)
