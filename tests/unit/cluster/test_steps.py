"""What a person sees while an instance is set up."""

import threading
from pathlib import Path

import pytest

from cluster.instance import steps
from cluster.instance.steps import Step, StepFailed, perform
from cluster.lab.trouble import Trouble, run
from siflab.text import Text

ADVICE = Text("Look at the network.", "请检查网络。")


def step(name: str, act) -> Step:  # type: ignore[no-untyped-def]
    return Step(name, Text(name.title(), f"步骤 {name}"), act, ADVICE)


@pytest.mark.parametrize(("language", "title"), [("en", "[1/2] First ..."), ("zh", "[1/2] 步骤 first ...")])
def test_each_step_is_counted_and_its_output_goes_to_its_log(
    language: str, title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIFLAB_LANG", language)
    perform(
        [step("first", lambda: print("details")), step("second", lambda: None)],
        lambda name: tmp_path / name,
        lambda: [],
    )
    shown = capsys.readouterr().out
    assert title in shown and "[2/2]" in shown
    assert "details" not in shown
    assert (tmp_path / "first").read_text() == "details\n"


def test_a_step_that_fails_says_what_why_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIFLAB_LANG", "en")
    later = []
    failing = step("first", lambda: run(["sh", "-c", "echo no route to host >&2; exit 7"]))
    with pytest.raises(StepFailed):
        perform([failing, step("second", lambda: later.append(1))], lambda name: tmp_path / name, lambda: [])
    told = capsys.readouterr().err
    assert "no route to host" in told and "(7)" in told
    assert ADVICE.en in told and str(tmp_path / "first") in told
    assert later == []


def test_what_a_step_wants_said_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIFLAB_LANG", "zh")
    perform(
        [step("first", lambda: None)], lambda name: tmp_path / name, lambda: [Text("No namespaces.", "无命名空间。")]
    )
    assert "无命名空间。" in capsys.readouterr().out


def test_a_long_step_is_seen_to_be_at_work(capsys: pytest.CaptureFixture[str]) -> None:
    seen = threading.Event()
    with steps.heartbeat(0.01):
        seen.wait(0.2)
    assert "." in capsys.readouterr().out


def test_a_program_that_is_missing_is_named() -> None:
    with pytest.raises(Trouble) as caught:
        run(["no-such-program-here"])
    assert "no-such-program-here" in caught.value.message.en and "no-such-program-here" in caught.value.message.zh
