"""What the Hub's pages need to know of a session, in the language of whoever looks. The templates call it as
`spawner.page(static_url)`; another spawner on the same Hub has no such method, and JupyterHub's own page is shown."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from siflab.errors import SiflabError
from siflab.text import Text
from siflab_spawner import language
from siflab_spawner.notices import last_notice
from siflab_spawner.page.page_words import WORDS
from siflab_spawner.page.progress import state_of
from siflab_spawner.page.static_files import static_url as file_url
from siflab_spawner.start.failure import StartFailed, last_lines

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner


@dataclass(frozen=True)
class FailedStart:
    """Why a start failed, and the end of the job's log (plain text, untrusted)."""

    words: str
    log: str


class PageView:
    """For one request. `lang` is the tag for HTML, `words` are the page's own."""

    def __init__(self, spawner: "SingularitySlurmSpawner", spoken: str) -> None:
        self._spawner, self._spoken = spawner, spoken
        self.lang = "zh-CN" if spoken == "zh" else "en"
        self.words = {name: text.to(spoken) for name, text in WORDS.items()}
        self.words_json = json.dumps(self.words, ensure_ascii=False)

    @property
    def state(self) -> dict[str, Any]:
        """As in a progress event, with `message`: what is going on, in words."""
        state = state_of(self._spawner)
        return {**state, "message": state["words"][self._spoken]}

    @property
    def state_json(self) -> str:
        return json.dumps(state_of(self._spawner), ensure_ascii=False)

    @property
    def notice(self) -> str:
        """How the last session ended, empty when there is nothing to say."""
        notice = last_notice(self._spawner.user.name, self._spawner.name)
        return notice.to(self._spoken) if notice else ""

    def failure(self, exception: Any) -> FailedStart | None:
        """None for an error that is not of Siflab; JupyterHub has its own words then."""
        error = getattr(exception, "siflab", None)
        if not isinstance(error, StartFailed | SiflabError):
            return None
        log = last_lines(error.log) if isinstance(error, StartFailed) else ""
        message: Text = error.message
        return FailedStart(message.to(self._spoken), log)

    def file(self, name: str) -> str:
        return file_url(self._spawner.hub.base_url, name)


def page_view(spawner: "SingularitySlurmSpawner", static_url: Any = None) -> PageView:
    """`static_url` is the method of that name of the request's handler, which JupyterHub gives to every template: by it
    the request's Accept-Language is known."""
    handler = getattr(static_url, "__self__", None)
    spoken = language.of_request(handler) if handler is not None else None
    viewer = getattr(handler, "current_user", None)
    if spoken is not None and viewer is not None and viewer.name == spawner.user.name:
        language.remember(viewer.name, handler)
    return PageView(spawner, spoken or language.language_of(spawner.user.name) or "en")
