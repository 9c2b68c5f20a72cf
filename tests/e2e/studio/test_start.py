"""The form that starts a run: mentions by keyboard, the router's reasons, only what is allowed, and one run a wish."""

import json
from collections.abc import Generator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.service.servers import Service, serving
from tests.e2e.studio.browsers import keep_screenshot, opened
from tests.e2e.studio.conftest import Open
from tests.support import model_server
from tests.support.model_server import Answer, says

DESCRIPTIONS = {
    "greet-people": "Greets people by name.",
    "release-notes": "Writes release notes from commits.",
    "hostile": "<img src=x onerror=alert(1)> \u202e backwards",
}


def _answer(request: dict[str, Any]) -> Answer:
    del request
    return says("All done.", usage=(100, 5))


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("start")
    for name, description in DESCRIPTIONS.items():
        place = home / ".agents" / "skills" / name
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n\nDo it.\n", encoding="utf-8"
        )
    away = {"MODEL_KEY": "secret", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with model_server.start(_answer) as model:
        given = {
            "llm.backend": "openai", "llm.base_url": model.base_url, "llm.api_key_env": "MODEL_KEY",
            "models.executor": "talker", "models.planner": "talker", "safety.mode": "ask", "run.max_steps": "7",
        }  # fmt: skip
        options = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
        with serving(home, home / ".agents" / "skills", *options, **away) as running:
            yield running


@pytest.fixture
def studio(browser: Browser, service: Service) -> Open:
    return partial(opened, browser, service)


def _runs(service: Service) -> list[dict[str, Any]]:
    with service.client(token=True) as client:
        return client.get("/api/v1/runs").json()["runs"]


def test_a_mention_is_chosen_by_keyboard_and_the_run_begins(studio: Open, service: Service) -> None:
    with studio("/studio/new") as page:
        task = page.get_by_role("textbox", name="Task")
        expect(task).to_be_focused()
        task.press_sequentially("Say hello with $gre")
        offered = page.get_by_role("listbox", name="Skills that fit")
        expect(offered.get_by_role("option", name="greet-people")).to_have_attribute("aria-selected", "true")
        expect(offered.get_by_role("option", name="greet-people")).to_contain_text("Greets people by name.")
        keep_screenshot(page, "start-mention-1440")
        page.keyboard.press("Enter")
        expect(task).to_have_value("Say hello with $[user].greet-people ")
        expect(offered).to_be_hidden()
        task.press_sequentially("and $")
        expect(offered.get_by_role("option")).to_have_count(3)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        expect(task).to_have_value("Say hello with $[user].greet-people and $[user].release-notes ")
        chosen = page.get_by_role("region", name="Skills for this task")
        expect(chosen.get_by_text("the task mentions it as $[user].greet-people")).to_be_visible()
        page.get_by_role("textbox", name="Steps").fill("5")
        page.get_by_role("combobox", name="What no rule decides").select_option("deny")
        page.keyboard.press("Control+Enter")  # only in the task
        task.focus()
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**/studio/runs/*")
        expect(page.get_by_text("All done.").first).to_be_visible()
    run = _runs(service)[0]
    assert sorted(run["skills"]) == ["$[user].greet-people", "$[user].release-notes"]
    assert run["model"] == "talker"


def test_escape_closes_the_list_until_another_mention_begins(studio: Open) -> None:
    with studio("/studio/new") as page:
        task = page.get_by_role("textbox", name="Task")
        task.press_sequentially("$gre")
        offered = page.get_by_role("listbox", name="Skills that fit")
        expect(offered).to_be_visible()
        page.keyboard.press("Escape")
        expect(offered).to_be_hidden()
        task.press_sequentially("et")
        expect(offered).to_be_hidden()
        task.press_sequentially(" $rel")
        expect(offered.get_by_role("option", name="release-notes")).to_be_visible()


def test_the_router_says_why_and_a_suggestion_can_be_given_from_the_start(studio: Open, service: Service) -> None:
    with studio("/studio/new") as page:
        page.get_by_role("textbox", name="Task").fill("Write the release notes of this week")
        chosen = page.get_by_role("region", name="Skills for this task")
        expect(chosen.get_by_text("it answers to:")).to_be_visible()
        chosen.get_by_role("checkbox", name="Give release-notes from the start").check()
        keep_screenshot(page, "start-router-1440")
        page.get_by_role("button", name="Start").click()
        page.wait_for_url("**/studio/runs/*")
        expect(page.get_by_text("All done.").first).to_be_visible()
    assert _runs(service)[0]["skills"] == ["$[user].release-notes"]


def test_two_clicks_begin_one_run(studio: Open, service: Service) -> None:
    before = len(_runs(service))
    with studio("/studio/new") as page:
        page.get_by_role("textbox", name="Task").fill("Only once")
        page.get_by_role("button", name="Start").dblclick()
        page.wait_for_url("**/studio/runs/*")
        expect(page.get_by_text("All done.").first).to_be_visible()
    assert len(_runs(service)) == before + 1


def test_only_what_is_allowed_is_offered_and_a_refusal_stands_beside_its_field(studio: Open) -> None:
    with studio("/studio/new") as page:
        policy = page.get_by_role("combobox", name="What no rule decides")
        expect(policy.locator("option")).to_have_text(["Asks you (default)", "Is denied"])
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
    viewport = {"width": 360, "height": 740}
    with studio(
        "/studio/new?task=Write%20release%20notes", locale=locale, viewport=viewport, color_scheme=scheme
    ) as page:
        expect(page.get_by_role("link", name="release-notes")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        _whole(page, f"start-{locale}-360")


def test_without_a_model_it_says_so_and_where_to_go(
    browser: Browser, built: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("no-model")
    (home / "skills").mkdir()
    with serving(home, home / "skills") as bare, opened(browser, bare, "/studio/new") as page:
        note = page.get_by_role("note")
        expect(note).to_contain_text("No model can be used yet")
        expect(note.get_by_role("link", name="Configure a model")).to_have_attribute("href", "/studio/operations/model")
        expect(page.get_by_role("button", name="Start")).to_be_disabled()
        note.get_by_role("link", name="Try the offline demo").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")


def _whole(page: Page, name: str) -> None:
    page.set_viewport_size({"width": 360, "height": 1600})
    keep_screenshot(page, name)
