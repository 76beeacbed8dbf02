"""A real Chromium on the Hub of the test instance (`cluster/demo --instance test up` has started it)."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from cluster.instance.names import TEST
from tests.browser.person import Person

REPOSITORY = Path(__file__).parents[2]
SHOTS = REPOSITORY / "artifacts" / "screenshots"
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def person(chromium, request):
    """Makes a person with a browser window of their own: `person("t-researcher1", language="zh-CN", width=800)`."""
    passwords = json.loads(TEST.passwords.read_text())
    people = []

    def make(name: str, language: str = "en-US", width: int = 1280, height: int = 900) -> Person:
        context = chromium.new_context(locale=language, viewport={"width": width, "height": height})
        context.set_default_timeout(60_000)
        made = Person(context.new_page(), TEST.public_url, name, passwords[name], SHOTS, request.node.name)
        people.append(made)
        return made

    yield make
    for one in people:
        one.leave()
