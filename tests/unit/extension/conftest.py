"""A Jupyter server with the extension, over a fake of `siflab.runs`."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

# pytest-jupyter's fixtures clean a ServerApp up after every test that sees them, so they stay in this folder.
# Its own hooks run the async tests here (pytest-asyncio in strict mode leaves unmarked tests alone).
from pytest_jupyter.jupyter_server import *  # noqa: F403
from tornado.httpclient import HTTPClientError, HTTPResponse
from traitlets.config import Config

from siflab_extension import engine
from siflab_extension.service import Service
from tests.unit.extension.fake_runs import FakeRuns
from tests.unit.extension.openapi_contract import Contract


@pytest.fixture(scope="session")
def contract() -> Contract:
    return Contract()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> FakeRuns:
    fake = FakeRuns()
    monkeypatch.setattr(engine, "load_runs", lambda: fake)
    return fake


@pytest.fixture
def jp_server_config(runs: FakeRuns) -> Config:
    """Nothing happens by the clock: in these tests the watcher looks when it is nudged, and logs are read at once."""
    return Config(
        {
            "ServerApp": {"jpserver_extensions": {"siflab_extension": True, "jupyter_server_terminals": False}},
            "SiflabExtension": {
                "active_interval": 3600,
                "ended_interval": 3600,
                "failing_interval": 3600,
                "log_interval": 0.001,
                "metrics_interval": 0.001,
            },
        }
    )


@pytest.fixture
def service(jp_serverapp: Any) -> Service:
    found: Service = jp_serverapp.web_app.settings["siflab"]
    return found


@pytest.fixture
def ask(jp_fetch: Any, contract: Contract) -> Callable[..., Any]:
    """Sends a request to `<base_url>siflab<route>`; its answer must be as openapi.yaml says. Gives status and body."""

    async def asking(method: str, route: str, body: Any = None, *, of: str | None = None, **options: Any) -> Any:
        if method == "POST":
            options["body"] = body if isinstance(body, (str, bytes)) else json.dumps(body)
        response: HTTPResponse
        try:
            response = await jp_fetch("siflab", *route.strip("/").split("/"), method=method, **options)
        except HTTPClientError as error:
            assert error.response is not None
            response = error.response
        answer = json.loads(response.body)
        if of:
            contract.check_answer(of, method.lower(), response.code, answer)
        else:
            contract.check_schema("Failure", answer)
        assert response.headers["Cache-Control"] == "no-store"
        return response.code, answer

    return asking


class Page:
    """The front end's side of an event stream."""

    def __init__(self, socket: Any, contract: Contract) -> None:
        self.socket = socket
        self._contract = contract

    async def say(self, message: Any) -> None:
        text = message if isinstance(message, (str, bytes)) else json.dumps(message)
        await self.socket.write_message(text, binary=isinstance(text, bytes))

    async def follow(self, *, runs: bool = False, **wishes: list[dict[str, Any]]) -> None:
        """`wishes`: logs, metrics."""
        await self.say({"follow": {"runs": runs, **wishes}})

    async def event(self) -> Any:
        """The next event; as openapi.yaml says, or it fails."""
        text = await self.socket.read_message()
        assert text is not None, "the server closed the connection"
        event = json.loads(text)
        self._contract.check_schema("Event", event)
        return event

    async def list(self) -> list[dict[str, Any]]:
        """The runs that are told until the event that ends the list."""
        told = []
        while (event := await self.event())["type"] != "slurm":
            told.append(event["run"])
        return told


@pytest.fixture
def open_page(jp_ws_fetch: Any, contract: Contract, jp_asyncio_loop: Any) -> Iterator[Callable[[], Any]]:
    pages: list[Page] = []

    async def opening() -> Page:
        pages.append(Page(await jp_ws_fetch("siflab", "events"), contract))
        return pages[-1]

    yield opening

    async def closing() -> None:
        for page in pages:
            page.socket.close()

    jp_asyncio_loop.run_until_complete(closing())
