"""What all tests share: the tree as it stands is what is tested, and nothing of this machine's site leaks in."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
for folder in (ROOT / "extension", ROOT / "spawner", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture(autouse=True)
def _no_site_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that needs a site, a session or a language says so."""
    for name in ("SIFLAB_SITE", "SIFLAB_SESSION", "SIFLAB_LANG"):
        monkeypatch.delenv(name, raising=False)
