"""The script of a session's job, from what the Hub knows. It holds the claim code and no other secret."""

from collections.abc import Mapping

from siflab.config import Resources, Site
from siflab.container.command import use_nv
from siflab.script.session import SessionPlan, render_session
from siflab.slurm.execute import PosixUser
from siflab_spawner.start.facts import home_inside


def claim_config(
    site: Site, *, user: str, server: str, code: str, claim_url: str, ca: str | None = None
) -> dict[str, object]:
    """What the shim claims with. `claim_url` is where the nodes reach the Hub's ``/hub/api/siflab``, `ca` the PEM of
    the CAs by which they know it (None: those of the image)."""
    return {
        "claim_url": claim_url,
        "ca": ca,
        "user": user,
        "server": server,
        "code": code,
        "boot_limit": site.session.boot_limit,
    }


def job_script(site: Site, resources: Resources, account: PosixUser, claim: Mapping[str, object]) -> str:
    """For sbatch's standard input; `claim` is from `claim_config`."""
    return render_session(
        SessionPlan(
            singularity=site.singularity,
            image_path=resources.image.path,
            python=resources.image.python,
            nv=use_nv(site.singularity, resources.gpus),
            home=(account.home, home_inside(site.singularity.binds, account.home)),
            claim=claim,
            folder=site.session.folder,
            slurm_bin=site.slurm.bin,
            slurm_conf=site.slurm.conf,
        )
    )
