"""What a session's job may send to the Hub: nothing but these fields, of these types and sizes."""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from siflab.text import Text
from siflab_spawner.watch.exit_codes import server_ended

LIMITS = {
    "claim": 4096,
    "ready": 4096,
    "failed": 65536,
    "ended": 4096,
}  # bytes of a body; JSON may take 6 for one character
LOG_TAIL_LIMIT = 8192

Name = Annotated[str, Field(max_length=255, pattern=r"^[^\x00-\x1f\x7f]*$")]
Secret = Annotated[str, Field(min_length=16, max_length=128, pattern=r"^[A-Za-z0-9_-]+$")]
JobId = Annotated[str, Field(pattern=r"^[0-9]{1,20}$")]
ExitCode = Annotated[int, Field(ge=-255, le=255)]
Port = Annotated[int, Field(ge=1024, le=65535)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    user: Annotated[Name, Field(min_length=1)]
    server: Name
    code: Secret
    claimant: Secret


class ClaimBody(_Body):
    port: Port
    job_id: JobId
    node: Name


class ReadyBody(_Body):
    port: Port


class MessageBody(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    en: Annotated[str, Field(max_length=2048)]
    zh: Annotated[str, Field(max_length=2048)]


class FailedBody(_Body):
    exit_code: ExitCode
    message: MessageBody | Annotated[str, Field(max_length=2048)]
    log_tail: Annotated[str, Field(max_length=LOG_TAIL_LIMIT)] = ""

    def text(self) -> Text:
        """What the job says; for a message in one language what its exit code means, in both."""
        if isinstance(self.message, MessageBody):
            return Text(self.message.en, self.message.zh)
        return server_ended(self.exit_code)

    @property
    def words(self) -> str:
        """The message itself, for the Hub's log."""
        return self.message.en if isinstance(self.message, MessageBody) else self.message


class EndedBody(_Body):
    """The server that was ready ended or is being ended; 47 (`siflab.node.shim`) while its own code is not known."""

    exit_code: ExitCode
    job_id: JobId


_MODELS: dict[str, type[_Body]] = {"claim": ClaimBody, "ready": ReadyBody, "failed": FailedBody, "ended": EndedBody}


def read_body(kind: Literal["claim", "ready", "failed", "ended"], raw: bytes) -> Any:
    """The body of a request. Raises ValueError with words for a log (no part of the body is repeated)."""
    if len(raw) > LIMITS[kind]:
        raise ValueError(f"longer than {LIMITS[kind]} bytes")
    try:
        data = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    try:
        return _MODELS[kind].model_validate(data)
    except ValidationError as error:
        wrong = sorted({_named(one) for one in error.errors()})
        raise ValueError(f"wrong: {', '.join(wrong)[:200]}") from None


def _named(error: Any) -> str:
    """Where it is wrong. A key that is none of ours is text of whoever sent it, and may be anything."""
    place = ".".join(str(part) for part in error["loc"])[:40] or "body"
    return place if re.fullmatch(r"[A-Za-z_.]+", place, re.ASCII) else "a key that there is not"
