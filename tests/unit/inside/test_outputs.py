"""Outputs: what messages make of a notebook, held against nbclient."""

import base64
import copy
import json
from types import SimpleNamespace

import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbformat import validate
from nbformat.notebooknode import from_dict

from siflab.inside import widgets
from siflab.inside.journal import record_of
from siflab.inside.notebook import blank
from siflab.inside.outputs import Outputs

PARENT = "request-1"


def message(kind, content, cell=0, parent=PARENT, buffers=()):
    header = {"msg_type": kind, "date": None}
    return cell, {
        "msg_type": kind,
        "header": header,
        "parent_header": {"msg_id": parent},
        "content": content,
        "buffers": list(buffers),
    }


def stream(text, name="stdout", **where):
    return message("stream", {"name": name, "text": text}, **where)


def display(value, display_id=None, kind="display_data", **where):
    transient = {"transient": {"display_id": display_id}} if display_id else {}
    count = {"execution_count": 7} if kind == "execute_result" else {}
    return message(kind, {"data": {"text/plain": value}, "metadata": {}, **transient, **count}, **where)


def clear(wait=False, **where):
    return message("clear_output", {"wait": wait}, **where)


def comm(kind, comm_id, state=None, buffers=(), paths=(), **content):
    data = {} if state is None else {"state": state, "buffer_paths": [list(path) for path in paths]}
    return message(kind, {"comm_id": comm_id, "data": data, **content}, buffers=buffers)


def bar(comm_id="bar", **state):
    model = {
        "_model_name": "FloatProgressModel",
        "_model_module": "@jupyter-widgets/controls",
        "_model_module_version": "2.0.0",
    }
    return comm("comm_open", comm_id, {**model, **state}, target_name="jupyter.widget")


OUTPUT_MODEL = {
    "_model_name": "OutputModel",
    "_model_module": "@jupyter-widgets/output",
    "_model_module_version": "1.0.0",
    "outputs": [],
}
OUTPUT = comm("comm_open", "out", OUTPUT_MODEL, target_name="jupyter.widget")
ENTER, LEAVE = comm("comm_msg", "out", {"msg_id": PARENT}), comm("comm_msg", "out", {"msg_id": ""})
ERROR = message("error", {"ename": "E", "evalue": "v", "traceback": ["a", "b"]})

SEQUENCES = {
    "nothing": [],
    "one line": [stream("a\n")],
    "pieces of a line": [stream("a"), stream("b"), stream("\n")],
    "both streams": [stream("a"), stream("b", "stderr"), stream("c", "stderr"), stream("d")],
    "stream, display, stream": [stream("a"), display("x"), stream("b"), stream("c")],
    "result and count": [message("execute_input", {"code": "x", "execution_count": 7}), display("x", kind="execute_result")],
    "error": [stream("a"), ERROR],
    "cleared at once": [stream("a"), clear(), stream("b")],
    "cleared with the next": [stream("a"), clear(wait=True), stream("b"), stream("c")],
    "waits for a next that never comes": [stream("a"), clear(wait=True)],
    "progress by clearing": [piece for n in range(5) for piece in (clear(wait=True), display(str(n)))],
    "display updated": [display("0", "d"), stream("a"), display("1", "d", "update_display_data")],
    "display shown twice, updated": [display("0", "d"), display("1", "d"), display("2", "d", "update_display_data")],
    "update of an unknown display": [display("1", "nowhere", "update_display_data"), stream("a")],
    "update from a later cell": [display("0", "d"), stream("b", cell=1), display("1", "d", "update_display_data", cell=1)],
    "update after clearing": [display("0", "d"), clear(), display("1", "d", "update_display_data"), stream("a")],
    "positions after joined streams": [stream("a"), stream("b"), display("0", "d"), stream("c"), display("1", "d", "update_display_data")],
    "widget": [bar(value=0), comm("comm_msg", "bar", {"value": 5.0}, method="update")],
    "widget with buffers": [bar(value=None), comm("comm_msg", "bar", {}, [b"\0\1"], [["value"]]), comm("comm_msg", "bar", {}, [b"\2"], [["value"]])],
    "widget of an unknown kind": [comm("comm_open", "x", {"a": 1}, target_name="other"), comm("comm_close", "x")],
    "output widget": [OUTPUT, ENTER, stream("in"), stream("side"), display("x"), LEAVE, stream("out")],
    "output widget cleared": [OUTPUT, ENTER, stream("in"), clear(), stream("again"), LEAVE],
    "output widget cleared with the next": [OUTPUT, ENTER, stream("in"), clear(wait=True), stream("again"), LEAVE],
    "output widget left and entered": [OUTPUT, ENTER, stream("1"), LEAVE, stream("2"), ENTER, stream("3"), LEAVE],
}  # fmt: skip


def by_nbclient(notebook, sequence):
    nb = from_dict(copy.deepcopy(notebook))
    client = NotebookClient(nb, record_timing=False)
    client.kc = SimpleNamespace(
        session=SimpleNamespace(msg=lambda *a, **k: {}), shell_channel=SimpleNamespace(send=lambda m: None)
    )
    client.clear_before_next_output = False
    for index, each in copy.deepcopy(sequence):
        try:
            client.process_message(each, nb.cells[index], index)
        except CellExecutionComplete:
            pass
    client.set_widgets_metadata()
    for cell in nb.cells:
        joined = []
        for output in cell.outputs:
            if joined and output.output_type == joined[-1].output_type == "stream" and output.name == joined[-1].name:
                joined[-1].text += output.text
            else:
                joined.append(output)
        cell.outputs = joined
    return nb


