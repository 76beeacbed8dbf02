"""What a session's server is started with: environment, command and files. It travels in the answer to the claim, so it
is in no script, no argument list and no environment that accounting keeps."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from siflab.environments import program_text
from siflab.slurm.records import QueueRecord
from siflab_spawner.facts import session_json

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_INSIDE = ("HOME", "SHELL")  # as Singularity sets them; batchspawner lists those of the Hub's machine
FOLDER = "/run/siflab"  # the session's private folder, as the container has it


def claim_answer(spawner: "SingularitySlurmSpawner", record: QueueRecord) -> dict[str, Any]:
    """The body of the 200 answer. `files` are for the private folder, by name."""
    session = spawner.session
    return {
        "env": session_environment(spawner, session.port),
        "argv": session_argv(spawner),
        "files": {"environments": program_text()},
        "session": session_json(
            session.facts,
            user=spawner.user.name,
            server=spawner.name,
            job_id=session.job_id,
            node=record.batch_host,
            hub=spawner.hub.public_host + spawner.hub.base_url,
            record=record,
        ),
        "site": spawner.site.public(),
    }


def claim_url(spawner: "SingularitySlurmSpawner") -> str:
    """Where the nodes reach the routes of claim_handlers.py."""
    hub = spawner.hub
    base = spawner.hub_connect_url + urlparse(hub.api_url).path if spawner.hub_connect_url else hub.api_url
    return f"{base.rstrip('/')}/siflab"


def session_argv(spawner: "SingularitySlurmSpawner") -> list[str]:
    """`Spawner.cmd` where a site set it, else the image's own Python with JupyterHub's single-user server."""
    command = list(spawner.cmd or []) or [spawner.session.facts.get("python", "python3"), "-m", "jupyterhub.singleuser"]
    return [*command, *spawner.get_args()]


def session_environment(spawner: "SingularitySlurmSpawner", port: int) -> dict[str, str]:
    """What JupyterHub lists for a server, with the port that the job chose, and what Siflab adds. Nothing of the Hub's
    own environment is in it but what `Spawner.env_keep` names."""
    facts = spawner.session.facts
    env = {name: str(value) for name, value in spawner.get_env().items() if value is not None and name not in _INSIDE}
    scheme, _, rest = env["JUPYTERHUB_SERVICE_URL"].partition("://")
    address, _, path = rest.partition("/")
    env["JUPYTERHUB_SERVICE_URL"] = f"{scheme}://{address.rpartition(':')[0]}:{port}/{path}"
    env.setdefault("JUPYTERHUB_ROOT_DIR", facts.get("home_inside", ""))
    env.update(
        SIFLAB_SESSION=f"{FOLDER}/session.json",
        SIFLAB_SITE=f"{FOLDER}/site.json",
        JUPYTER_RUNTIME_DIR=f"{FOLDER}/runtime",
        PYTHONNOUSERSITE="1",
    )
    partition = spawner.site.slurm.partitions.get(facts.get("partition", ""))
    return {**(partition.environment if partition else {}), **env}
