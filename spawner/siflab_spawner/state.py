"""What is kept of a session in the Hub's database, so that a Hub that is killed at any moment finds its job again.

It is written before sbatch (the intent), right after it (the job id), at the claim and when the server is ready; see
`SessionState.phase`. It holds no secret: of the claim code and of the claimant only the SHA-256.
"""

import hashlib
import secrets
import time
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

Phase = Literal["none", "intent", "submitted", "claimed", "ready"]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class SessionState:
    """One start of a session. Times are seconds since the epoch; `cluster` is the job's, where Slurm has several;
    `started_at` is when its job began, by Slurm's clock: another time means that it was started again.

    `ended_at` is when its job said that the server that was ready ended, `exit_code` with what.

    `facts` is what the job was submitted with, as JSON (see `facts.session_facts`), so that a claim that comes after a
    restart is answered from what was asked for then, not from a site.yaml that may have changed since.
    """

    submit_id: str = ""
    claim_hash: str = ""
    job_id: str = ""
    cluster: str = ""
    intended_at: float = 0.0
    claimant_hash: str = ""
    claimed_at: float = 0.0
    host: str = ""
    port: int = 0
    tls: bool = False
    ready_at: float = 0.0
    ended_at: float = 0.0
    exit_code: int = 0
    started_at: float = 0.0
    log_path: str = ""
    extensions: int = 0
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def intend(cls, facts: dict[str, Any], log_path: str) -> tuple["SessionState", str]:
        """A new start and its claim code. Only the job's script gets the code."""
        code = secrets.token_urlsafe(32)
        state = cls(
            submit_id=secrets.token_hex(6),
            claim_hash=sha256(code),
            intended_at=time.time(),
            log_path=log_path,
            facts=facts,
        )
        return state, code

    @property
    def phase(self) -> Phase:
        if self.ready_at:
            return "ready"
        if self.claimed_at:
            return "claimed"
        if self.job_id:
            return "submitted"
        return "intent" if self.submit_id else "none"

    def unclaimed(self) -> "SessionState":
        """The same start before its claim: what it fetched is void and it has to claim again. The claimant stays
        known, so that nobody else can."""
        return SessionState(**{**asdict(self), "claimed_at": 0.0, "host": "", "port": 0, "ready_at": 0.0})

    def as_dict(self) -> dict[str, Any]:
        """For the database: only what differs from the default, so that a stopped session keeps an empty state."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != _default(f.name)}

    @classmethod
    def from_dict(cls, data: Any) -> "SessionState":
        """From the database. What has another name or type (another version's, or batchspawner's own) is left out."""
        if not isinstance(data, dict):
            return cls()
        kept: dict[str, Any] = {}
        for f in fields(cls):
            value = data.get(f.name)
            wanted = type(_default(f.name))
            if type(value) is wanted or (wanted is float and type(value) is int):
                kept[f.name] = value
        return cls(**kept)


def _default(name: str) -> Any:
    return getattr(_EMPTY, name)


_EMPTY = SessionState()
