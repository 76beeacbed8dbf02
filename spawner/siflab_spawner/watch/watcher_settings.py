"""What a spawner tells the Hub's watcher: how often to look, and by what a session's job is known."""

import asyncio
from typing import TYPE_CHECKING

from traitlets import Float, HasTraits, Integer

from siflab_spawner.start.mark import ANY, Ours, mark
from siflab_spawner.watch.pace import DEFAULT, Pace
from siflab_spawner.watch.watcher import Watcher

if TYPE_CHECKING:
    from siflab.slurm.execute import Slurm
    from siflab_spawner.spawner import SingularitySlurmSpawner

_watchers: "dict[tuple[Slurm, asyncio.AbstractEventLoop], Watcher]" = {}


class WatcherSettings(HasTraits):
    """Settings of the watcher; the first spawner of a Hub that is used gives them."""

    starting_interval = Float(
        DEFAULT.starting,
        help="Seconds between two looks at the queue while a session starts or stops. They become more, up to "
        "running_interval, the longer nothing changes; at least 20 times what the last look took.",
    ).tag(config=True)
    running_interval = Float(
        DEFAULT.running, help="Seconds between two looks at the queue while all sessions run."
    ).tag(config=True)
    longest_interval = Float(
        DEFAULT.longest, help="Seconds between two looks at most while Slurm does not answer, plus a random half."
    ).tag(config=True)
    all_at_once = Integer(
        DEFAULT.all_at_once,
        help="Up to this number of sessions squeue is asked for each by its id, from it on for the whole queue.",
    ).tag(config=True)
    private_queries_a_minute = Integer(
        DEFAULT.private_a_minute,
        help="Where PrivateData hides other users' jobs from the Hub's account: queries a minute at most, each as one "
        "of the users.",
    ).tag(config=True)


def watcher_of(spawner: "SingularitySlurmSpawner") -> Watcher:
    """The one of this Hub for the cluster of this session."""
    key = (spawner.slurm, asyncio.get_running_loop())
    if key not in _watchers:
        pace = Pace(
            starting=spawner.starting_interval,
            running=spawner.running_interval,
            longest=spawner.longest_interval,
            all_at_once=spawner.all_at_once,
            private_a_minute=spawner.private_queries_a_minute,
        )
        _watchers[key] = Watcher(spawner.slurm, spawner.log, pace)
    return _watchers[key]


def all_watchers() -> list[Watcher]:
    """Those of this process: one for each cluster that has sessions. For metrics."""
    return list(_watchers.values())


def cluster_of(spawner: "SingularitySlurmSpawner") -> str | None:
    """Where this session's job is, or would be submitted to: site.yaml may have changed since it was."""
    session = spawner.session
    return (session.cluster or None) if session.job_id else spawner.site.slurm.cluster


def ours(spawner: "SingularitySlurmSpawner") -> Ours:
    """By what this session's job is known among all others."""
    session = spawner.session
    if not session.submit_id:
        return ANY
    named = mark(spawner.site.name, spawner.user.name, spawner.name, session.submit_id)
    return Ours(spawner.user.name, named, session.intended_at)
