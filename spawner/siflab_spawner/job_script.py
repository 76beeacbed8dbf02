"""The script of a session's job, from what the Hub knows. It holds the claim code and no other secret."""

from siflab.config import Resources, Site
from siflab.container.command import use_nv
from siflab.script.session import SessionPlan, render_session
from siflab.slurm.execute import PosixUser
from siflab_spawner.facts import home_inside


def job_script(
    site: Site, resources: Resources, account: PosixUser, *, user: str, server: str, code: str, claim_url: str
) -> str:
    """For sbatch's standard input. `claim_url` is where the nodes reach the Hub's ``/hub/api/siflab``."""
    return render_session(
        SessionPlan(
            singularity=site.singularity,
            image_path=resources.image.path,
            python=resources.image.python,
            nv=use_nv(site.singularity, resources.gpus),
            home=(account.home, home_inside(site.singularity.binds, account.home)),
            claim={
                "claim_url": claim_url,
                "user": user,
                "server": server,
                "code": code,
                "boot_limit": site.session.boot_limit,
            },
            folder=site.session.folder,
            slurm_bin=site.slurm.bin,
            slurm_conf=site.slurm.conf,
        )
    )
