"""The form and the live view of `siflab.widgets`, in a real JupyterLab."""

import pytest
from playwright.sync_api import expect

from tests.browser.notebooks import write_notebook
from tests.browser.person import RUN_LIMIT

pytestmark = pytest.mark.browser
NAME = "t-researcher1"
FORM = "from siflab.widgets import PromoteForm\nPromoteForm('widgets-train.ipynb')"


def test_a_form_in_a_notebook_becomes_the_view_of_its_run(person):
    write_notebook(
        NAME,
        "widgets-train.ipynb",
        ("rate: float = 0.1  # learning rate", "parameters"),
        "print('trained with', rate)",
    )
    write_notebook(NAME, "widgets-form.ipynb", FORM)
    someone = person(NAME)
    someone.log_in()
    someone.start("cpu")
    panel = someone.open_notebook("widgets-form.ipynb")
    expect(someone.page.locator("#jp-bottom-panel")).to_contain_text("| Idle", timeout=60_000)  # the kernel is there
    panel.locator(".jp-Notebook .jp-Cell").first.click()
    someone.page.keyboard.press("Shift+Enter")
    output = panel.locator(".jp-OutputArea-output").first
    submit = output.get_by_role("button", name="Submit")
    expect(submit).to_be_visible(timeout=60_000)
    someone.picture("form")

    output.locator(".widget-dropdown select").first.select_option(index=0)
    someone.picture("profile")
    output.get_by_role("button", name="Show the script").click()
    expect(output.locator("pre")).to_contain_text("#SBATCH", timeout=30_000)
    someone.picture("script")
    submit.click()
    expect(output.locator('[role="status"]')).to_have_text("completed", timeout=RUN_LIMIT)
    expect(output.locator("pre")).to_contain_text("trained with 0.1")
    expect(output.get_by_role("button", name="Cancel")).to_be_disabled()
    someone.picture("monitor")
    assert someone.errors == []
