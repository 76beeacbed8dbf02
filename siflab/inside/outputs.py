"""From a kernel's messages to the outputs of cells, as JupyterLab and nbclient do it.

The runner applies each message as it arrives; recovery applies the same records from the journal. Both are this one
class, so that a recovered notebook equals what the runner had; a test holds it against nbclient on a table of
messages (but for `terminal`, which it leaves to the reader). Standard library only. The format:
https://nbformat.readthedocs.io, the messages: https://jupyter-client.readthedocs.io."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import spill
from .journal import Record
from .notebook import Notebook, code_numbers, joined, set_state
from .terminal import Terminal
from .widgets import Widgets

_TIMES = {"busy": "iopub.status.busy", "idle": "iopub.status.idle"}


class Outputs:
    """The outputs of all cells of one notebook (a dict, changed in place).

    The stream at the end of a cell's outputs is kept as a `Terminal` until `settle` brings it in, so that a cell that
    prints a million lines costs no more than their sum: a notebook is up to date after `settle` only.
    """

    def __init__(
        self,
        notebook: Notebook,
        folder: Path | None = None,
        limit: int = spill.LIMIT,
        send: Callable[[str, dict[str, Any], str | None], None] | None = None,
    ) -> None:
        """`folder`: the attempt's, in which `spill` has files; `limit`: of a cell's streams, in characters;
        `send(comm_id, data, parent)`: how an Output widget's state goes back to a living kernel."""
        self.notebook = notebook
        self._folder = folder
        self._limit = limit
        self._code_cells = code_numbers(notebook)
        self.widgets = Widgets(send)
        self._places: dict[str, dict[int, list[int]]] = {}  # display id -> cell -> indexes of its outputs
        self._clear_next: set[int] = set()  # cells to clear when their next output comes
        self._streams: dict[int, Terminal] = {}  # cell -> the stream at the end of its outputs
        self._sizes: dict[int, int] = {}  # cell -> characters of its streams that are settled
        self._ends: dict[int, tuple[int, int]] = {}  # cells whose streams go on in a file: output, bytes it shows

    def apply(self, record: Record) -> None:
        """Apply a record of the journal, a message or a mark; what has no meaning for outputs is passed over."""
        kind, index = record["type"], record.get("cell")
        if kind == "@kernel":
            self.notebook["metadata"]["language_info"] = record["language_info"]
        elif kind == "@state":
            self.load(record["state"])
        elif not isinstance(index, int) or index not in self._code_cells:
            return
        elif kind.startswith("@"):
            self._mark(index, kind, record)
        else:
            self._message(index, kind, record)

    def settle(self) -> None:
        """Bring streams and widgets into the notebook."""
        for index, stream in self._streams.items():
            self.notebook["cells"][index]["outputs"][-1]["text"] = stream.text()
        for index in self._ends:
            self._refresh_end(index)
        state = self.widgets.metadata()
        if state:
            self.notebook["metadata"]["widgets"] = state

    def _mark(self, index: int, kind: str, record: Record) -> None:
        if kind == "@start":
            set_state(self.notebook, index, "running", record["at"])
            self.notebook["cells"][index]["metadata"]["execution"] = {}
            self._empty(index)
        elif kind == "@spill":
            self._spill(index)
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
        if kind == "stream" and index in self._ends:
            return
        outputs = self.notebook["cells"][index]["outputs"]
        last = outputs[-1] if outputs else {}
        if kind == "stream" and last.get("output_type") == "stream" and last["name"] == output["name"]:
            self._streams[index].write(output["text"])
            return
        self._join(index)
        if kind == "stream":
            self._streams[index] = Terminal(output["text"])
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
        self._streams.pop(index, None)
        self._sizes.pop(index, None)
        self._ends.pop(index, None)
        for places in self._places.values():
            places.pop(index, None)

    def _join(self, index: int) -> None:
        stream = self._streams.pop(index, None)
        if stream is not None:
            text = stream.text()
            self.notebook["cells"][index]["outputs"][-1]["text"] = text
            self._sizes[index] = self._sizes.get(index, 0) + len(text)

    def is_spilled(self, index: int, parent: str | None) -> bool:
        """Whether a stream that comes now belongs to the cell's file."""
        return index in self._ends and index not in self._clear_next and not self.widgets.captures(parent)

    def is_over_limit(self, index: int) -> bool:
        stream = self._streams.get(index)
        return stream is not None and self._sizes.get(index, 0) + stream.size > self._limit

    def weight(self) -> int:
        """About how many bytes the outputs have in the notebook."""
        total = sum(stream.size for stream in self._streams.values())
        for index in self._code_cells:
            for output in self.notebook["cells"][index]["outputs"]:
                total += len(output.get("text", ""))
                total += sum(len(value) for value in output.get("data", {}).values() if isinstance(value, str))
        return total

    def printed(self, index: int) -> str:
        """The text of the cell's streams."""
        self._join(index)
        outputs = self.notebook["cells"][index]["outputs"]
        return "".join(output["text"] for output in outputs if output["output_type"] == "stream")

    def _spill(self, index: int) -> None:
        """Leave the beginning of the streams, and the note; other outputs stay."""
        self._join(index)
        left = spill.beginning(self.printed(index), self._limit)
        kept: list[dict[str, Any]] = []
        moved: dict[int, int] = {}
        for place, output in enumerate(self.notebook["cells"][index]["outputs"]):
            if output["output_type"] == "stream":
                output["text"] = output["text"][: len(left)]
                left = left[len(output["text"]) :]
                if not output["text"]:
                    continue
            moved[place] = len(kept)
            kept.append(output)
        kept += [
            spill.note(self._code_cells[index], self._limit),
            {"output_type": "stream", "name": "stdout", "text": ""},
        ]
        self.notebook["cells"][index]["outputs"] = kept
        for places in self._places.values():
            places[index] = [moved[place] for place in places.get(index, [])]
        self._ends[index] = (len(kept) - 1, -1)

    def _refresh_end(self, index: int) -> None:
        place, shown = self._ends[index]
        path = self._folder / spill.relative_path(self._code_cells[index]) if self._folder is not None else None
        size = spill.size_of(path)
        if path is not None and size != shown:
            self.notebook["cells"][index]["outputs"][place]["text"] = spill.end(path, self._limit)
            self._ends[index] = (place, size)

    def state(self) -> dict[str, Any]:
        """All that `apply` has come to, for the journal: a fresh one that has loaded it goes on in the same way."""
        self.settle()
        cells = {}
        for index in self._code_cells:
            cell = self.notebook["cells"][index]
            cells[str(index)] = [cell["outputs"], cell["execution_count"], cell["metadata"]]
        return {
            "cells": cells,
            "language_info": self.notebook["metadata"].get("language_info"),
            "places": {name: list(places.items()) for name, places in self._places.items()},
            "clear_next": sorted(self._clear_next),
            "sizes": list(self._sizes.items()),
            "ends": [[index, place] for index, (place, _) in self._ends.items()],
            "widgets": self.widgets.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        for key, (outputs, count, metadata) in state["cells"].items():
            cell = self.notebook["cells"][int(key)]
            cell.update(outputs=outputs, execution_count=count, metadata=metadata)
            if outputs and outputs[-1]["output_type"] == "stream" and [int(key), len(outputs) - 1] not in state["ends"]:
                self._streams[int(key)] = Terminal(outputs[-1]["text"])
        if state["language_info"] is not None:
            self.notebook["metadata"]["language_info"] = state["language_info"]
        self._places = {name: {index: list(at) for index, at in places} for name, places in state["places"].items()}
        self._clear_next = set(state["clear_next"])
        self._sizes = dict(state["sizes"])
        self._ends = {index: (place, -1) for index, place in state["ends"]}
        self.widgets.load(state["widgets"])


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
