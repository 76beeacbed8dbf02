"""More time for a session that runs. Users cannot raise a job's time limit, an operator of Slurm can: so the Hub does,
where site.yaml has `session.extension`.

Slurm checks nothing when an operator does it, so it is checked here: the site's own rule, the partition's MaxTime, the
MaxWall of QOS and association, the end of the job's reservation, and reservations that begin on its node. A job never
gets less time. Only the running job that carries this session's mark and belongs to its user is touched.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from siflab.config.session_rules import ExtensionSite
from siflab.errors import Conflict, FieldError, Invalid, NotFound, SlurmRefused, SlurmUnreachable
from siflab.slurm import running_time_limits as limits
from siflab.slurm.commands import scontrol_config
from siflab.slurm.execute import Completed, Slurm, require_reachable
from siflab.slurm.records import Unreadable
from siflab.slurm.running_time_limits import RunningJob
from siflab.slurm.scontrol import parse_config
from siflab.slurm.time import format_time
from siflab.text import Text
from siflab_spawner import metrics
from siflab_spawner.accounts.as_user import find_user
from siflab_spawner.accounts.groups import group_names
from siflab_spawner.lifetime.extension_caps import Cap, caps_of
from siflab_spawner.start.mark import mark

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_REMEMBERED = 60.0  # seconds for which an answer of Slurm serves pages; who extends gets a new one of all but accounts
_LONG = 900.0  # the same for what hardly ever changes
_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""By job id; there as long as somebody holds or awaits one, so that two never have different ones of a job."""
_answers: dict[tuple[Slurm, tuple[str, ...]], tuple[float, Completed]] = {}

OFF = Text("This site does not let sessions be extended.", "本站点不允许延长会话。")
NO_JOB = Text("The session does not run.", "会话没有在运行。")
FOREIGN = Text(
    "The job of this session does not carry the session's mark any more (its comment was changed), so it is not "
    "touched. Ask your administrator.",
    "该会话的作业已没有会话标记（其备注被修改），因此不予更改。请联系管理员。",
)


@dataclass(frozen=True)
class Possible:
    """What may be done now. `longest` is in seconds, whole minutes; `bound` says what sets it."""

    ends_at: datetime | None
    longest: int
    bound: Text | None
    why_not: Text | None
    rule: ExtensionSite
    used: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "allowed": self.why_not is None,
            "why_not": self.why_not.as_dict() if self.why_not else None,
            "ends_at": self.ends_at.isoformat() if self.ends_at else None,
            "longest_seconds": self.longest,
            "longest_because": self.bound.as_dict() if self.bound else None,
            "step_seconds": self.rule.step,
            "used": self.used,
            "times": self.rule.times,
        }


async def possible(spawner: "SingularitySlurmSpawner") -> Possible:
    """For a page: the time is the watcher's, the caps may be a minute old. Raises NotFound, Conflict,
    SlurmUnreachable."""
    rule = _rule(spawner)
    job = await _job(spawner, _LONG)
    record = spawner.watcher.reading(job.job_id).record
    if record is not None:
        job = replace(job, time_limit=record.time_limit, end=record.end)
    return await _possible(spawner, rule, job, _REMEMBERED)


