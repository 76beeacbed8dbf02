"""What a person does in the browser, by the words and marks that they see."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.pipe import Pipe

START_LIMIT = 120_000  # ms from the click on Start to JupyterLab
RUN_LIMIT = 180_000  # ms from Submit to the end of the sample run


class Person:
    """A logged-in user's window. Every page that is visited is kept as a picture under artifacts/screenshots."""

    def __init__(self, page: Page, url: str, name: str, password: str, shots: Path, test: str) -> None:
        self.page, self.url, self.name, self.password = page, url, name, password
        self.shots, self.test, self.count = shots, re.sub(r"\W+", "-", test), 0
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def picture(self, what: str) -> None:
        self.shots.mkdir(parents=True, exist_ok=True)
        self.count += 1
        self.page.screenshot(path=self.shots / f"{self.test}-{self.count:02}-{what}.png")

    def leave(self) -> None:
        self.picture("end")
        self.page.context.close()

    # the Hub

    def log_in(self) -> None:
        self.page.goto(f"{self.url}/hub/login?next=%2Fhub%2Fhome")
        self.picture("login")
        self.page.fill("#username_input", self.name)
        self.page.fill("#password_input", self.password)
        self.page.click("#login_submit")
        self.page.wait_for_url("**/hub/home")

    def log_out(self) -> None:
        self.page.goto(f"{self.url}/hub/logout")

    def open_spawn_page(self) -> None:
        self.page.goto(f"{self.url}/hub/spawn/{self.name}")
        expect(self.page.locator(".siflab-card").first).to_be_visible()
        self.picture("spawn")

    def start(self, profile: str) -> list[str]:
        """Start a session (one that a failed test left is stopped first); the messages that the progress page showed."""
        self.stop()
        self.open_spawn_page()
        self.page.locator(f'.siflab-card[data-profile="{profile}"] input[name="profile"]').check()
        self.page.locator('#spawn_form [type="submit"]').click()
        messages = []
        if "/spawn-pending/" in self.page.url or self.page.locator("#progress-message").count():
            self.page.locator("#progress-message").first.wait_for(state="attached")
            self.picture("progress")
            messages.append(self.page.locator("#progress-message").inner_text())
        self.page.wait_for_url(re.compile(r".*/user/[^/]+/lab.*"), timeout=START_LIMIT)
        self.wait_for_lab()
        return messages

    def stop(self) -> None:
        """Stop the session from the Hub's home page, and wait until it is gone."""
        self.page.goto(f"{self.url}/hub/home")
        stop = self.page.locator("#stop")
        if stop.is_visible():
            stop.click()
            expect(self.page.locator("#start")).to_contain_text(re.compile("Start|Launch"), timeout=60_000)
        expect(stop).to_be_hidden(timeout=60_000)
        self.picture("stopped")

    # JupyterLab

    def wait_for_lab(self) -> None:
        self.page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=90_000)
        self.page.wait_for_selector("#jp-main-dock-panel")
        self.picture("lab")

    def open_lab(self, path: str = "") -> None:
        tree = f"/tree/{path}" if path else ""
        self.page.goto(f"{self.url}/user/{self.name}/lab{tree}?reset")
        self.wait_for_lab()

    def open_notebook(self, path: str) -> Locator:
        self.open_lab(path)
        panel = self.page.locator(".jp-NotebookPanel:visible").first
        expect(panel.locator(".jp-Notebook")).to_be_visible()
        return panel

    def terminal(self, command: str) -> str:
        """Type a command in a new terminal and wait for its end; what it printed."""
        self.page.goto(f"{self.url}/user/{self.name}/lab?reset")
        self.wait_for_lab()
        self.page.locator(".jp-LauncherCard", has_text=re.compile("^(Terminal|终端)$")).click()
        terminal = self.page.locator(".jp-Terminal:visible")
        expect(terminal.locator(".xterm-screen")).to_be_visible()
        terminal.click()
        pipe = Pipe(self.name, self.test)
        self.page.keyboard.type(f"cd; {{ {command}; }} > {pipe.shown} 2>&1\n")
        shown = pipe.read()
        self.picture("terminal")
        return shown

    def speak_chinese(self) -> None:
        """As Settings > Language > 中文 does."""
        self.page.evaluate(
            """async url => {
                const token = document.cookie.match(/_xsrf=([^;]+)/)[1];
                const body = JSON.stringify({ raw: '{"locale": "zh_CN"}' });
                await fetch(url, { method: 'PUT', body, headers: { 'X-XSRFToken': token, 'Content-Type': 'application/json' } });
            }""",
            f"/user/{self.name}/lab/api/settings/@jupyterlab/translation-extension:plugin",
        )

    # Siflab

    def press_promote(self) -> Locator:
        """The toolbar's button; the dialog with its fields there."""
        self.page.locator('.jp-NotebookPanel:visible [data-jp-item-name="siflab-promote"]').locator(
            "jp-button, button"
        ).first.click()
        dialog = self.page.locator('[data-siflab="promote-dialog"]')
        expect(dialog.locator('[name="profile"]')).to_be_visible()
        return dialog

    def submit(self, dialog: Locator) -> None:
        dialog.locator('[data-siflab="promote-submit"]').click()
        expect(dialog).to_be_hidden(timeout=30_000)

    def show_runs(self) -> Locator:
        panel = self.page.locator("#siflab-runs")
        if not panel.is_visible():
            self.page.locator('.lm-TabBar-tab[data-id="siflab-runs"]').click()
        expect(panel).to_be_visible()
        return panel

    def newest_run(self) -> Locator:
        return self.page.locator("[data-siflab-run]").first
