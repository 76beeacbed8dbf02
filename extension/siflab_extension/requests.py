"""From a request's body or query to values, or to `Invalid` with the names of the fields that are wrong."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from siflab.errors import FieldError, Invalid
from siflab.model_errors import EXPECTED, invalid
from siflab.text import Text
from siflab_extension.paths import notebook_path


def read_request(model: type[BaseModel], body: bytes, root: Path) -> Any:
    """The `RunRequest` in a body, its path absolute (see `notebook_path`); raises `Invalid` with all that is wrong."""
    request = read_model(model, body)
    return request.model_copy(update={"path": notebook_path(request.path, root)})


def read_model(model: type[BaseModel], body: bytes) -> Any:
    """The model in a body; raises `Invalid` with all that is wrong."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise invalid(error) from None


def read_integer(field: str, value: str | None, *, minimum: int | None = None) -> int | None:
    """The whole number in a parameter of the query; None if it is absent or empty."""
    if not value:
        return None
    try:
        number = int(value)
    except ValueError:
        raise Invalid([FieldError(field, "int-parsing", EXPECTED["int_parsing"])]) from None
    if minimum is not None and number < minimum:
        least = Text(f"this must be at least {minimum}", f"此项不能小于 {minimum}")
        raise Invalid([FieldError(field, "too-small", least)])
    return number
