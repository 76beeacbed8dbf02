"""When the session that we run in ends, and how to get more time.

session.json has the end that was known when the job started; the Hub knows the one of now, since it follows the job
anyway. So the Hub is asked, not Slurm, and its answer serves for a while.
"""

import time
from dataclasses import dataclass
from typing import Any

from siflab.errors import NotFound, SiflabError
from siflab.runs.hub import ask_hub
from siflab.runs.viewer import Viewer
from siflab.text import Text

_REMEMBERED = 15.0  # seconds
_PATIENCE = 3.0  # seconds for a page to wait for the Hub
_KEY = "session-time"


@dataclass(frozen=True)
class SessionTime:
    """`ends_at` is ISO 8601 with offset; `extension` is the Hub's word on what may be added (`Extension` of
    openapi.yaml), None where the site extends no sessions or the Hub did not say."""

    ends_at: str | None
    extension: dict[str, Any] | None


def session_time(viewer: Viewer) -> SessionTime:
    """Raises nothing: what the job knew at its start is the answer where the Hub gives none."""
    at, known = viewer.memory.get(_KEY, (0.0, None))
    if known is None or time.monotonic() - at > _REMEMBERED:
        known = _asked(viewer)
        viewer.memory[_KEY] = (time.monotonic(), known)
    found: SessionTime = known
    return found


def extension_view(viewer: Viewer) -> dict[str, Any]:
    """Raises NotFound outside of a session and where the site extends none, HubUnreachable, SlurmUnreachable."""
    _require_session(viewer)
    return ask_hub("extension")


def extend_session(viewer: Viewer, seconds: int, ends_at: str | None = None) -> dict[str, Any]:
    """Let this session go on for `seconds` more; `ends_at` is the end that the person saw, so that a request that is
    sent twice counts once. Raises what `extension_view` does, and Conflict, Invalid, SlurmRefused."""
    _require_session(viewer)
    answer = ask_hub("extension", {"seconds": seconds, "ends_at": ends_at})
    viewer.memory[_KEY] = (time.monotonic(), SessionTime(answer.get("ends_at"), answer))
    return answer


def _asked(viewer: Viewer) -> SessionTime:
    written = viewer.in_session.ends_at if viewer.in_session else None
    try:
        now = ask_hub("time", timeout=_PATIENCE)
        extension = ask_hub("extension", timeout=_PATIENCE) if now.get("can_extend") else None
    except SiflabError:
        return SessionTime(written, None)
    end = now.get("ends_at")
    return SessionTime(end if isinstance(end, str) else written, extension)


def _require_session(viewer: Viewer) -> None:
    if viewer.in_session is None:
        raise NotFound(
            Text(
                "This is not inside of a session; open a terminal in JupyterLab.",
                "此处不在会话中；请在 JupyterLab 中打开终端。",
            )
        )
