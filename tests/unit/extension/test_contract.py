"""openapi.yaml, the routes and siflab.runs say the same."""

import inspect

import siflab.runs
from siflab.runs import RunRequest
from siflab.runs.views import API_VERSION
from siflab_extension.handlers import ROUTES
from tests.unit.extension.fake_runs import FakeRuns


def test_the_version_of_the_api_is_the_contracts(contract):
    assert contract.document["info"]["version"] == API_VERSION


def test_routes_and_contract_are_the_same(contract):
    handled = {
        (path, method)
        for path, handler in ROUTES.items()
        for method in ("get", "post", "put", "patch", "delete")
        if method in vars(handler)
    }
    assert handled == contract.operations()


def test_a_request_has_the_fields_of_the_contract(contract):
    written = contract.document["components"]["schemas"]["RunRequest"]
    model = RunRequest.model_json_schema()

    assert model["properties"].keys() == written["properties"].keys()
    assert set(model["required"]) == set(written["required"])
    assert model["additionalProperties"] is written["additionalProperties"] is False


def test_the_fake_takes_what_the_engine_takes():
    functions = {name: inspect.signature(function) for name, function in vars(FakeRuns).items() if callable(function)}
    asked = {
        name: list(signature.parameters)[2:]
        for name, signature in functions.items()
        if "_viewer" in signature.parameters
    }

    assert len(asked) == 21
    for name, arguments in asked.items():
        takes = list(inspect.signature(getattr(siflab.runs, name)).parameters)
        assert takes[: 1 + len(arguments)] == ["viewer", *arguments], name
