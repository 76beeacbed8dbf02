"""The form and the live view of `siflab.widgets`, in a real JupyterLab."""

import json
import os
import pwd
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.person import RUN_LIMIT

pytestmark = pytest.mark.browser
NAME = "t-researcher1"
FORM = "from siflab.widgets import PromoteForm\nPromoteForm('widgets-train.ipynb')"


def write_notebook(name, *cells):
    """In the person's home; a cell is its source, or (source, tag)."""
    person = pwd.getpwnam(NAME)
    made = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "metadata": {} if isinstance(cell, str) else {"tags": [cell[1]]},
            "source": cell if isinstance(cell, str) else cell[0],
            "outputs": [],
            "execution_count": None,
        }
        for number, cell in enumerate(cells)
    ]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = Path(person.pw_dir) / name
    path.write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": made})
    )
    os.chown(path, person.pw_uid, person.pw_gid)


def test_a_form_in_a_notebook_becomes_the_view_of_its_run(person):
    write_notebook(
        "widgets-train.ipynb",
        ("rate: float = 0.1  # learning rate", "parameters"),
        "print('trained with', rate)",
    )
    write_notebook("widgets-form.ipynb", FORM)
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
