"""A run as it goes: state, reason, progress, the end of its log, and a button to cancel it."""

import html
import threading
from typing import Any

import ipywidgets as widgets

from siflab.api import Run
from siflab.errors import NotFound, SiflabError
from siflab.text import Text, terminal_language

_PAUSE = 2.0
"""Seconds between two looks; a look costs one squeue, or nothing once the run has ended."""
_LINES = 15
_STYLES = {
    "completed": "success",
    "failed": "danger",
    "timeout": "danger",
    "out_of_memory": "danger",
    "node_fail": "danger",
}


class Monitor(widgets.VBox):  # type: ignore[misc]
    """Live until the run has ended or `close` is called; `join` waits for that."""

    def __init__(self, run: Run, language: str | None = None, pause: float = _PAUSE) -> None:
        self.run, self.language, self.pause = run, language or terminal_language(), pause
        self._title, self._why, self._log = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self._bar = widgets.IntProgress(min=0, max=1, layout=widgets.Layout(width="400px"))
        self._cancel = widgets.Button(description=self._in(Text("Cancel", "取消")), icon="stop")
        self._cancel.on_click(self._on_cancel)
        super().__init__([widgets.HBox([self._title, self._cancel]), self._bar, self._why, self._log])
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._show()
        if not run.ended:
            self._thread.start()

    def join(self, timeout: float | None = None) -> None:
        """Until the run has ended, or it was closed."""
        if self._thread.is_alive():
            self._thread.join(timeout)

    def close(self) -> None:
        self._over.set()
        super().close()

    def _follow(self) -> None:
        while not self._over.wait(self.pause):
            try:
                self.run.refresh()
            except SiflabError as error:
                self._say(error.message)
                continue
            self._show()
            if self.run.ended:
                return

    def _show(self) -> None:
        run, seen = self.run, self.run._seen
        name, state = html.escape(run.name), html.escape(self._in(seen.state_text))
        job = f" · {self._in(Text('job', '作业'))} {html.escape(str(run.job_id))}" if run.job_id else ""
        self._title.value = (
            f'<b>{name}</b> <span role="status">{state}</span>{job} · <code>{html.escape(run.id)}</code>'
        )
        self._why.value = html.escape(self._in(seen.reason)) if seen.reason else ""
        self._bar.bar_style = _STYLES.get(run.state, "info" if run.state == "running" else "")
        done, total = self._progress(seen)
        self._bar.max, self._bar.value = max(total, 1), done
        self._bar.description = f"{done}/{total}" if total else ""
        self._cancel.disabled = run.ended
        self._log.value = self._tail()

    def _progress(self, seen: Any) -> tuple[int, int]:
        if seen.points:
            total = sum(seen.points.values())
            waiting = sum(seen.points.get(state, 0) for state in ("pending", "running", "completing", "submitting"))
            return total - waiting, total
        return (seen.progress["cells_done"], seen.progress["cells_total"]) if seen.progress else (0, 0)

    def _tail(self) -> str:
        if self.run._seen.points is not None or not self.run.attempts:
            return ""
        try:
            lines = self.run.log_end().splitlines()[-_LINES:]
        except (SiflabError, NotFound):
            return self._log.value if isinstance(self._log.value, str) else ""
        text = html.escape("\n".join(line[:300] for line in lines))
        return f'<pre style="max-height:20em;overflow:auto" tabindex="0">{text}</pre>' if text else ""

    def _on_cancel(self, _: Any) -> None:
        self._cancel.disabled = True
        try:
            self.run.cancel()
            self._show()
        except SiflabError as error:
            self._say(error.message)
            self._cancel.disabled = False

    def _say(self, message: Text) -> None:
        self._why.value = f'<span role="alert">⚠ {html.escape(self._in(message))}</span>'

    def _in(self, words: Text) -> str:
        return words.to(self.language)
