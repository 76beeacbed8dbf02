"""Modes, parameters and sweeps in the dialog; scripts from the file browser."""

import json
import os
import pwd
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.notebooks import write_notebook
from tests.browser.person import RUN_LIMIT

pytestmark = pytest.mark.browser
NAME, CHINESE = "t-researcher1", "t-researcher2"


def test_a_sweep_from_the_dialog_and_what_is_wrong_at_its_field(person):
    parameters = "rate: float = 0.1  # learning rate\ntitle = 'a'"
    write_notebook(
        NAME, "modes.ipynb", (parameters, "parameters"), "import siflab\nsiflab.record(loss=rate)\nprint(title)"
    )
    someone = person(NAME)
    someone.log_in()
    someone.start("cpu")
    someone.open_notebook("modes.ipynb")
    dialog = someone.press_promote()
    dialog.locator('[name="profile"]').select_option("cpu")
    rate = dialog.locator('[name="parameter-rate"]')
    expect(rate).to_have_value("0.1")
    expect(rate).to_have_accessible_description("number · learning rate")
    rate.fill("fast")
    expect(rate).to_have_accessible_description(re.compile("'fast' is no float"))
    someone.picture("wrong-parameter")

    dialog.locator('[name="mode"]').select_option("sweep")
    points = dialog.locator('[data-siflab="promote-points"]')
    expect(points).to_have_text("no values to sweep over yet")
    rate.fill("0.1, 0.2, 0.3")
    expect(points).to_have_text("3 runs")
    dialog.locator('[name="atOnce"]').fill("2")
    expect(dialog.locator('[data-siflab="promote-outlook"]')).to_have_attribute("data-siflab-busy", "false")
    expect(dialog.locator('[data-siflab="promote-script"] pre')).to_contain_text("--array=0-2%2")
    someone.picture("sweep")
    someone.submit(dialog)
    someone.show_runs()
    run = someone.newest_run()
    expect(run).to_have_attribute("data-siflab-state", "completed", timeout=RUN_LIMIT)
    someone.picture("sweep-completed")

    dialog = someone.press_promote()
    dialog.locator('[name="mode"]').select_option("sweep")
    dialog.locator('[name="table"]').fill("rate\ttitle\n0.5\tb\nslow\tc")
    expect(points).to_have_text("2 runs")
    expect(dialog.locator('[data-siflab-field="table"] [role="alert"]')).to_contain_text("'slow' is no float")
    someone.picture("wrong-table")
    assert someone.errors == []


def test_a_script_from_the_file_browser(person):
    account = pwd.getpwnam(CHINESE)
    script = Path(account.pw_dir) / "modes.py"
    script.write_text("import sys\nprint('called with', sys.argv[1:])\n")
    os.chown(script, account.pw_uid, account.pw_gid)
    someone = person(CHINESE, language="zh-CN")
    someone.log_in()
    someone.start("cpu")
    someone.open_lab()
    item = someone.page.locator('.jp-DirListing-item[data-file-type="python"]', has_text="modes.py")
    item.click(button="right")
    someone.picture("menu")
    someone.page.locator('.lm-Menu-item[data-command="siflab:promote"]').click()
    dialog = someone.page.locator('[data-siflab="promote-dialog"]')
    dialog.locator('[name="profile"]').select_option("cpu")
    dialog.locator('[name="arguments"]').fill("--name 'a b")
    expect(dialog.locator('[name="arguments"]')).to_have_attribute("aria-invalid", "true")
    dialog.locator('[name="arguments"]').fill("--name 'a b'")
    someone.picture("script")
    someone.submit(dialog)
    someone.show_runs()
    run = someone.newest_run()
    expect(run).to_have_attribute("data-siflab-state", "completed", timeout=RUN_LIMIT)
    run.locator('[data-siflab-action="log"]').click()
    expect(someone.page.locator('[data-siflab="log"]').first).to_contain_text("called with ['--name', 'a b']")
    someone.picture("log")


def test_a_finding_is_fixed_or_gone_to_from_the_dialog(person):
    path = write_notebook(NAME, "findings.ipynb", "import os\n!pip install nosuch", "name = input()")
    someone = person(NAME)
    someone.log_in()
    someone.start("cpu")
    panel = someone.open_notebook("findings.ipynb")
    dialog = someone.press_promote()
    dialog.locator('[name="profile"]').select_option("cpu")
    dialog.locator('[name="attempts"]').fill("2")
    installs = dialog.locator('[data-siflab-finding="installs-packages"]')
    installs.get_by_role("button", name="Fix").click()
    expect(installs).to_be_hidden()
    saved = json.loads(path.read_text())["cells"][0]["source"]
    assert "".join(saved) == "import os\n# !pip install nosuch"
    someone.picture("fixed")

    asks = dialog.locator('[data-siflab-finding="asks-a-person"]')
    asks.locator('[data-siflab-action="go-to"]').click()
    expect(dialog).to_be_hidden()
    expect(panel.locator(".jp-Cell.jp-mod-active .cm-content")).to_have_text("name = input()")
    expect(panel.locator(".jp-Cell.jp-mod-active .cm-content")).to_be_focused()
    someone.picture("gone-to")
    dialog = someone.press_promote()
    expect(dialog.locator('[name="attempts"]')).to_have_value("2")
    assert someone.errors == []
