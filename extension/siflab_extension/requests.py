"""From a request's body or query to values, or to `Invalid` with the names of the fields that are wrong."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from siflab.errors import FieldError, Invalid
from siflab.text import Text
from siflab_extension.paths import notebook_path

#: pydantic's error types (https://docs.pydantic.dev/latest/errors/validation_errors/) that a client can cause.
EXPECTED: dict[str, Text] = {
    "missing": Text("this is required", "此项必填"),
    "extra_forbidden": Text("there is no such field", "没有这个字段"),
    "json_invalid": Text("the request is not valid JSON", "请求不是有效的 JSON"),
    "model_type": Text("the request must be a JSON object", "请求必须是一个 JSON 对象"),
    "string_type": Text("this must be a text", "此项必须是文本"),
    "string_unicode": Text("this must be valid Unicode text", "此项必须是有效的 Unicode 文本"),
    "greater_than_equal": Text("this number is too small", "此数值过小"),
    "int_type": Text("this must be a whole number", "此项必须是整数"),
    "int_parsing": Text("this must be a whole number", "此项必须是整数"),
    "int_from_float": Text("this must be a whole number", "此项必须是整数"),
}


def read_request(model: type[BaseModel], body: bytes, root: Path) -> Any:
    """The `RunRequest` in a body, its path absolute (see `notebook_path`); raises `Invalid` with all that is wrong."""
    request = read_model(model, body)
    return request.model_copy(update={"path": notebook_path(request.path, root)})


def read_model(model: type[BaseModel], body: bytes) -> Any:
    """The model in a body; raises `Invalid` with all that is wrong."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise Invalid([_field_error(detail) for detail in error.errors(include_url=False)]) from None


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


def _field_error(detail: ErrorDetails) -> FieldError:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "string_too_long":
        longest = context["max_length"]
        message = Text(f"this may have at most {longest} characters", f"此项最多 {longest} 个字符")
    elif kind in ("literal_error", "enum"):
        message = Text(f"this must be one of: {context['expected']}", f"此项只能是：{context['expected']}")
    elif kind == "string_pattern_mismatch":
        message = Text(f"this must match {context['pattern']}", f"此项必须符合 {context['pattern']}")
    else:
        message = EXPECTED.get(kind, Text.plain(detail["msg"]))
    return FieldError(".".join(str(part) for part in detail["loc"]), kind.replace("_", "-"), message)
