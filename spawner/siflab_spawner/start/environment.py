"""What a session's server is started with: environment, command and files. It travels in the answer to the claim, so it
is in no script, no argument list and no environment that accounting keeps."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from siflab.environments import program_text
from siflab.slurm.records import QueueRecord
from siflab_spawner.claims.certificates import NAMES, hub_with_ssl, session_certificate, trusted
from siflab_spawner.claims.claim_server import claim_port
from siflab_spawner.lifetime.idle import activity_environment
from siflab_spawner.start.facts import session_json

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_INSIDE = ("HOME", "SHELL")  # as Singularity sets them; batchspawner lists those of the Hub's machine
_SSL = ("JUPYTERHUB_SSL_KEYFILE", "JUPYTERHUB_SSL_CERTFILE", "JUPYTERHUB_SSL_CLIENT_CA")
FOLDER = "/run/siflab"  # the session's private folder, as the container has it


def claim_answer(spawner: "SingularitySlurmSpawner", record: QueueRecord) -> dict[str, Any]:
    """The body of the 200 answer. `files` are for the private folder, by name."""
    session, app = spawner.session, hub_with_ssl()
    return {
        "env": session_environment(spawner, session.port),
        "argv": session_argv(spawner),
        "files": {
            "environments": program_text(),
            **(session_certificate(app, [record.batch_host, session.host]) if app is not None else {}),
        },
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
    """Where the nodes reach the routes of claim_handlers.py: at the Hub's own port, or with internal_ssl at that of
    claim_server.py."""
    hub = spawner.hub
    base = spawner.hub_connect_url + urlparse(hub.api_url).path if spawner.hub_connect_url else hub.api_url
    if hub_with_ssl() is not None:
        parts = urlparse(base)
        name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        base = f"https://{name}:{claim_port()}{parts.path}"
    return f"{base.rstrip('/')}/siflab"


def claim_ca() -> str | None:
    """The CAs (PEM) by which a job knows the Hub; None without internal_ssl."""
    app = hub_with_ssl()
    return trusted(app) if app is not None else None


def session_argv(spawner: "SingularitySlurmSpawner") -> list[str]:
    """`Spawner.cmd` where a site set it, else the image's own Python with JupyterHub's single-user server."""
    facts = spawner.session.facts
    command = list(spawner.cmd or []) or [facts.get("python", "python3"), "-m", "jupyterhub.singleuser"]
    return [*facts.get("command", command), *spawner.get_args()]


def session_environment(spawner: "SingularitySlurmSpawner", port: int) -> dict[str, str]:
    """What JupyterHub lists for a server, with the port that the job chose, and what Siflab adds. Nothing of the Hub's
    own environment is in it but what `Spawner.env_keep` names."""
    facts = spawner.session.facts
    left_out = {*_INSIDE, *facts.get("in_job", ())}
    env = {name: str(value) for name, value in spawner.get_env().items() if value is not None and name not in left_out}
    with_ssl = hub_with_ssl() is not None
    _, _, rest = env["JUPYTERHUB_SERVICE_URL"].partition("://")
    address, _, path = rest.partition("/")
    scheme = "https" if with_ssl else "http"
    env["JUPYTERHUB_SERVICE_URL"] = f"{scheme}://{address.rpartition(':')[0]}:{port}/{path}"
    if facts.get("home_inside"):
        env.setdefault("JUPYTERHUB_ROOT_DIR", facts["home_inside"])
    env.update(
        SIFLAB_SESSION=f"{FOLDER}/session.json",
        SIFLAB_SITE=f"{FOLDER}/site.json",
        JUPYTER_RUNTIME_DIR=f"{FOLDER}/runtime",
        **activity_environment(spawner.site),
    )
    if "in_job" not in facts:  # a site's own script goes on as it always did
        env["PYTHONNOUSERSITE"] = "1"
    if with_ssl:
        for variable, name in zip(_SSL, NAMES, strict=True):
            env[variable] = f"{FOLDER}/{name}"
    partition = spawner.site.slurm.partitions.get(facts.get("partition", ""))
    return {**(partition.environment if partition else {}), **env}
