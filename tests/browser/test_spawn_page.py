"""The pages of a start as a person sees them: choose, wait, stop, ready, failed, over. With a Hub of its own, which can be
killed. What a small cluster cannot show (a partition that is down, a queue of hours) is answered by spawn_fixture."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import REPOSITORY, SHOTS
from tests.browser.person import START_LIMIT, Person
from tests.browser.spawn_fixture import Routes
from tests.cluster.hub import IMAGE, PYTHON, USERS, Blocker, Hub, running_hub, site, slurm, why_not

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(why_not()), reason=why_not() or "")]
AXE = REPOSITORY / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
LAB = re.compile(r".*/user/[^/]+/lab.*")
COMMON = {"image": "stock", "cpus": 1, "memory": "1G", "time": "0:30:00"}
PROFILES = {
    "a100": {
        **COMMON, "title": {"en": "1 x A100", "zh": "1 块 A100"}, "description": {"en": "Interactive work", "zh": "交互调试"},
        "partition": "gpu-a100", "gpus": 1, "gpu_type": "a100",
        "allow": {"gpus": {"min": 0, "max": 4}, "time": "8:00:00", "partition": ["interactive"], "gpu_type": ["v100"],
                  "account": "any", "reservation": "any"},
    },
    "v100": {**COMMON, "title": "2 x V100", "partition": "gpu-v100", "gpus": 2, "gpu_type": "v100"},
    "cpu": {**COMMON, "title": {"en": "CPU only", "zh": "仅 CPU"}, "partition": "cpu",
            "allow": {"cpus": {"min": 1, "max": 64}, "memory": "4G", "time": "2:00:00"}},
    "broken": {**COMMON, "title": "Broken", "partition": "cpu", "image": "broken"},
}  # fmt: skip
IMAGES = {
    "stock": {"path": IMAGE, "title": {"en": "Stock JupyterLab", "zh": "原版 JupyterLab"}, "python": PYTHON},
    "broken": {"path": IMAGE, "title": "Without Python", "python": "/no/such/python"},
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spawn-page")
    folder.chmod(0o755)
    yield from running_hub(folder, site(profiles=PROFILES, images=IMAGES))


@pytest.fixture
def visitor(chromium, hub, request):
    """Opens a window: `visitor(0, language=..., width=..., dark=...)`, logged in as the user of that number."""
    people, errors = [], []

    def hear(page: Page, error: object) -> None:
        if "/hub/" in page.url:  # JupyterLab has errors of its own when its server is ended
            errors.append(str(error))

    def make(user: int, language: str = "en-US", width: int = 1280, **settings) -> Person:
        context = chromium.new_context(
            locale=language, viewport={"width": width, "height": 900}, permissions=["notifications"], **settings
        )
        context.set_default_timeout(30_000)
        made = Person(context.new_page(), hub.url, USERS[user], "any", SHOTS, request.node.name)
        made.page.goto(f"{hub.url}/hub/login?next=%2Fhub%2Fhome")
        made.page.fill("#username_input", made.name)
        made.page.fill("#password_input", made.password)
        made.page.press("#password_input", "Enter")
        made.page.wait_for_url("**/hub/home")
        made.page.on("pageerror", lambda error: hear(made.page, error))
        people.append(made)
        return made

    yield make
    for one in people:
        one.leave()
    assert errors == []


def estimate_words(page: Page):
    return page.locator('[data-siflab="estimate-words"]')


def send(page: Page) -> None:
    page.locator('#spawn_form [type="submit"]').click()


def stop_all(hub: Hub, user: int) -> None:
    hub.stop_server(USERS[user])
    hub.wait_stopped(USERS[user])


def test_an_impossible_choice_cannot_be_made(visitor):
    someone = visitor(0)
    Routes(someone.page)
    someone.open_spawn_page()
    page = someone.page
    a100, v100 = page.locator('[data-profile="a100"]'), page.locator('[data-profile="v100"]')
    expect(a100.locator(".siflab-free")).to_have_text("2 of 8 A100 free now · partition gpu-a100 is up")
    expect(v100.locator(".siflab-why")).to_have_text("not possible: partition gpu-v100 is down")
    expect(v100.locator('input[name="profile"]')).to_be_disabled()

    gpus = a100.get_by_label("GPUs")
    expect(gpus.locator("option:disabled")).to_have_text(["4"])
    expect(gpus).to_have_accessible_description("up to 3 (the limit of QOS normal)")
    expect(a100.get_by_label("Partition").locator("option:disabled")).to_have_text(
        "interactive — not possible: it has no A100"
    )
    expect(a100.get_by_label("Account").locator("option")).to_have_text(["", "lab"])
    expect(a100.locator('[data-field="reservation"]')).to_be_hidden()
    gpus.select_option("0")
    expect(a100.locator('[data-field="gpu_type"]')).to_be_hidden()

    page.locator('[data-siflab="inventory"] > summary').click()
    page.locator('[data-name="gpu-a100"] > summary').click()
    expect(page.locator('[data-name="gpu-a100"] tbody tr').first).to_contain_text("A100: 2 of 4; 1g.10gb: 3 of 7")
    expect(page.locator('[data-name="gpu-v100"] > summary')).to_contain_text("0 of 2 V100 free now (2 down)")


def test_when_it_would_start_and_what_would_start_sooner(visitor):
    someone = visitor(0)
    routes, page = Routes(someone.page), someone.page
    someone.open_spawn_page()
    expect(estimate_words(page)).to_have_text("Would start now.")
    a100 = page.locator('[data-profile="a100"]')
    a100.get_by_label("GPUs").select_option("3")
    expect(estimate_words(page)).to_have_text("Would start about 16:10.")
    expect(page.locator('[data-siflab="estimate-more"]')).to_contain_text("Slurm is asked again in 30 s.")
    someone.picture("alternatives")
    page.get_by_role("button", name="2 GPUs: would start now").press("Enter")
    expect(a100.get_by_label("GPUs")).to_have_value("2")
    expect(estimate_words(page)).to_have_text("Taken over: 2 GPUs: would start now Would start now.")
    expect(estimate_words(page)).to_be_focused()
    assert routes.asked[-1]["gpus"] == "2" and "reservation" not in routes.asked[-1]

    a100.get_by_label("Time limit").fill("99:00:00")
    wrong = a100.get_by_label("Time limit")
    expect(wrong).to_have_attribute("aria-invalid", "true")
    expect(wrong).to_have_accessible_description(re.compile("ask for less"))
    expect(estimate_words(page)).to_have_text("This cannot be started as it is:")
    send(page)
    expect(wrong).to_be_focused()
    assert "/hub/spawn/" in page.url, "what cannot be started is not sent"
    someone.picture("wrong")
    wrong.fill("0:30:00")
    expect(estimate_words(page)).to_have_text("Would start now.")
    expect(wrong).not_to_have_attribute("aria-invalid", "true")

    routes.away = True
    a100.get_by_label("GPUs").select_option("1")
    expect(estimate_words(page)).to_contain_text("You can start all the same")
    expect(page.locator('[data-siflab="offer-state"]')).to_contain_text("does not answer")


@pytest.mark.parametrize(
    ("language", "width", "scheme", "words"),
    [("en-US", 1280, "light", "free now"), ("zh-CN", 800, "dark", "共 8，现空闲 2"), ("zh-CN", 360, "light", "预计启动时间")],
)  # fmt: skip
def test_everyone_can_use_it(visitor, language, width, scheme, words):
    someone = visitor(0, language, width, color_scheme=scheme)
    Routes(someone.page)
    someone.open_spawn_page()
    page = someone.page
    page.locator('[data-profile="a100"] select[name="a100.gpus"]').select_option("3")
    expect(page.locator('[data-siflab="estimate-more"] button')).to_have_count(3)
    page.locator('[data-siflab="inventory"] > summary').click()
    page.locator('[data-name="gpu-a100"] > summary').click()
    assert words in page.locator(".siflab-form").evaluate("form => form.innerText + form.innerHTML")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing is cut off at the side"
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run('main')")["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in found] == []
    page.screenshot(path=SHOTS / f"spawn-{language}-{width}-{scheme}.png", full_page=True)


def test_a_link_makes_the_choice_and_slurm_says_the_rest(visitor, hub):
    """With the real routes, from Slurm to the page."""
    someone = visitor(0)
    page = someone.page
    page.goto(f"{hub.url}/hub/spawn/{someone.name}?opt-profile=cpu&opt-cpus=3&opt-time=99:00:00")
    cpu = page.locator('[data-profile="cpu"]')
    expect(cpu.locator('input[name="profile"]')).to_be_checked()
    expect(cpu.get_by_label("CPUs")).to_have_value("3")
    expect(cpu.locator(".siflab-free")).to_have_text(re.compile(r"\d+ of \d+ CPUs free now · partition cpu is up"))
    wrong = cpu.get_by_label("Time limit")
    expect(wrong).to_have_value("99:00:00")
    expect(wrong).to_have_attribute("aria-invalid", "true")
    wrong.fill("0:10:00")
    expect(estimate_words(page)).to_have_text(re.compile("start"), timeout=20_000)
    expect(page.locator('[data-siflab="estimate-more"] li')).to_have_count(0)
    page.locator('[data-siflab="inventory"] > summary').click()
    expect(page.locator('[data-name="gpu-a100"] > summary')).to_contain_text(re.compile(r"\d of \d A100 free now"))
    someone.picture("link")

    page.goto(f"{hub.url}/hub/spawn?profile=a100&gpus=9")
    gpus = page.locator('[data-profile="a100"]').get_by_label("GPUs", exact=True)
    expect(gpus).to_have_accessible_description(re.compile("9 cannot be chosen now"))
    expect(gpus).to_have_value("1")
    assert hub.jobs() == [], "a link starts nothing"


def test_by_keyboard_from_the_choice_to_the_lab_and_what_is_said_when_it_was_ended(visitor, hub):
    someone = visitor(0)
    Routes(someone.page)
    someone.open_spawn_page()
    page = someone.page
    expect(page.locator('[data-profile="v100"] input[name="profile"]')).to_be_disabled()
    page.locator('[data-profile="a100"] input[name="profile"]').focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator('[data-profile="cpu"] input[name="profile"]')).to_be_checked()
    page.keyboard.press("Tab")
    expect(page.locator('[name="cpu.cpus"]')).to_be_focused()
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    page.wait_for_url("**/spawn-pending/**")
    page.locator("#siflab-notify").press("Space")
    expect(page.locator("#siflab-notify-words")).to_contain_text("You will be notified")
    expect(page.locator('[data-fact="node"]')).to_have_text(re.compile(r"cpu\d+"))
    expect(page.locator('[data-fact="elapsed"]')).to_have_text(re.compile(r"0:00:\d\d"))
    someone.picture("pending")
    page.wait_for_url(LAB, timeout=START_LIMIT, wait_until="commit")
    (job,) = hub.jobs(USERS[0])
    slurm("scancel", job["id"])
    hub.wait_stopped(USERS[0])
    page.goto(f"{hub.url}/user/{USERS[0]}/lab")
    expect(page.locator(".siflab-notice")).to_contain_text(f"Job {job['id']} ended")
    expect(page.locator(".siflab-notice")).to_contain_text("cancelled by")
    someone.picture("over")
    page.locator("#start").click()
    expect(page.locator(".siflab-notice")).to_contain_text("cancelled by")
    expect(page.locator('[data-profile="cpu"] input[name="profile"]')).to_be_checked()
    expect(page.locator('[name="cpu.cpus"]')).to_have_value("2")


def test_a_start_that_waits_outlives_the_hub_and_is_stopped(visitor, hub):
    with Blocker():
        someone = visitor(0, "zh-CN")
        someone.open_spawn_page()
        page = someone.page
        page.locator('[data-profile="v100"] input[name="profile"]').check()
        send(page)
        page.wait_for_url("**/spawn-pending/**")
        expect(page.locator("#siflab-phase")).to_have_text("会话正在排队")
        expect(page.locator("#progress-message")).to_contain_text("正在排队：")
        (job,) = hub.jobs(USERS[0])
        expect(page.locator('[data-fact="job"]')).to_have_text(job["id"])

        hub.kill()
        expect(page.locator("#siflab-trouble")).to_be_visible(timeout=30_000)
        someone.picture("hub-away")
        hub.start()
        expect(page.locator("#siflab-phase")).to_have_text("会话正在排队", timeout=30_000)  # the page asks now and then
        expect(page.locator("#siflab-trouble")).to_be_hidden()
        page.goto(f"{hub.url}/hub/home")
        page.goto(f"{hub.url}/user/{USERS[0]}/lab")
        page.wait_for_url("**/spawn-pending/**")
        expect(page.locator('[data-fact="job"]')).to_have_text(job["id"])
        expect(page.locator('[data-fact="expected"]')).to_have_text(re.compile("约 |尚未确定"))
        someone.picture("pending")
        page.get_by_role("button", name="停止服务器").click()
        page.wait_for_url(f"**/hub/spawn/{USERS[0]}")
        expect(page.locator('[data-profile="v100"] input[name="profile"]')).to_be_checked()
        assert hub.jobs(USERS[0]) == []


def test_a_start_that_fails_says_why_with_its_log(visitor, hub):
    someone = visitor(0, "zh-CN", 360, color_scheme="dark")
    someone.open_spawn_page()
    page = someone.page
    page.locator('[data-profile="broken"] input[name="profile"]').check()
    send(page)
    expect(page.locator('[data-siflab="failure"]')).to_contain_text("Python")
    expect(page.locator("h1")).to_have_text("会话未能启动")
    expect(page.locator(".siflab-log")).to_contain_text("/no/such/python")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.evaluate(AXE.read_text("utf-8"))
    assert [one["id"] for one in page.evaluate("axe.run('.container')")["violations"]] == []
    someone.picture("failed")
    page.locator("#start").click()
    expect(page.locator('[data-profile="broken"] input[name="profile"]')).to_be_checked()


def test_without_javascript(visitor, hub):
    someone = visitor(0, java_script_enabled=False)
    page = someone.page
    page.goto(f"{hub.url}/hub/spawn/{someone.name}")
    page.locator('[data-profile="cpu"] input[name="profile"]').check()
    page.locator('[name="cpu.time"]').fill("99:00:00")
    send(page)
    expect(page.locator('[name="cpu.time"]')).to_have_attribute("aria-invalid", "true")
    someone.picture("wrong")
    page.locator('[name="cpu.time"]').fill("0:20:00")
    send(page)
    page.wait_for_url("**/spawn-pending/**")
    expect(page.locator("h1")).to_contain_text("Your session")
    someone.picture("pending")
    page.wait_for_url(LAB, timeout=START_LIMIT, wait_until="commit")
    stop_all(hub, 0)
