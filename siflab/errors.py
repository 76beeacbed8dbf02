"""What Siflab raises when it cannot do what it was asked: always with a message for a person."""

from collections.abc import Sequence
from dataclasses import dataclass

from siflab.text import Text


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one field of a request.

    `field` is the request's key (``gpus``, ``time``, ``profile``, ``path`` ...; empty: the request as a whole), `code`
    is stable and for programs, `message` says what is wrong and what would be right.
    """

    field: str
    code: str
    message: Text

    def as_dict(self) -> dict[str, object]:
        return {"field": self.field, "code": self.code, "message": self.message.as_dict()}


class SiflabError(Exception):
    """The base of all; `status` is the HTTP status with which a REST answer carries it."""

    code = "internal"
    status = 500

    def __init__(self, message: Text, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(message.en)
        self.message = message
        self.errors = list(errors)

    def as_failure(self) -> dict[str, object]:
        """The `Failure` of openapi.yaml."""
        return {
            "code": self.code,
            "message": self.message.as_dict(),
            "errors": [error.as_dict() for error in self.errors],
        }


class Invalid(SiflabError):
    """The request cannot be carried out as it stands; `errors` has one entry for each field that is wrong."""

    code = "invalid"
    status = 400

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__(
            Text(
                "; ".join(f"{e.field}: {e.message.en}" if e.field else e.message.en for e in errors),
                "；".join(f"{e.field}：{e.message.zh}" if e.field else e.message.zh for e in errors),
            ),
            errors,
        )


class NotFound(SiflabError):
    """There is no such run, file or profile."""

    code = "not-found"
    status = 404


class Conflict(SiflabError):
    """It cannot be done in the state that the thing is in."""

    code = "conflict"
    status = 409


class SlurmRefused(SiflabError):
    """Slurm answered, and said no; the message has Slurm's reason in plain words."""

    code = "slurm-refused"
    status = 400


class SlurmUnreachable(SiflabError):
    """Slurm did not answer, or not in a way that proves anything."""

    code = "slurm-unreachable"
    status = 503


class Internal(SiflabError):
    """Something of the machine failed: a disk, a permission, a program that is missing."""
