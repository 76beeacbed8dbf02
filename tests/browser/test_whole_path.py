"""From the login page to the executed notebook, as a person goes it."""

import re
import shlex

import pytest
from playwright.sync_api import expect

from tests.browser.person import RUN_LIMIT

pytestmark = pytest.mark.browser
RESEARCHER = "t-researcher1"
FAILING = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    "cells": [
        {
            "id": "a",
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": "print(11)\n1/0",
        }
    ],
}
# ipywidgets 8 throws this when a notebook is opened without a kernel, as a result is (it shall take no GPU)
KERNELLESS_WIDGETS = re.compile(r"null \(reading 'kernel'\)")


def test_a_notebook_becomes_a_job_and_comes_back_executed(person):
    someone = person(RESEARCHER)
    someone.log_in()
    someone.start("a100-1")

    shown = someone.terminal("pwd; echo GPU=$CUDA_VISIBLE_DEVICES; touch /datasets/x; ls -d /tmpdata; squeue --me")
    assert f"/workspace/{RESEARCHER}" in shown
    assert "GPU=0" in shown
    assert "Read-only file system" in shown or "Permission denied" in shown
    assert "/tmpdata" in shown
    assert re.search(r"tgpu0[12]", shown), "squeue shows the session on its node"

    someone.open_notebook("train.ipynb")
    expect(someone.page.locator("#jp-bottom-panel")).to_contain_text("| Idle")  # the kernel, on the session's GPU
    dialog = someone.press_promote()
    dialog.locator('[name="profile"]').select_option("cpu")
    expect(dialog.locator('[data-siflab="promote-resources"]')).to_contain_text("2 CPU cores")
    expect(dialog.locator('[data-siflab="promote-start"]')).not_to_have_text("")
    someone.picture("dialog")
    someone.submit(dialog)
    notice = someone.page.locator(".Toastify__toast", has_text=re.compile(r"\d+"))
    expect(notice.first).to_contain_text("what it has on the GPU stays there")
    someone.picture("submitted")
    notice.first.get_by_role("button", name="Shut down the kernel").click()
    expect(someone.page.locator("#jp-bottom-panel")).to_contain_text("No Kernel")

    someone.show_runs()
    run = someone.newest_run()
    expect(run).to_have_attribute("data-siflab-state", re.compile("running|completing|completed"), timeout=60_000)
    someone.picture("running")
    expect(run).to_have_attribute("data-siflab-state", "completed", timeout=RUN_LIMIT)
    someone.picture("completed")

    run.locator('[data-siflab-action="result"]').click()
    result = someone.page.locator(".jp-NotebookPanel:visible", has_text=re.compile(r"epoch", re.IGNORECASE)).last
    expect(result.locator(".jp-OutputArea-output").first).to_be_visible()
    assert someone.page.locator(".jp-NotebookPanel:visible").count() == 2, "the result lies beside its source"
    someone.picture("result")
    assert [error for error in someone.errors if not KERNELLESS_WIDGETS.search(error)] == []
    someone.stop()


def test_a_run_goes_on_when_the_session_ends(person):
    someone = person(RESEARCHER)
    someone.log_in()
    someone.start("cpu")
    assert "was submitted as job" in someone.terminal("siflab promote hello.ipynb --profile cpu --name goes-on")
    someone.show_runs()
    run = someone.newest_run()
    expect(run).to_contain_text("goes-on")
    run_id = run.get_attribute("data-siflab-run")
    someone.stop()
    someone.log_out()

    again = person(RESEARCHER)
    again.log_in()
    again.start("cpu")
    again.show_runs()
    same = again.page.locator(f'[data-siflab-run="{run_id}"]')
    expect(same).to_have_attribute("data-siflab-state", "completed", timeout=RUN_LIMIT)
    again.stop()


def test_what_is_wrong_is_said_at_its_field_and_nothing_is_lost(person):
    someone = person(RESEARCHER)
    someone.log_in()
    someone.start("cpu")
    someone.open_notebook("hello.ipynb")
    dialog = someone.press_promote()
    dialog.locator('[name="profile"]').select_option("a100-1")
    dialog.locator('[data-siflab-field="time"] [name="time"]').fill("99:00:00")
    dialog.locator('[data-siflab="promote-submit"]').click()
    expect(dialog.locator('[data-siflab-field="time"] [role="alert"]')).to_contain_text("8:00:00")
    assert dialog.locator('[name="time"]').input_value() == "99:00:00"
    someone.picture("field-error")
    someone.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    someone.stop()


def test_the_hub_in_chinese_on_a_phone(person):
    someone = person("t-student1", language="zh-CN", width=390, height=800)
    someone.log_in()
    someone.stop()  # what a failed test may have left
    someone.open_spawn_page()
    expect(someone.page.locator(".siflab-card").first).to_contain_text("块 A100")
    width = someone.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, "nothing is cut off at the side"


def test_the_lab_in_chinese_with_a_failing_notebook_and_its_log(person):
    someone = person("t-researcher2", language="zh-CN")
    someone.log_in()
    someone.start("cpu")
    make = f"import json; json.dump({FAILING!r}, open('fails.ipynb', 'w'))"
    someone.terminal(f"python3 -c {shlex.quote(make)}")
    someone.speak_chinese()
    someone.open_notebook("fails.ipynb")
    dialog = someone.press_promote()
    expect(dialog).to_contain_text("资源配置")
    dialog.locator('[name="profile"]').select_option("cpu")
    someone.picture("dialog")
    someone.submit(dialog)
    someone.show_runs()
    run = someone.newest_run()
    expect(run).to_have_attribute("data-siflab-state", "failed", timeout=RUN_LIMIT)
    expect(run).to_contain_text("ZeroDivisionError")
    expect(run).to_contain_text("第 2 行")
    run.locator('[data-siflab-action="log"]').click()
    expect(someone.page.locator(".siflab-Log-screen")).to_contain_text("11")
    someone.picture("log")
    someone.stop()
