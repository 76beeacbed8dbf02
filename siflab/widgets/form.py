"""The form: what to promote, with which resources and parameters; errors stand at their fields."""

import html
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from siflab import runs as engine
from siflab.api import Run, promote
from siflab.errors import Invalid, SiflabError
from siflab.notebook import NotebookError, read_notebook
from siflab.notebook.parameters import find_parameters
from siflab.runs.views import site_view
from siflab.text import Text, terminal_language
from siflab.widgets.field import Field
from siflab.widgets.monitor import Monitor

_WORDS = {
    "path": Text("Notebook", "笔记本"),
    "profile": Text("Profile", "资源配置"),
    "gpus": Text("GPUs a node", "每节点 GPU 数"),
    "cpus": Text("CPUs a node", "每节点 CPU 数"),
    "memory": Text("Memory a node", "每节点内存"),
    "time": Text("Time limit", "时间上限"),
    "mode": Text("Mode", "模式"),
    "nodes": Text("Nodes", "节点数"),
    "attempts": Text("Attempts", "尝试次数"),
    "submit": Text("Submit", "提交"),
    "script": Text("Show the script", "显示脚本"),
    "parameters": Text("Parameters", "参数"),
    "notebook": Text("one process", "单进程"),
    "distributed": Text("distributed (torch)", "分布式（torch）"),
}
_COUNTS = ("gpus", "cpus", "nodes", "attempts")


class PromoteForm(widgets.VBox):  # type: ignore[misc]
    """`run` is the run once it was submitted; below the form stands its `monitor`."""

    def __init__(self, path: str = "", language: str | None = None) -> None:
        self.language = language or terminal_language()
        self.run: Run | None = None
        self.monitor: Monitor | None = None
        self._viewer = engine.Viewer.here()
        site = site_view(self._viewer)
        self._profiles = {profile["id"]: profile for profile in site["profiles"] if profile["for_runs"]}
        titles = [(f"{profile['title'][self._code()]} ({name})", name) for name, profile in self._profiles.items()]
        self.path = Field("path", self._in("path"), "", hint="train.ipynb")
        self.path.input.value = path
        self.profile = Field("profile", self._in("profile"), site["default_profile"], titles)
        modes = [(self._in(mode), mode) for mode in ("notebook", "distributed")]
        self.mode = Field("mode", self._in("mode"), "notebook", modes)
        self.attempts = Field("attempts", self._in("attempts"), 1)
        self._resources, self._parameters = widgets.VBox(), widgets.VBox()
        self._message, self._script = widgets.HTML(), widgets.HTML()
        self.submit = widgets.Button(description=self._in("submit"), button_style="primary", icon="play")
        self.preview = widgets.Button(description=self._in("script"))
        self.submit.on_click(self._on_submit)
        self.preview.on_click(self._on_preview)
        self.profile.input.observe(lambda _: self._show_resources(), "value")
        self.path.input.observe(lambda _: self._show_parameters(), "value")
        self._show_resources()
        self._show_parameters()
        buttons = widgets.HBox([self.submit, self.preview])
        parts = [self.path, self.profile, self._resources, self.mode, self.attempts, self._parameters]
        super().__init__([*parts, buttons, self._message, self._script])

    def field(self, key: str) -> Field:
        """Of a key of the request: ``gpus``, ``parameters.rate`` ...; KeyError."""
        return {field.key: field for field in self._fields()}[key]

    def _fields(self) -> list[Field]:
        named = [self.path, self.profile, self.mode, self.attempts]
        return [
            *named,
            *self._resources.children,
            *(one for one in self._parameters.children if isinstance(one, Field)),
        ]

    def _show_resources(self) -> None:
        """Those that the profile lets a person change."""
        profile = self._profiles.get(self.profile.input.value)
        allowed = (profile or {}).get("allow", {})
        keys = [key for key in ("gpus", "cpus", "memory", "time", "nodes") if key in allowed]
        self._resources.children = [
            Field(key, self._in(key), (profile or {})[key], hint=_range(allowed[key])) for key in keys
        ]

    def _show_parameters(self) -> None:
        path = Path(self.path.input.value.strip())
        found = []
        if path.suffix == ".ipynb" and path.is_file():
            try:
                found = find_parameters(read_notebook(str(path.absolute())))
            except NotebookError as error:
                self.path.say(error.error.message.to(self.language))
        fields = []
        for one in found:
            shown = one.value if one.value is not None else ""
            fields.append(Field(f"parameters.{one.name}", one.name, shown, hint=one.help or one.default))
        head = [widgets.HTML(f"<b>{self._in('parameters')}</b>")] if fields else []
        self._parameters.children = [*head, *fields]

    def _chosen(self) -> dict[str, Any]:
        chosen: dict[str, Any] = {}
        for field in self._fields():
            value = field.value
            if value is None or field.key in ("path", "profile"):
                continue
            first, _, name = field.key.partition(".")
            if name:
                chosen.setdefault("parameters", {})[name] = value
            else:
                chosen[first] = int(value) if first in _COUNTS and str(value).strip().isdecimal() else value
        return chosen

    def _on_submit(self, _: Any) -> None:
        self._clear()
        self.submit.disabled = True
        try:
            self.run = promote(self.path.input.value.strip(), self.profile.input.value, **self._chosen())
        except SiflabError as error:
            self._tell(error)
            self.submit.disabled = False
            return
        self.monitor = Monitor(self.run, self.language)
        self.children = [self.monitor]

    def _on_preview(self, _: Any) -> None:
        self._clear()
        try:
            path = str(Path(self.path.input.value.strip()).absolute())
            request = engine.checked_request(path=path, profile=self.profile.input.value, **self._chosen())
            seen = engine.preview(self._viewer, request)
        except SiflabError as error:
            self._tell(error)
            return
        said = [finding.message.to(self.language) for finding in seen.findings]
        if seen.slurm_says is not None:
            said.append(seen.slurm_says.to(self.language))
        self._message.value = "<br>".join(html.escape(words) for words in said)
        self._script.value = f'<pre style="max-height:30em;overflow:auto" tabindex="0">{html.escape(seen.script)}</pre>'

    def _tell(self, error: SiflabError) -> None:
        """Each at its field; the rest below."""
        known, rest = {field.key: field for field in self._fields()}, []
        for one in error.errors if isinstance(error, Invalid) else []:
            words = one.message.to(self.language)
            if one.field in known:
                known[one.field].say(words)
            else:
                rest.append(f"{one.field}: {words}" if one.field else words)
        if not isinstance(error, Invalid):
            rest.append(error.message.to(self.language))
        self._message.value = "<br>".join(f'<span role="alert">⚠ {html.escape(words)}</span>' for words in rest)

    def _clear(self) -> None:
        self._message.value = self._script.value = ""
        for field in self._fields():
            field.say("")

    def _in(self, key: str) -> str:
        return _WORDS[key].to(self.language)

    def _code(self) -> str:
        return "zh" if self.language.startswith("zh") else "en"


def _range(allowed: dict[str, Any]) -> str:
    """``1-4``, ``1, 2`` or ``≤ 8:00:00``: how far a field goes."""
    if "choices" in allowed:
        return ", ".join(map(str, allowed["choices"]))
    return f"{allowed['min']}-{allowed['max']}" if "min" in allowed else f"≤ {allowed['max']}"
