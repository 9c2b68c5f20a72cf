"""The list of runs, the form that starts one, sessions as threads, and the first visit."""

import io
import json
import re
import zipfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.service.servers import Service, serving
from tests.e2e.studio.browsers import PHONE, Spares, keep_screenshot, opened
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.services import Script, card_of, events_of, finished_run, scripted, start_calls, start_run

DESCRIPTIONS = {
    "greet-people": "Greets people by name.",
    "release-notes": "Writes release notes from commits.",
    "hostile": "<img src=x onerror=alert(1)> \u202e backwards",
}
SESSIONS = "/studio/sessions"


SCRIPT = Script()


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("runs")
    for name, description in DESCRIPTIONS.items():
        directory = home / ".agents" / "skills" / name
        directory.mkdir(parents=True)
        (directory / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n\nDo it.\n", encoding="utf-8"
        )
    limits = {"run.max_steps": "7"}
    with scripted(home, SCRIPT, mode="ask", skills=home / ".agents" / "skills", **limits) as running:
        finished_run(running, "Say goodbye to the harbour")
        finished_run(running, "Say hello to the harbour")
        finished_run(running, "FAIL politely")
        start_run(running, "ASK about the colour")
        yield running


def test_a_run_is_shown_with_its_state_and_its_figures(studio: Open) -> None:
    with studio("/studio/runs") as page:
        row = page.get_by_role("row").filter(has_text="Say hello to the harbour")
        expect(row).to_contain_text("Completed")
        expect(row).to_contain_text("talker")
        expect(row).to_contain_text("1.5K")
        expect(row.get_by_role("cell").last).to_have_text("–")  # the price of this model is unknown
        waiting = page.get_by_role("row").filter(has_text="ASK about the colour")
        expect(waiting).to_contain_text("Waiting for you")


def test_the_filters_stand_in_the_address_and_are_read_from_it(studio: Open) -> None:
    with studio("/studio/runs") as page:
        page.get_by_label("Status").select_option("waiting_for_user")
        expect(page.get_by_role("link", name="ASK about the colour")).to_be_visible()
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_have_count(0)
        assert "status=waiting_for_user" in page.url
        page.reload()
        expect(page.get_by_label("Status")).to_have_value("waiting_for_user")
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_have_count(0)
        page.get_by_role("button", name="Clear filters").click()
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_be_visible()


def test_words_of_the_task_find_a_run_and_nonsense_finds_none(studio: Open) -> None:
    with studio("/studio/runs") as page:
        search = page.get_by_role("searchbox", name="Search")
        search.fill("harbour")
        expect(page.get_by_role("link", name="FAIL politely")).to_have_count(0)
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_be_visible()
        search.fill("nothing has these words")
        expect(page.get_by_role("heading", name="No matching runs")).to_be_visible()


def test_a_new_run_appears_by_itself_and_its_state_follows(studio: Open, service: Service) -> None:
    with studio("/studio/runs") as page:
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_be_visible()
        SCRIPT.go.clear()
        start_run(service, "HOLD the line")
        row = page.get_by_role("row").filter(has_text="HOLD the line")
        expect(row).to_contain_text("Running")
        SCRIPT.go.set()
        expect(row).to_contain_text("Completed")


def test_j_k_and_enter_walk_the_list_and_open_a_run(studio: Open) -> None:
    with studio("/studio/runs?status=completed&text=harbour") as page:
        links = page.locator("a[data-run]")
        expect(links).to_have_text([re.compile("harbour")] * 2)
        page.keyboard.press("j")
        expect(links.nth(0)).to_be_focused()
        page.keyboard.press("j")
        expect(links.nth(1)).to_be_focused()
        page.keyboard.press("k")
        expect(links.nth(0)).to_be_focused()
        task = links.nth(0).inner_text()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(task)