async def extend(spawner: "SingularitySlurmSpawner", seconds: int, seen_end: datetime | None, by: str) -> Possible:
    """Let the session go on for `seconds` more than it would; what is possible after that.

    `seen_end` is the end that the person saw who asks. If the session already goes on until `seconds` later, nothing is
    done: a request that is repeated, or sent twice, is carried out once. Raises NotFound, Conflict, Invalid,
    SlurmRefused, SlurmUnreachable.
    """
    rule, session = _rule(spawner), spawner.session
    lock = _locks.setdefault(session.job_id, asyncio.Lock())
    async with lock:
        job = await _job(spawner, 0)
        now = await _possible(spawner, rule, job, 0)
        wanted = -(-seconds // 60) * 60
        if seen_end is not None and job.end is not None and job.end >= seen_end + timedelta(seconds=seconds):
            return now
        _check(now, wanted)
        assert job.time_limit is not None
        await _set_limit(spawner.slurm, job, job.time_limit + wanted)
        session.extensions += 1
        metrics.EXTENDED.labels("granted").inc()
        spawner.persist()
        spawner.log.info(
            "siflab: job %s of %s may run for %s in all, %s more; asked for by %s",
            job.job_id,
            spawner._log_name,
            format_time(job.time_limit + wanted),
            format_time(wanted),
            by,
        )
        await spawner.watcher.look(job.job_id)
        return await _possible(spawner, rule, await _job(spawner, 0), _REMEMBERED)


def _rule(spawner: "SingularitySlurmSpawner") -> ExtensionSite:
    rule = spawner.site.session.extension
    if rule is None:
        raise NotFound(OFF)
    if spawner.session.phase != "ready" or not spawner.session.job_id:
        raise Conflict(NO_JOB)
    return rule


def _check(now: Possible, wanted: int) -> None:
    if now.why_not is not None:
        metrics.EXTENDED.labels("refused").inc()
        raise Conflict(now.why_not)
    if wanted > now.longest and now.bound is not None:
        metrics.EXTENDED.labels("refused").inc()
        most = format_time(now.longest)
        raise Invalid(
            [
                FieldError(
                    "seconds",
                    "too-long",
                    Text(
                        f"{format_time(wanted)} is too long; at most {most} can be added: {now.bound.en}",
                        f"{format_time(wanted)} 过长；最多可延长 {most}：{now.bound.zh}",
                    ),
                )
            ]
        )


async def _possible(spawner: "SingularitySlurmSpawner", rule: ExtensionSite, job: RunningJob, age: float) -> Possible:
    used = spawner.session.extensions

    def no(why: Text) -> Possible:
        return Possible(job.end, 0, None, why, rule, used)

    if job.time_limit is None or job.start is None:
        return no(Text("The session has no time limit.", "会话没有时间上限。"))
    if rule.partitions and job.partition not in rule.partitions:
        listed = ", ".join(rule.partitions)
        return no(
            Text(
                f"Sessions in partition {job.partition} cannot be extended here; those in {listed} can.",
                f"本站点不允许延长分区 {job.partition} 中的会话；可延长的分区：{listed}。",
            )
        )
    if rule.groups and not set(rule.groups) & set(await group_names(spawner) or ()):
        return no(Text("You are in no group that may extend sessions here.", "您不在可延长会话的用户组中。"))
    if rule.times is not None and used >= rule.times:
        return no(
            Text(
                f"The session was extended {used} times, as often as this site allows.",
                f"会话已延长 {used} 次，达到本站点上限。",
            )
        )
    cap = min(await _caps(spawner, rule, job, age), key=lambda one: one.total)
    left = max(0, cap.total - job.time_limit) // 60 * 60
    if left <= 0:
        return no(cap.why)
    if rule.step <= left:
        step = format_time(rule.step)
        return Possible(
            job.end,
            rule.step,
            Text(f"this site allows {step} at a time", f"本站点每次最多允许 {step}"),
            None,
            rule,
            used,
        )
    return Possible(job.end, left, cap.why, None, rule, used)


async def _caps(spawner: "SingularitySlurmSpawner", rule: ExtensionSite, job: RunningJob, age: float) -> Sequence[Cap]:
    slurm = spawner.slurm
    cluster = spawner.site.slurm.cluster or parse_config(await _ask(slurm, scontrol_config(), _LONG)).get("ClusterName")
    partition, reservations, qos, associations = await asyncio.gather(
        _ask(slurm, limits.partition_query(job.partition), age),
        _ask(slurm, limits.reservations_query(), age),
        _ask(slurm, limits.qos_query(), max(age, _REMEMBERED)),
        _ask(
            slurm,
            limits.association_query(job.user, (cluster or "").lower()),
            _LONG if age else _REMEMBERED,
        ),
    )
    try:
        return caps_of(
            rule,
            job,
            limits.parse_partition(partition),
            limits.parse_reservations(reservations),
            limits.parse_qos(qos),
            limits.parse_associations(associations),
        )
    except Unreadable as error:
        raise _unreadable(error) from error


async def _job(spawner: "SingularitySlurmSpawner", age: float) -> RunningJob:
    """The session's job. Raises Conflict when it is not running, or not this session's."""
    session, user = spawner.session, await find_user(spawner.user.name)
    try:
        job = limits.parse_job(await _ask(spawner.slurm, limits.job_query(session.job_id), age))
    except Unreadable as error:
        raise _unreadable(error) from error
    if job.state.kind != "running":
        raise Conflict(NO_JOB)
    wanted = mark(spawner.site.name, spawner.user.name, spawner.name, session.submit_id)
    if job.user != user.name or job.comment != wanted:
        raise Conflict(FOREIGN)
    return job


async def _ask(slurm: Slurm, argv: list[str], age: float) -> str:
    """The output of a query that is at most `age` seconds old."""
    key, now = (slurm, tuple(argv)), time.monotonic()
    for old in [one for one, (at, _) in _answers.items() if now - at > _LONG]:
        del _answers[old]
    if key not in _answers or now - _answers[key][0] > age:
        done = require_reachable(await slurm.arun(argv))
        if not done.ok and "accounting_storage" not in done.stderr:  # a cluster without accounting has no such limits
            raise _unreadable(done.stderr.strip()[:300] or f"{argv[0]}: exit code {done.returncode}")
        _answers[key] = (time.monotonic(), done)
    return _answers[key][1].stdout


async def _set_limit(slurm: Slurm, job: RunningJob, seconds: int) -> None:
    done = require_reachable(await slurm.arun(limits.set_time_limit(job.job_id, seconds)))
    if done.ok:
        for key in [one for one in _answers if one[1] == tuple(limits.job_query(job.job_id))]:
            del _answers[key]
        return
    words = done.stderr.strip()[:300]
    if "denied" in words.lower():
        raise SlurmRefused(
            Text(
                "Slurm does not let the Hub raise time limits. Tell your administrator: the Hub's account must be root "
                "or have AdminLevel=Operator (sacctmgr).",
                "Slurm 不允许 Hub 提高时间上限。请告知管理员：Hub 的账户须为 root，"
                "或具有 AdminLevel=Operator（sacctmgr）。",
            )
        )
    raise SlurmRefused(Text(f"Slurm did not extend the session: {words}", f"Slurm 未延长会话：{words}"))


def _unreadable(words: object) -> SlurmUnreachable:
    return SlurmUnreachable(
        Text(
            f"Slurm gave no usable answer ({words}), so the session was not extended. Try again in a while.",
            f"Slurm 未给出可用的回答（{words}），会话未延长。请稍后再试。",
        )
    )
