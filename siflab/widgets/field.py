"""One field of the form: a label, an input, and below it what is wrong with it."""

import html
from typing import Any

import ipywidgets as widgets

_LABEL = widgets.Layout(width="130px")
_INPUT = widgets.Layout(width="260px")


class Field(widgets.VBox):  # type: ignore[misc]
    """`default` is what the field means when it is left as it is: then the request says nothing of it."""

    def __init__(
        self, key: str, label: str, default: Any, choices: list[tuple[str, Any]] | None = None, hint: str = ""
    ) -> None:
        self.key, self.default = key, default
        shown = "" if default is None else default
        if choices is not None:
            self.input: Any = widgets.Dropdown(options=choices, value=default, layout=_INPUT)
        elif isinstance(default, bool):
            self.input = widgets.Checkbox(value=default, indent=False, layout=_INPUT)
        else:
            self.input = widgets.Text(value=str(shown), placeholder=hint, layout=_INPUT, continuous_update=False)
        self.input.description_allow_html = False
        self.input.tooltip = label
        self._error = widgets.HTML()
        name = widgets.Label(value=label, layout=_LABEL)
        allowed = [widgets.Label(value=hint)] if hint and shown != "" else []  # else it is in the input
        super().__init__([widgets.HBox([name, self.input, *allowed]), self._error])

    @property
    def value(self) -> Any:
        """What was chosen; None where it is the default."""
        value = self.input.value
        value = value.strip() if isinstance(value, str) else value
        return None if value in ("", self.default, str(self.default)) and value is not True else value

    def say(self, error: str) -> None:
        words = f'<span role="alert" style="color:#b3261e">⚠ {html.escape(error)}</span>' if error else ""
        self._error.value = words
