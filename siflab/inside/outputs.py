"""From a kernel's messages to the outputs of cells, as JupyterLab and nbclient do it.

The runner applies each message as it arrives; recovery applies the same records from the journal. Both are this one
class, so that a recovered notebook equals what the runner had; a test holds it against nbclient on a table of
messages. Standard library only. The format: https://nbformat.readthedocs.io, the messages:
https://jupyter-client.readthedocs.io."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .journal import Record
from .notebook import Notebook, code_numbers, joined, set_state
from .widgets import Widgets

_TIMES = {"busy": "iopub.status.busy", "idle": "iopub.status.idle"}


class Outputs:
    """The outputs of all cells of one notebook (a dict, changed in place).

    Streams are kept as a list of pieces until `settle` joins them, so that a cell that prints a million lines costs no
    more than their sum: a notebook is up to date after `settle` only.
    """

    def __init__(
        self, notebook: Notebook, send: Callable[[str, dict[str, Any], str | None], None] | None = None
    ) -> None:
        """`send(comm_id, data, parent)`: how an Output widget's state goes back to a living kernel."""
        self.notebook = notebook
        self._code_cells = code_numbers(notebook)
        self.widgets = Widgets(send)
        self._places: dict[str, dict[int, list[int]]] = {}  # display id -> cell -> indexes of its outputs
        self._clear_next: set[int] = set()  # cells to clear when their next output comes
        self._pieces: dict[int, list[str]] = {}  # cell -> pieces of the stream at the end of its outputs

    def apply(self, record: Record) -> None:
        """Apply a record of the journal, a message or a mark; what has no meaning for outputs is passed over."""
        kind, index = record["type"], record.get("cell")
        if kind == "@kernel":
            self.notebook["metadata"]["language_info"] = record["language_info"]
        elif not isinstance(index, int) or index not in self._code_cells:
            return
        elif kind.startswith("@"):
            self._mark(index, kind, record)
        else:
            self._message(index, kind, record)

    def settle(self) -> None:
        """Bring streams and widgets into the notebook."""
        for index in list(self._pieces):
            self._join(index)
        state = self.widgets.metadata()
        if state:
            self.notebook["metadata"]["widgets"] = state

    def _mark(self, index: int, kind: str, record: Record) -> None:
        if kind == "@start":
            set_state(self.notebook, index, "running", record["at"])
            self.notebook["cells"][index]["metadata"]["execution"] = {}
            self._empty(index)
        elif kind == "@done":
            set_state(self.notebook, index, record["status"], record["at"])
            self.notebook["cells"][index]["metadata"].get("execution", {})["shell.execute_reply"] = record["at"]
        elif kind == "@skip":
            set_state(self.notebook, index, "skipped")

    def _message(self, index: int, kind: str, record: Record) -> None:
        content, parent = record["content"], record.get("parent")
        cell = self.notebook["cells"][index]
        if "execution_count" in content and kind in ("execute_input", "execute_result"):
            cell["execution_count"] = content["execution_count"]
        if kind == "status" or kind == "execute_input":
            name = _TIMES.get(content.get("execution_state", ""), "iopub.execute_input" if kind != "status" else "")
            if name and "execution" in cell["metadata"]:
                cell["metadata"]["execution"][name] = record["at"]
        elif kind == "clear_output":
            if not self.widgets.clear_output(parent, bool(content.get("wait"))):
                self._clear(index, bool(content.get("wait")))
        elif kind.startswith("comm_"):
            self.widgets.comm(kind, record)
        else:
            self._output(index, kind, content, parent)

    def _output(self, index: int, kind: str, content: dict[str, Any], parent: str | None) -> None:
        transient = content.get("transient")
        display_id = transient.get("display_id") if isinstance(transient, dict) else None
        if display_id and kind in ("execute_result", "display_data", "update_display_data"):
            self._update(display_id, content)
        output = output_of(kind, content)
        if output is None or self.widgets.capture(parent, output):
            return
        if index in self._clear_next:
            self._empty(index)
        outputs = self.notebook["cells"][index]["outputs"]
        last = outputs[-1] if outputs else {}
        if kind == "stream" and last.get("output_type") == "stream" and last["name"] == output["name"]:
            self._pieces.setdefault(index, [last["text"]]).append(output["text"])
            return
        self._join(index)
        if display_id:
            self._places.setdefault(display_id, {}).setdefault(index, []).append(len(outputs))
        outputs.append(output)

    def _update(self, display_id: str, content: dict[str, Any]) -> None:
        for index, positions in self._places.get(display_id, {}).items():
            for position in positions:
                output = self.notebook["cells"][index]["outputs"][position]
                output["data"] = mime_bundle(content.get("data"))
                output["metadata"] = content.get("metadata") or {}

    def _clear(self, index: int, wait: bool) -> None:
        if wait:
            self._clear_next.add(index)
        else:
            self._empty(index)

    def _empty(self, index: int) -> None:
        self.notebook["cells"][index]["outputs"] = []
        self._clear_next.discard(index)
        self._pieces.pop(index, None)
        for places in self._places.values():
            places.pop(index, None)

    def _join(self, index: int) -> None:
        pieces = self._pieces.pop(index, None)
        if pieces:
            self.notebook["cells"][index]["outputs"][-1]["text"] = "".join(pieces)


def output_of(kind: str, content: dict[str, Any]) -> dict[str, Any] | None:
    """The output that a message makes, valid in the format whatever the kernel sent; None if it makes none."""
    if kind == "stream":
        return {
            "output_type": kind,
            "name": str(content.get("name", "stdout")),
            "text": joined(content.get("text", "")),
        }
    if kind == "error":
        return {
            "output_type": kind,
            "ename": str(content.get("ename", "")),
            "evalue": str(content.get("evalue", "")),
            "traceback": [str(line) for line in content.get("traceback") or []],
        }
    if kind in ("display_data", "execute_result"):
        output = {
            "output_type": kind,
            "metadata": content.get("metadata") or {},
            "data": mime_bundle(content.get("data")),
        }
        if kind == "execute_result":
            output["execution_count"] = content.get("execution_count")
        return output
    return None


def mime_bundle(data: Any) -> dict[str, Any]:
    """Only JSON types may hold values; another type holds text, or a list of its lines."""
    bundle = data if isinstance(data, dict) else {}
    return {kind: value if _fits(kind, value) else json.dumps(value, default=str) for kind, value in bundle.items()}


def _fits(kind: str, value: Any) -> bool:
    is_json = kind == "application/json" or kind.endswith("+json")
    return is_json or isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value))