def by_us(notebook, sequence):
    nb = copy.deepcopy(notebook)
    outputs = Outputs(nb)
    for index, each in copy.deepcopy(sequence):
        outputs.apply(record_of(each, index))
    outputs.settle()
    return nb


@pytest.mark.parametrize("name", SEQUENCES)
def test_outputs_equal_those_of_nbclient(notebook, name):
    start = notebook("", "")
    blank(start)
    ours = by_us(start, SEQUENCES[name])
    assert ours == by_nbclient(start, SEQUENCES[name])
    validate(from_dict(ours))


@pytest.mark.parametrize("name", SEQUENCES)
def test_outputs_may_be_put_down_and_taken_up_at_any_point(notebook, name):
    """As when the journal is begun anew with their state."""
    whole = notebook("", "")
    blank(whole)
    for cut in range(len(SEQUENCES[name]) + 1):
        first, second = copy.deepcopy(whole), copy.deepcopy(whole)
        before, after = Outputs(first), Outputs(second)
        for index, each in copy.deepcopy(SEQUENCES[name][:cut]):
            before.apply(record_of(each, index))
        after.load(json.loads(json.dumps(before.state())))
        for index, each in copy.deepcopy(SEQUENCES[name][cut:]):
            after.apply(record_of(each, index))
            before.apply(record_of(each, index))
        before.settle()
        after.settle()
        assert second == first == by_us(whole, SEQUENCES[name])


def test_a_progress_bar_is_one_line(notebook):
    start = notebook("")
    blank(start)
    outputs = Outputs(start)
    for n in range(100):
        outputs.apply(record_of(stream(f"\r{n + 1}%", "stderr")[1], 0))
        outputs.settle()
    for index, each in [stream("\nnext\n", "stderr"), OUTPUT, ENTER, stream("\r1%"), stream("\r2%"), LEAVE]:
        outputs.apply(record_of(each, index))
    outputs.settle()
    assert [output["text"] for output in start["cells"][0]["outputs"]] == ["100%\nnext\n"]
    state = start["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert [output["text"] for output in state["out"]["state"]["outputs"]] == ["2%"]


def test_what_a_kernel_sets_as_a_widgets_outputs_counts(notebook):
    start = notebook("")
    blank(start)

    def sets(method, outputs):
        data = {"method": method, "state": {"outputs": outputs}, "buffer_paths": []}
        return message("comm_msg", {"comm_id": "out", "data": data})

    sequence = [OUTPUT, ENTER, stream("in"), sets("update", []), stream("again"), sets("echo_update", ["old"]), LEAVE]
    state = by_us(start, sequence)["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert [output["text"] for output in state["out"]["state"]["outputs"]] == ["again"]


def test_a_widget_that_is_full_leaves_the_rest_to_its_cell(notebook, monkeypatch):
    monkeypatch.setattr(widgets, "FULL", 20)
    monkeypatch.setattr(widgets, "SENT", 8)
    start, sent = notebook(""), []
    blank(start)
    outputs = Outputs(start, send=lambda comm_id, data, parent: sent.append(data))
    for index, each in [OUTPUT, ENTER, *(stream(f"line {n}\n") for n in range(5)), LEAVE]:
        outputs.apply(record_of(each, index))
    outputs.settle()
    state = start["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert state["out"]["state"]["outputs"][0]["text"] == "line 0\nline 1\nline 2\n"
    assert start["cells"][0]["outputs"][0]["text"] == "line 3\nline 4\n" and len(sent) == 1


def test_what_a_widget_captures_goes_back_to_the_kernel(notebook):
    start, sent = notebook(""), []
    blank(start)
    outputs = Outputs(start)
    outputs.widgets.send = lambda comm_id, data, parent: sent.append(
        (comm_id, data["state"]["outputs"][-1]["text"], parent)
    )
    for index, each in [OUTPUT, ENTER, stream("in")]:
        outputs.apply(record_of(each, index))
    assert sent == [("out", "in", PARENT)]


HOSTILE = [
    message("stream", {"name": "stdout", "text": ["a", "b"]}),
    message("stream", {}),
    message("display_data", {"data": {"text/plain": 5, "application/json": {"a": 1}}, "metadata": None}),
    message("display_data", {"data": None, "transient": None}),
    message("error", {"ename": None, "traceback": None}),
    message("never heard of", {"a": 1}),
    message("comm_msg", {"comm_id": "x"}),
    message("comm_open", {"comm_id": "x", "data": {"state": {"_model_module": "@jupyter-widgets/output", "_model_name": "OutputModel"}}, "target_name": "jupyter.widget"}),
    message("stream", {"name": "stdout", "text": "x"}, cell=99),
]  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda h: f"{h[1]['msg_type']} {h[1]['content']}"[:40])
def test_whatever_a_kernel_sends_the_notebook_stays_valid(notebook, hostile):
    start = notebook("", "")
    blank(start)
    validate(from_dict(by_us(start, [stream("a"), hostile, stream("b")])))


def test_buffers_are_kept_as_base64(notebook):
    start = notebook("", "")
    blank(start)
    state = by_us(start, SEQUENCES["widget with buffers"])["metadata"]["widgets"][
        "application/vnd.jupyter.widget-state+json"
    ]["state"]
    assert [base64.b64decode(b["data"]) for b in state["bar"]["buffers"]] == [b"\2"]
