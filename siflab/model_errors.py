"""What pydantic finds wrong with a request, as errors of ours: at their fields, in both languages."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from siflab.errors import FieldError, Invalid
from siflab.text import Text

#: pydantic's error types (https://docs.pydantic.dev/latest/errors/validation_errors/) that a person can cause.
EXPECTED: dict[str, Text] = {
    "missing": Text("this is required", "此项必填"),
    "extra_forbidden": Text("there is no such field", "没有这个字段"),
    "json_invalid": Text("the request is not valid JSON", "请求不是有效的 JSON"),
    "model_type": Text("the request must be a JSON object", "请求必须是一个 JSON 对象"),
    "string_type": Text("this must be a text", "此项必须是文本"),
    "string_unicode": Text("this must be valid Unicode text", "此项必须是有效的 Unicode 文本"),
    "greater_than_equal": Text("this number is too small", "此数值过小"),
    "less_than_equal": Text("this number is too large", "此数值过大"),
    "int_type": Text("this must be a whole number", "此项必须是整数"),
    "int_parsing": Text("this must be a whole number", "此项必须是整数"),
    "int_from_float": Text("this must be a whole number", "此项必须是整数"),
}


def invalid(error: ValidationError, prefix: str = "") -> Invalid:
    """One error for each field; `prefix` goes before the field's name."""
    return Invalid([_field_error(detail, prefix) for detail in error.errors(include_url=False)])


def _field_error(detail: ErrorDetails, prefix: str) -> FieldError:
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
    return FieldError(prefix + ".".join(str(part) for part in detail["loc"]), kind.replace("_", "-"), message)