def test_what_is_no_run_is_refused_and_the_reason_is_shown(studio: Open, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("run/readme.txt", "not a run")
    (tmp_path / "no-run.zip").write_bytes(archive.getvalue())
    with studio("/studio/runs") as page:
        page.get_by_role("button", name="Import").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Run archive").set_input_files(tmp_path / "no-run.zip")
        dialog.get_by_role("button", name="Import").click()
        expect(dialog.get_by_role("alert")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Import")).to_be_focused()


def test_an_exported_run_is_imported_elsewhere(
    studio: Open, service: Service, spares: Spares, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with studio("/studio/runs?status=completed") as page:
        page.get_by_role("link", name="Say hello to the harbour").click()
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name="Run directory").click()
        download.value.save_as(tmp_path / "run.tar.gz")
    with scripted(tmp_path_factory.mktemp("elsewhere"), Script()) as other, spares.page(other) as page:
        expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
        expect(page.get_by_role("link", name="Try the offline demo")).to_have_attribute("href", "/studio/welcome")
        expect(page.get_by_text("skills-runtime run")).to_be_visible()
        page.get_by_role("button", name="Import").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Run archive").set_input_files(tmp_path / "run.tar.gz")
        dialog.get_by_role("button", name="Import").click()
        dialog.get_by_role("button", name="Open the run").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Say hello to the harbour")
        expect(page.get_by_role("main").get_by_text("Imported", exact=True)).to_be_visible()


def _runs(service: Service) -> list[dict[str, Any]]:
    with service.client(token=True) as client:
        return client.get("/api/v1/runs").json()["runs"]


def test_a_mention_is_chosen_by_keyboard_and_the_run_begins(studio: Open, service: Service) -> None:
    with studio("/studio/new") as page:
        task = page.get_by_role("textbox", name="Task")
        expect(task).to_be_focused()
        task.press_sequentially("Say hello with $gre")
        suggestions = page.get_by_role("listbox", name="Matching skills")
        expect(suggestions.get_by_role("option", name="greet-people")).to_have_attribute("aria-selected", "true")
        expect(suggestions.get_by_role("option", name="greet-people")).to_contain_text("Greets people by name.")
        keep_screenshot(page, "start-mention-1440")
        page.keyboard.press("Enter")
        expect(task).to_have_value("Say hello with $[user].greet-people ")
        expect(suggestions).to_be_hidden()
        task.press_sequentially("and $")
        options = suggestions.get_by_role("option")
        expect(options).to_have_count(8)  # built-in ones come after those of the project
        expect(options.nth(len(DESCRIPTIONS) - 1)).to_contain_text("release-notes")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        expect(task).to_have_value("Say hello with $[user].greet-people and $[user].release-notes ")
        chosen = page.get_by_role("region", name="Skills for this task")
        expect(chosen.get_by_text("the task mentions $[user].greet-people")).to_be_visible()
        page.get_by_role("textbox", name="Steps").fill("5")
        page.get_by_role("combobox", name="When no rule matches").select_option("deny")
        page.keyboard.press("Control+Enter")  # only in the task
        task.focus()
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**/studio/runs/*")
        expect(page.get_by_text("Done.").first).to_be_visible()
    run = _runs(service)[0]
    assert sorted(run["skills"]) == ["$[user].greet-people", "$[user].release-notes"]
    assert run["model"] == "talker"


def test_escape_closes_the_list_until_another_mention_begins(studio: Open) -> None:
    with studio("/studio/new") as page:
        task = page.get_by_role("textbox", name="Task")
        task.press_sequentially("$gre")
        suggestions = page.get_by_role("listbox", name="Matching skills")
        expect(suggestions).to_be_visible()
        page.keyboard.press("Escape")
        expect(suggestions).to_be_hidden()
        task.press_sequentially("et")
        expect(suggestions).to_be_hidden()
        task.press_sequentially(" $rel")
        expect(suggestions.get_by_role("option", name="release-notes")).to_be_visible()


def test_the_router_says_why_and_a_suggestion_can_be_given_from_the_start(studio: Open, service: Service) -> None:
    with studio("/studio/new") as page:
        page.get_by_role("textbox", name="Task").fill("Write the release notes of this week")
        chosen = page.get_by_role("region", name="Skills for this task")
        expect(chosen.get_by_text("keywords:")).to_be_visible()
        chosen.get_by_role("checkbox", name="Load release-notes at start").check()
        keep_screenshot(page, "start-router-1440")
        page.get_by_role("button", name="Start").click()
        page.wait_for_url("**/studio/runs/*")
        expect(page.get_by_text("Done.").first).to_be_visible()
    assert _runs(service)[0]["skills"] == ["$[user].release-notes"]


def test_two_clicks_begin_one_run(studio: Open, service: Service) -> None:
    before = len(_runs(service))
    with studio("/studio/new") as page:
        page.get_by_role("textbox", name="Task").fill("Only once")
        page.get_by_role("button", name="Start").dblclick()
        page.wait_for_url("**/studio/runs/*")
        expect(page.get_by_text("Done.").first).to_be_visible()
    assert len(_runs(service)) == before + 1


def test_only_what_is_allowed_is_offered_and_a_refusal_stands_beside_its_field(studio: Open) -> None:
    with studio("/studio/new") as page:
        policy = page.get_by_role("combobox", name="When no rule matches")
        expect(policy.locator("option")).to_have_text(["Ask me (default)", "Deny"])
        steps = page.get_by_role("textbox", name="Steps")
        steps.fill("8")
        expect(steps).to_have_attribute("aria-invalid", "true")
        expect(steps).to_have_accessible_description("At most 7 At most 7")
        page.get_by_role("button", name="Start").click()
        task = page.get_by_role("textbox", name="Task")
        expect(task).to_have_attribute("aria-invalid", "true")
        steps.fill("2")
        task.fill("Use $[nowhere].nothing")
        expect(page.get_by_role("alert").get_by_text("`$[nowhere].nothing`")).to_be_visible()
        page.get_by_role("button", name="Start").click()
        expect(task).to_have_attribute("aria-invalid", "true")
        assert page.url.endswith("/new")


def test_hostile_descriptions_stay_text(studio: Open) -> None:
    with studio("/studio/new") as page:
        page.get_by_role("textbox", name="Task").press_sequentially("$host")
        option = page.get_by_role("option", name="hostile")
        expect(option).to_contain_text("<img src=x onerror=alert(1)>")
        assert "\u202e" not in option.inner_text()


@pytest.mark.parametrize(("locale", "scheme"), [("en-GB", "light"), ("zh-CN", "dark")])
def test_the_form_fits_a_narrow_screen(studio: Open, locale: str, scheme: str) -> None:
    path = "/studio/new?task=Write%20release%20notes"
    with studio(path, locale=locale, viewport=PHONE, color_scheme=scheme) as page:
        expect(page.get_by_role("link", name="release-notes")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        _whole(page, f"start-{locale}-360")


def test_without_a_model_it_says_so_and_where_to_go(
    spares: Spares, built: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("no-model")
    (home / "skills").mkdir()
    with serving(home, home / "skills") as bare, spares.page(bare, "/studio/new") as page:
        note = page.get_by_role("note")
        expect(note).to_contain_text("No model configured")
        expect(note.get_by_role("link", name="Configure a model")).to_have_attribute("href", "/studio/operations/model")
        expect(page.get_by_role("button", name="Start")).to_be_disabled()
        note.get_by_role("link", name="Try the offline demo").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")


def _whole(page: Page, name: str) -> None:
    page.set_viewport_size({"width": 360, "height": 1600})
    keep_screenshot(page, name)


def go_on(page: Page, message: str) -> None:
    page.get_by_label("Continue this session").fill(message)
    page.get_by_role("button", name="Send").click()


def test_a_session_is_opened_used_and_deleted(studio: Open, service: Service) -> None:
    with studio(SESSIONS) as page:
        page.get_by_role("button", name="New session").click()
        page.get_by_role("dialog").get_by_label("Name").fill("Gardening <b>now</b>")
        page.get_by_role("dialog").get_by_role("button", name="Create", exact=True).click()
        expect(page.get_by_role("heading", name="Gardening <b>now</b>")).to_be_visible()
        expect(page.get_by_text("No messages yet")).to_be_visible()
        go_on(page, "Say hello.")
        thread = page.get_by_role("list", name="Conversation")
        expect(thread.get_by_text("Say hello.").first).to_be_visible()
        expect(thread.get_by_text("Completed")).to_be_visible()
        expect(thread.get_by_text("Done.")).to_be_visible()
        expect(page.get_by_label("Continue this session")).to_have_value("")
        page.get_by_role("link", name="All sessions").click()
        expect(page.get_by_role("link", name="Gardening <b>now</b>")).to_be_visible()
        page.get_by_role("link", name="Gardening <b>now</b>").click()
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("button", name="Keep the session")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Delete")).to_be_focused()
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Delete the session").click()
        expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="Gardening <b>now</b>")).to_have_count(0)


def test_the_next_run_knows_the_conversation_and_its_request_is_decided_in_the_thread(
    studio: Open, service: Service
) -> None:
    first = start_calls(service, task="Remember the word heliotrope.")
    events_of(service, first)
    with studio(SESSIONS) as page:
        page.get_by_role("link", name="Remember the word heliotrope.").click()
        go_on(page, 'Now use it. CALLS [["shell_command", {"command": "echo heliotrope"}]]')
        thread = page.get_by_role("list", name="Conversation")
        expect(thread.get_by_text("Waiting for you", exact=True)).to_be_visible()
        keep_screenshot(page, "session-waiting")
        card_of(page, "echo heliotrope").get_by_role("button", name="Approve once").click()
        expect(thread.get_by_text("Completed")).to_have_count(2)
        keep_screenshot(page, "session")
        thread.get_by_role("link", name="Open the run").last.click()
        expect(page).not_to_have_url(f"{service.url}/studio/runs/{first}")
        second = page.url.split("/runs/")[1].split("/")[0].split("?")[0]
    with service.client(token=True) as client:
        runs = [client.get(f"/api/v1/runs/{run_id}").json() for run_id in (first, second)]
    assert runs[0]["session_id"] == runs[1]["session_id"]


@pytest.mark.parametrize(("language", "theme", "title"), [("en-GB", "light", "Sessions"), ("zh-CN", "dark", "会话")])
def test_the_list_fits_a_phone_in_both_languages(
    studio: Open, service: Service, language: str, theme: str, title: str
) -> None:
    start_calls(service, task=f"{language} " + "with a name that is much longer than any window is wide " * 4)
    size = {"width": 360, "height": 740}
    with studio(SESSIONS, locale=language, color_scheme=theme, viewport=size) as page:
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        page.get_by_role("link", name=f"{language} with a name").wait_for()
        keep_screenshot(page, f"sessions-{language}-360-{theme}")
        page.get_by_role("link", name=f"{language} with a name").click()
        expect(page.get_by_role("textbox")).to_be_visible()
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, "the page is wider than the window"
        keep_screenshot(page, f"session-{language}-360-{theme}")


@dataclass(frozen=True)
class Visit:
    """A first visit, and the texts it shows."""

    locale: str
    width: int
    scheme: str
    demo: str
    title: str
    scripted: str
    begin: str
    approve: str
    done: str
    files: str
    preview: str
    labelled: str


ENGLISH = Visit(
    "en-GB", 1440, "light", "Try the offline demo", "Welcome", "Scripted model", "Start the demo", "Approve once",
    "Completed", "Files", "Preview of deliverables/report.md", "Scripted",
)  # fmt: skip
CHINESE = Visit(
    "zh-CN", 360, "dark", "查看离线演示", "欢迎", "脚本模型", "开始演示", "仅批准这一次",
    "已完成", "文件", "deliverables/report.md 的预览", "脚本模型",
)  # fmt: skip


@pytest.mark.parametrize("visit", [CHINESE, ENGLISH], ids=["zh-360", "en-1440"])
def test_the_demo_goes_from_the_first_visit_to_the_opened_deliverable(
    browser: Browser, built: None, tmp_path: Path, visit: Visit
) -> None:
    viewport = {"width": visit.width, "height": 800}
    name = f"welcome-{visit.locale}-{visit.width}"
    (tmp_path / "skills").mkdir()
    with (
        serving(tmp_path, tmp_path / "skills") as service,
        opened(browser, service, locale=visit.locale, viewport=viewport, color_scheme=visit.scheme) as page,
    ):
        page.get_by_role("link", name=visit.demo).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(visit.title)
        expect(page.get_by_text(visit.scripted)).to_be_visible()
        _fits(page, visit.width)
        keep_screenshot(page, name)
        page.get_by_role("button", name=visit.begin).click()
        page.wait_for_url("**/studio/runs/*")
        page.get_by_role("button", name=visit.approve, exact=True).click()
        expect(page.get_by_text(visit.done, exact=True).first).to_be_visible()
        expect(page.get_by_text(visit.labelled).first).to_be_visible()
        page.get_by_role("tab", name=visit.files).click()
        page.get_by_role("button", name="report.md").click()
        report = page.get_by_role("region", name=visit.preview)
        expect(report.get_by_role("heading", name="This machine")).to_be_visible()
        _fits(page, visit.width)
        keep_screenshot(page, f"{name}-deliverable")


def test_the_first_visit_says_where_a_model_is_configured(studio: Open) -> None:
    with studio("/studio/welcome") as page:
        link = page.get_by_role("link", name="Configure the model")
        expect(link).to_have_attribute("href", "/studio/operations/model")


def _fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
