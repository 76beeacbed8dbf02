"""The state of ipywidgets, so that an executed notebook shows them as they were at its end, and Output widgets, which
take the outputs of other messages while they are entered (nbclient mimics them in the same way). Standard library
only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .journal import Record
from .terminal import Terminal

OUTPUT_WIDGET = ("jupyter.widget", "@jupyter-widgets/output", "OutputModel")
MIME_TYPE = "application/vnd.jupyter.widget-state+json"
FULL = 10_000_000
"""Characters that an Output widget captures from streams."""
SENT = 100_000
"""Up to so many, each piece is answered by all of its outputs, as the protocol wants it; beyond, the kernel's side of
the widget gets no more of them, since that would grow with the square."""


class OutputWidget:
    """An ``ipywidgets.Output``: captures what comes for the message id that it listens to."""

    def __init__(self, comm_id: str, outputs: list[dict[str, Any]]) -> None:
        self.comm_id = comm_id
        self.outputs = outputs
        self.listens_to: str | None = None
        self.clear_next = False
        self.stream: Terminal | None = None  # the last output, where it is a stream
        self.size = 0

    def add(self, output: dict[str, Any]) -> None:
        last = self.outputs[-1] if self.outputs else {}
        if output["output_type"] != "stream":
            self.settle()
            self.stream = None
        elif last.get("output_type") == "stream" and last["name"] == output["name"]:
            self.stream = self.stream or Terminal(last["text"])
            self.stream.write(output["text"])
            self.size += len(output["text"])
            return
        else:
            self.settle()
            self.stream = Terminal(output["text"])
            self.size += len(output["text"])
        self.outputs.append(output)

    def settle(self) -> None:
        if self.stream is not None:
            self.outputs[-1]["text"] = self.stream.text()

    def clear(self) -> None:
        self.outputs, self.stream, self.clear_next, self.size = [], None, False, 0


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
        if kind == "comm_msg" and comm_id in self._outputs and "outputs" in state and data.get("method") == "update":
            self._outputs[comm_id].clear()
            self._outputs[comm_id].outputs = list(state["outputs"] or [])
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

    def captures(self, parent: str | None) -> bool:
        """Whether a widget takes the outputs of this request: one that is full does so no longer, and what it would
        have got is its cell's."""
        widget = self._innermost(parent)
        return widget is not None and (widget.size <= FULL or widget.clear_next)

    def capture(self, parent: str | None, output: dict[str, Any]) -> bool:
        """Whether a widget took the output."""
        widget = self._innermost(parent)
        if widget is None or not self.captures(parent):
            return False
        if widget.clear_next:
            widget.clear()
        widget.add(output)
        if widget.size <= SENT:
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
            widget.clear()
            self._sync(widget, parent)
        return True

    def _sync(self, widget: OutputWidget, parent: str | None) -> None:
        widget.settle()
        self._state[widget.comm_id]["outputs"] = widget.outputs
        if self.send is not None:
            data = {"method": "update", "state": {"outputs": widget.outputs}, "buffer_paths": []}
            self.send(widget.comm_id, data, parent)

    def state(self) -> dict[str, Any]:
        """For the journal (`outputs.Outputs.state`)."""
        self.metadata()
        outputs = {key: [each.listens_to, each.clear_next, each.size] for key, each in self._outputs.items()}
        buffers = {comm_id: list(kept.values()) for comm_id, kept in self._buffers.items()}
        listening = {
            parent: [each.comm_id for each in widgets] for parent, widgets in self._listening.items() if widgets
        }
        return {"state": self._state, "buffers": buffers, "outputs": outputs, "listening": listening}

    def load(self, state: dict[str, Any]) -> None:
        self._state = state["state"]
        self._buffers = {
            comm_id: {tuple(each["path"]): each for each in kept} for comm_id, kept in state["buffers"].items()
        }
        for comm_id, (listens_to, clear_next, size) in state["outputs"].items():
            widget = self._outputs[comm_id] = OutputWidget(comm_id, self._state[comm_id]["outputs"])
            widget.listens_to, widget.clear_next, widget.size = listens_to, clear_next, size
        self._listening = {
            parent: [self._outputs[comm_id] for comm_id in widgets] for parent, widgets in state["listening"].items()
        }

    def metadata(self) -> dict[str, Any] | None:
        """The notebook's metadata key ``widgets`` (schema: ``@jupyter-widgets/schema``, v2); None without any
        widget."""
        state = {}
        for comm_id, widget in self._outputs.items():
            widget.settle()
            self._state[comm_id]["outputs"] = widget.outputs
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
