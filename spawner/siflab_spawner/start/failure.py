"""A start that failed, as JupyterHub shows it: the reason, and the last lines of the job's log."""

import html

from tornado import web

from siflab.errors import SiflabError
from siflab.text import Text
from siflab_spawner.language import in_words

_SHOWN_LINES = 40
_HEADING = Text("Last lines of the job's log:", "作业日志的最后几行：")


class StartFailed(Exception):
    """Raised while a session starts; `log` is the tail of the job's log (untrusted text)."""

    def __init__(self, message: Text, log: str = "", status: int = 500) -> None:
        super().__init__(message.en)
        self.message, self.log, self.status = message, log, status


def for_hub(error: StartFailed | SiflabError, language: str | None) -> web.HTTPError:
    """The exception that JupyterHub shows on its pages, in the progress stream and in REST answers."""
    words = in_words(error.message, language)
    log = last_lines(error.log) if isinstance(error, StartFailed) else ""
    heading = in_words(_HEADING, language)
    failure = web.HTTPError(error.status, "%s", words)
    failure.siflab = error  # type: ignore[attr-defined]  # page_view.py says it in the language of whoever looks
    failure.jupyterhub_message = f"{words}\n{heading}\n{log}" if log else words  # type: ignore[attr-defined]
    shown = f'<pre class="text-start">{html.escape(log)}</pre>' if log else ""
    title = f"<br>{html.escape(heading)}" if log else ""
    failure.jupyterhub_html_message = f"{html.escape(words)}{title}{shown}"  # type: ignore[attr-defined]
    return failure


def last_lines(log: str) -> str:
    """The last lines, without control characters but line ends and tabs."""
    clean = "".join(c for c in log if c in "\n\t" or (ord(c) >= 32 and ord(c) != 127))
    return "\n".join(clean.strip().splitlines()[-_SHOWN_LINES:])
