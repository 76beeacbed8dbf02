"""The state of ipywidgets, so that an executed notebook shows them as they were at its end, and Output widgets, which
take the outputs of other messages while they are entered (nbclient mimics them in the same way). Standard library
only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .journal import Record

OUTPUT_WIDGET = ("jupyter.widget", "@jupyter-widgets/output", "OutputModel")
MIME_TYPE = "application/vnd.jupyter.widget-state+json"


class OutputWidget:
    """An ``ipywidgets.Output``: captures what comes for the message id that it listens to."""

    def __init__(self, comm_id: str, outputs: list[dict[str, Any]]) -> None:
        self.comm_id = comm_id
        self.outputs = outputs
        self.listens_to: str | None = None
        self.clear_next = False


class Widgets:
    """All widgets of one kernel."""

    def __init__(self, send: Callable[[str, dict[str, Any], str | None], None] | None = None) -> None:
        self.send = send
        self._state: dict[str, dict[str, Any]] = {}
        self._buffers: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
        self._outputs: dict[str, OutputWidget] = {}
        self._listening: dict[str, list[OutputWidget]] = {}  # message id -> widgets, the innermost last

    def comm(self, kind: str, record: Record) -> None:
        """A message comm_open, comm_msg or comm_close."""
        content = record["content"]
        data = content.get("data")
        comm_id = content.get("comm_id")
        state = data.get("state") if isinstance(data, dict) else None
        if not isinstance(comm_id, str) or not isinstance(data, dict) or not isinstance(state, dict):
            return  # a custom message, or no widget at all: nothing that could be kept
        model = (content.get("target_name"), state.get("_model_module"), state.get("_model_name"))
        if kind == "comm_open" and model == OUTPUT_WIDGET:
            self._outputs[comm_id] = OutputWidget(comm_id, list(state.get("outputs") or []))
        self._state.setdefault(comm_id, {}).update(state)
        for path, buffer in zip(data.get("buffer_paths") or [], record.get("buffers") or []):  # noqa: B905 (Python 3.9)
            kept = {"data": buffer, "encoding": "base64", "path": path}
            self._buffers.setdefault(comm_id, {})[tuple(path)] = kept
        if kind == "comm_msg" and comm_id in self._outputs and "msg_id" in state:
            self._listen(self._outputs[comm_id], state["msg_id"] or None)

    def _listen(self, widget: OutputWidget, parent: str | None) -> None:
        if widget.listens_to is not None:
            self._listening[widget.listens_to].remove(widget)
        widget.listens_to = parent
        if parent is not None:
            self._listening.setdefault(parent, []).append(widget)

    def _innermost(self, parent: str | None) -> OutputWidget | None:
        listening = self._listening.get(parent or "")
        return listening[-1] if listening else None

    def capture(self, parent: str | None, output: dict[str, Any]) -> bool:
        """Whether a widget took the output."""
        widget = self._innermost(parent)
        if widget is None:
            return False
        if widget.clear_next:
            widget.outputs, widget.clear_next = [], False
        last = widget.outputs[-1] if widget.outputs else {}
        if output["output_type"] == last.get("output_type") == "stream" and last["name"] == output["name"]:
            last["text"] += output["text"]
        else:
            widget.outputs.append(output)
        self._sync(widget, parent)
        return True

    def clear_output(self, parent: str | None, wait: bool) -> bool:
        """Whether a widget was cleared in the cell's place."""
        widget = self._innermost(parent)
        if widget is None:
            return False
        if wait:
            widget.clear_next = True
        else:
            widget.outputs = []
            self._sync(widget, parent)
        return True

    def _sync(self, widget: OutputWidget, parent: str | None) -> None:
        self._state[widget.comm_id]["outputs"] = widget.outputs
        if self.send is not None:
            data = {"method": "update", "state": {"outputs": widget.outputs}, "buffer_paths": []}
            self.send(widget.comm_id, data, parent)

    def metadata(self) -> dict[str, Any] | None:
        """The notebook's metadata key ``widgets`` (schema: ``@jupyter-widgets/schema``, v2); None without any
        widget."""
        state = {}
        for comm_id, values in self._state.items():
            if "_model_name" in values:
                state[comm_id] = {
                    "model_name": values.get("_model_name"),
                    "model_module": values.get("_model_module"),
                    "model_module_version": values.get("_model_module_version"),
                    "state": values,
                }
                if comm_id in self._buffers:
                    state[comm_id]["buffers"] = list(self._buffers[comm_id].values())
        return {MIME_TYPE: {"state": state, "version_major": 2, "version_minor": 0}} if self._state else None
