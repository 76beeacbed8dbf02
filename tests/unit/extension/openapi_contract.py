"""openapi.yaml as a judge of what the handlers answer."""

from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

import siflab_extension

ADDRESS = "urn:siflab-openapi"


def _closed(schema: Any) -> Any:
    """The same document, but with no property allowed that is not written in it: an answer cannot say more either."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if closed.get("type") == "object" and "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed


def _pointer(*parts: str) -> str:
    return f"{ADDRESS}#/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)


class Contract:
    def __init__(self) -> None:
        path = Path(siflab_extension.__file__).with_name("openapi.yaml")
        self.document = yaml.safe_load(path.read_text(encoding="utf-8"))
        closed = Resource.from_contents(_closed(self.document), default_specification=DRAFT202012)
        self._registry = Registry().with_resource(ADDRESS, closed)

    def operations(self) -> set[tuple[str, str]]:
        """All pairs of path and method (in lower case)."""
        methods = {"get", "post", "put", "patch", "delete"}
        return {(path, method) for path, item in self.document["paths"].items() for method in item.keys() & methods}

    def check_schema(self, name: str, value: Any) -> None:
        self._check(_pointer("components", "schemas", name), value)

    def check_answer(self, path: str, method: str, status: int, value: Any) -> None:
        """Raises ValidationError if `value` is not what openapi.yaml has for this status, or else for `default`."""
        responses = self.document["paths"][path][method]["responses"]
        if str(status) not in responses:
            self.check_schema("Failure", value)
            return
        self._check(
            _pointer("paths", path, method, "responses", str(status), "content", "application/json", "schema"), value
        )

    def _check(self, pointer: str, value: Any) -> None:
        Draft202012Validator({"$ref": pointer}, registry=self._registry, format_checker=FormatChecker()).validate(value)
