"""A person's own packages by one click: the dialog, the new kernel without a reload, and the rebuild for another image."""

import json
import os
import pwd
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.unit.environments.conftest import write_wheel

pytestmark = pytest.mark.browser
USER, NAME = "t-student1", "browser"
LIMIT = 60_000  # ms for making an environment
KERNELLESS_WIDGETS = re.compile(r"null \(reading 'kernel'\)")  # as in test_whole_path


@pytest.fixture
def wheels():
    """A folder with a wheel in the user's home; what the test makes there is removed afterwards."""
    account = pwd.getpwnam(USER)
    home = Path(account.pw_dir)
    folder = home / "siflab-test-wheels"
    folder.mkdir(exist_ok=True)
    write_wheel(folder, "siflabtiny", "1.0")
    for path in (folder, *folder.iterdir()):
        os.chown(path, account.pw_uid, account.pw_gid)
    clear(home)
    yield f"/workspace/{USER}/{folder.name}/siflabtiny-1.0-py3-none-any.whl"
    shutil.rmtree(folder)
    clear(home)


def clear(home):
    own = home / ".siflab/environments"
    for path in (own / NAME, *own.glob(f".kernels/*/kernels/siflab-{NAME}")):
        shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(home / "siflab-test-environments", ignore_errors=True)


def as_of_another_image():
    """The environment becomes one that was made for another image."""
    folder = Path(pwd.getpwnam(USER).pw_dir) / ".siflab/environments" / NAME
    (current,) = folder.iterdir()
    record = json.loads((current / "environment.json").read_text())
    record["identity"] = "sif:" + "0" * 64
    other = folder / ("0" * 12)
    subprocess.run(["cp", "-a", str(current), str(other)], check=True)
    (other / "environment.json").write_text(json.dumps(record))
    shutil.rmtree(current)


def menu(someone, label):
    """The entry of the Kernel menu, by mouse."""
    page = someone.page
    page.get_by_role("menuitem", name=re.compile("^(Kernel|内核)$")).click()
    entry = page.locator(".lm-Menu-item", has_text=label)
    someone.picture("menu")
    entry.click()
    return page.locator('[data-siflab="environment-dialog"]')


def test_one_click_makes_a_kernel_and_another_image_offers_to_rebuild_it(person, wheels):
    someone = person(USER)
    someone.log_in()
    someone.start("cpu")
    someone.open_notebook("hello.ipynb")
    dialog = menu(someone, "Create an environment for this image")
    expect(dialog).to_contain_text("PyTorch")
    name, packages = dialog.get_by_label("Name"), dialog.get_by_label("Packages")
    expect(name).to_be_focused()
    create = dialog.locator('[data-siflab="environment-create"]')
    name.fill("Not Good")
    expect(dialog.locator('[data-siflab-field="environment-name"] [role="alert"]')).to_contain_text("small letters")
    name.fill(NAME)
    packages.fill("--index-url=https://x")
    create.click()
    expect(dialog.locator('[data-siflab-field="environment-packages"] [role="alert"]')).to_contain_text("is an option")
    someone.picture("field-error")
    packages.fill(wheels.replace("1.0", "9.9"))
    create.click()
    expect(dialog.locator('[data-siflab="environment-trouble"]')).not_to_be_empty(timeout=LIMIT)
    someone.picture("failed")
    packages.fill(wheels)
    packages.press("Enter")
    assert packages.input_value() == f"{wheels}\n", "Enter in the list is a new line"
    create.click()
    expect(dialog).to_be_hidden(timeout=LIMIT)
    notice = someone.page.locator(".Toastify__toast", has_text="is ready")
    expect(notice).to_be_visible()
    someone.picture("ready")
    notice.get_by_role("button", name="Use it in hello.ipynb").click()
    kernel = someone.page.locator("#jp-main-statusbar")  # the toolbar hides a name that is too long for it
    expect(kernel).to_contain_text(f"{NAME} (my packages on PyTorch")
    someone.picture("kernel")

    as_of_another_image()
    someone.open_lab()
    offer = someone.page.locator(".Toastify__toast", has_text="was made for another image")
    expect(offer).to_contain_text(NAME)
    someone.picture("offer")
    offer.get_by_role("button", name="Rebuild").click()
    done = someone.page.locator(".Toastify__toast", has_text="is ready")
    expect(done).to_contain_text("All versions are as they were", timeout=LIMIT)
    someone.picture("rebuilt")
    assert [error for error in someone.errors if not KERNELLESS_WIDGETS.search(error)] == []
    someone.stop()


def test_the_dialog_in_chinese(person):
    someone = person("t-researcher2", language="zh-CN")  # who speaks Chinese in the other tests too
    someone.log_in()
    someone.start("cpu")
    someone.speak_chinese()
    someone.open_lab()
    dialog = menu(someone, "为此镜像创建环境")
    expect(dialog).to_contain_text("之上安装您自己的软件包")
    someone.picture("dialog")
    someone.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    someone.stop()
