"""The job of a session, ready for sbatch: from site.yaml and the user's choice, or from batchspawner's settings."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from siflab.slurm.execute import PosixUser
from siflab_spawner.lifetime.idle import note_gpus
from siflab_spawner.start.environment import claim_ca, claim_url
from siflab_spawner.start.facts import session_facts
from siflab_spawner.start.job_script import claim_config, job_script
from siflab_spawner.start.mark import mark
from siflab_spawner.start.preparation import Preparation, prepare
from siflab_spawner.start.submission import sbatch_argv
from siflab_spawner.state import SessionState

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner


@dataclass(frozen=True)
class SessionJob:
    """`session` is the intent that is kept before `argv` is run with `script` as its standard input."""

    session: SessionState
    argv: list[str]
    script: str
    preparation: Preparation


async def session_job(spawner: "SingularitySlurmSpawner", user: PosixUser) -> SessionJob:
    """Raises Invalid for what is missing, SettingRefused for a setting of batchspawner's that cannot be."""
    site = spawner.site
    session, code = SessionState.intend({}, "")
    claim = claim_config(
        site, user=spawner.user.name, server=spawner.name, code=code, claim_url=claim_url(spawner), ca=claim_ca()
    )
    comment = mark(site.name, spawner.user.name, spawner.name, session.submit_id)
    if spawner.drop_in is not None:
        old = spawner.drop_in.job(user, claim, comment)
        session.facts = old.facts
        return SessionJob(session, old.argv, old.script, Preparation(old.log_pattern))
    resources = spawner.resources or await spawner.choose_resources()
    note_gpus(spawner, resources.gpus)
    preparation = await prepare(spawner.slurm, user, site, resources, spawner.hub_sees_paths)
    session.facts = session_facts(site, resources, user)
    argv = sbatch_argv(
        resources,
        comment=comment,
        name=spawner.job_name,
        log_pattern=preparation.log_pattern,
        folder=user.home,
    )
    return SessionJob(session, argv, job_script(site, resources, user, claim), preparation)
