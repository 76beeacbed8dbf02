"""Which of the Hub's variables a job's script gets: none that could be a secret.

batchspawner puts all of ``get_env()``, tokens included, into sbatch's environment, from where Slurm's accounting may
keep it. Here a server gets all of it by the claim. The site's own lines (prologue, ``module``, ``conda activate``) get
what they may need: what ``Spawner.env_keep`` names, texts of ``c.Spawner.environment`` that the configuration itself
sets (a hook's are of one user, and may be tokens), and what ``req_keepvars_extra`` names.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siflab_spawner.batchspawner_compat.settings import settings_in

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SECRET = re.compile(
    r"TOKEN|SECRET|PASS|CRED|COOKIE|AUTH|PRIVATE|JWT|DSN|WEBHOOK|DATABASE|PROXY|SSH"
    r"|(?:^|_)(?:KEYS?|KEYID|PWD?|PIN|PATS?|URL)(?:$|_)|(?:API|SSH)KEY",
    re.ASCII,
)
_OURS = ("JUPYTERHUB_", "JPY_", "SLURM_", "SIFLAB_")


def looks_secret(name: str) -> bool:
    return name not in ("PWD", "OLDPWD") and bool(_SECRET.search(name.upper()))


def kept_variables(spawner: "SingularitySlurmSpawner") -> dict[str, str]:
    """By name, sorted: for the script, and no more for the claim (what the site's lines made of one counts)."""
    env: Mapping[str, Any] = spawner.get_env()
    names = {name for name in spawner.env_keep if name in env}
    configured = settings_in(spawner.config).get("environment", ("", {}))[1]
    for name, value in dict(configured).items():
        if isinstance(value, str) and env.get(name) == value:
            names.add(name)
    for name in re.split(r"[,\s]+", f"{spawner.req_keepvars_extra},{_set_by_hand(spawner)}"):
        if name in env:
            names.add(name)
    return {
        name: str(env[name])
        for name in sorted(names)
        if _NAME.fullmatch(name) and not name.startswith(_OURS) and not looks_secret(name) and env[name] is not None
    }


def _set_by_hand(spawner: "SingularitySlurmSpawner") -> str:
    """``req_keepvars`` where a hook or a subclass set it; by itself it names all there is."""
    return str(spawner.req_keepvars) if spawner.trait_has_value("req_keepvars") else ""
