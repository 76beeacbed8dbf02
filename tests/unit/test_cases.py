"""docs/cases.md: every case has tests, and they exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("docs/cases.md", "docs/cases.zh-CN.md")
SESSIONS = [f"S{number}" for number in range(1, 27)]
RUNS = [f"R{number}" for number in range(1, 31)]


def rows(page: str) -> dict[str, list[str]]:
    """The tests of each case."""
    found = {}
    for line in (ROOT / page).read_text("utf-8").splitlines():
        match = re.match(r"\| ([SR]\d+) \|", line)
        if match:
            found[match[1]] = re.findall(r"`(tests/[^`]+)`", line)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_case_has_a_test_that_exists(page: str) -> None:
    cases = rows(page)
    assert list(cases) == [*SESSIONS, *RUNS]
    for case, tests in cases.items():
        assert tests, case
        for test in tests:
            file, _, name = test.partition("::")
            assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE), test


def test_both_languages_name_the_same_tests() -> None:
    assert rows(PAGES[0]) == rows(PAGES[1])
