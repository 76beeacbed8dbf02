"""How long a person waits: from Start to a usable JupyterLab with its parts, and from Submit to the job id.

``make bench`` runs it on the test instance in Chromium and prints medians. The parts of a start come from what the Hub
keeps of a session: from the intent to the claim (sbatch, the start of job and container), and to the listening server.
"""

import argparse
import json
import sqlite3
import statistics
import time
from collections import defaultdict
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from cluster.instance.names import TEST
from tests.browser.conftest import ARGUMENTS
from tests.browser.person import Person

USER = "t-researcher1"


def measure_start(someone: Person) -> float:
    """Seconds from the click on Start until JupyterLab can be used."""
    someone.stop()
    someone.open_spawn_page()
    someone.page.locator('.siflab-card[data-profile="a100-1"] input[name="profile"]').check()
    begun = time.monotonic()
    someone.page.locator('#spawn_form [type="submit"]').click()
    someone.page.wait_for_url("**/user/*/lab*", timeout=120_000)
    someone.wait_for_lab()
    return time.monotonic() - begun


def parts_of_start() -> dict[str, float]:
    """Of the session that runs now, from the Hub's database."""
    database = sqlite3.connect(f"file:{TEST.hub}/data/jupyterhub.sqlite?mode=ro", uri=True)
    rows = database.execute("select state from spawners where state is not null").fetchall()
    database.close()
    states = [json.loads(state) for (state,) in rows]
    state = max(states, key=lambda state: state.get("ready_at", 0.0))
    return {
        "  intent to claim (Slurm, container)": state["claimed_at"] - state["intended_at"],
        "  claim to server that listens": state["ready_at"] - state["claimed_at"],
    }


def measure_promotion(someone: Person) -> dict[str, float]:
    """Seconds from the button to the dialog, and from Submit to the notice with the job id."""
    begun = time.monotonic()
    dialog = someone.press_promote()
    opened = time.monotonic()
    dialog.locator('[name="profile"]').select_option("cpu")
    expect(dialog.locator('[data-siflab="promote-outlook"]')).to_have_attribute("data-siflab-busy", "false")
    submitted = time.monotonic()
    dialog.locator('[data-siflab="promote-submit"]').click()
    notices(someone.page).first.wait_for(state="visible")
    done = time.monotonic()
    for notice in notices(someone.page).all():
        notice.locator('button[aria-label="Hide notification"], .jp-Notification-Toast-Close').first.click()
    expect(notices(someone.page)).to_have_count(0)  # or the next one would seem to be there at once
    return {"promote: button to dialog": opened - begun, "promote: Submit to job id": done - submitted}


def notices(page: Page):
    return page.locator(".Toastify__toast", has_text="Slurm job")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--times", type=int, default=5)
    times = options.parse_args().times
    readings: dict[str, list[float]] = defaultdict(list)
    password = json.loads(TEST.passwords.read_text())[USER]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        someone = Person(context.new_page(), TEST.public_url, USER, password, Path("artifacts/bench"), "bench")
        someone.log_in()
        for _ in range(times):
            readings["start: click to usable JupyterLab"].append(measure_start(someone))
            for name, seconds in parts_of_start().items():
                readings[name].append(seconds)
        someone.open_notebook("hello.ipynb")
        for _ in range(times):
            for name, seconds in measure_promotion(someone).items():
                readings[name].append(seconds)
        someone.stop()
        browser.close()
    print(f"median of {times}, seconds (least to most)")
    for name, seconds in readings.items():
        print(f"{name:36} {statistics.median(seconds):6.2f}   ({min(seconds):.2f} to {max(seconds):.2f})")


if __name__ == "__main__":
    main()
