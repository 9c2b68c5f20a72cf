"""Studio without a mouse: everything is reached, every page opens, and no key does what nobody meant."""

from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.studio.browsers import opened
from tests.e2e.studio.furnished import Furnished, furnished, go, settle

MOST_TABS = 400
AT_ONCE = 20
ROUNDS = 2
"""A page may begin with the focus in its middle; behind its end it begins anew."""
PLACES = {
    "New run": "/studio/new", "Go to Runs": "/studio/runs", "Go to Approvals": "/studio/approvals",
    "Go to Sessions": "/studio/sessions", "Go to Skills": "/studio/skills", "Go to Operations": "/studio/operations",
}  # fmt: skip
REACHABLE = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=tab]")]
  .filter((one) => one.checkVisibility({visibilityProperty: true}) && !one.disabled
    && one.getBoundingClientRect().width > 1
    && !(one.getAttribute("role") === "tab" && one.ariaSelected !== "true")
    && !(one.type === "radio" && !one.checked) && one.tabIndex !== -1 && !one.closest("[inert], [aria-hidden=true]"))
  .map((one, at) => { one.dataset.wanted = String(at); return String(at); })"""
"""Tabs and radio buttons are one stop; the arrows move inside."""
NOTE_FOCUS = """() => {
  const noted = (window.noted = { reached: [], unseen: [], rounds: 0, inside: false });
  window.note ??= () => {
    const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
    window.noted.rounds += one === document.body && window.noted.inside ? 1 : 0;
    window.noted.inside = one !== document.body;
    if (one === document.body) return;
    if (one.dataset.wanted) window.noted.reached.push(one.dataset.wanted);
    const ring = style.outlineStyle !== "none" || style.boxShadow !== "none";
    if (!ring || box.bottom <= 0 || box.top >= innerHeight) window.noted.unseen.push(one.outerHTML.slice(0, 120));
  };
  addEventListener("keydown", window.note, { capture: true });
  return noted; }"""
"""Notes at each key where the one before has led to; a page that is asked each time would take much longer."""


@pytest.fixture(scope="module")
def place(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Furnished]:
    with furnished(tmp_path_factory.mktemp("keyboard")) as found:
        yield found


def tab_through(page: Page) -> tuple[list[str], list[str]]:
    """Which elements the tabulator does not reach, and where the focus cannot be seen."""
    wanted = set(page.evaluate(REACHABLE))
    noted: dict[str, Any] = page.evaluate(NOTE_FOCUS)
    for _ in range(MOST_TABS // AT_ONCE):
        for _ in range(AT_ONCE):
            page.keyboard.press("Tab")
        noted = page.evaluate("(window.note(), window.noted)")
        wanted -= set(noted["reached"])
        if not wanted or noted["rounds"] >= ROUNDS:
            break
    left: list[str | None] = page.evaluate(
        "names => names.map((name) => document.querySelector(`[data-wanted='${name}']`)?.outerHTML.slice(0, 160))",
        sorted(wanted),
    )
    return [one for one in left if one], noted["unseen"]


def test_the_tabulator_reaches_everything_and_shows_where_it_is(browser: Browser, place: Furnished) -> None:
    wrong: dict[str, str] = {}
    with opened(browser, place.service) as page:
        settle(page)
        for name, path in place.pages.items():
            go(page, path)
            left, unseen = tab_through(page)
            if left or unseen:
                wrong[name] = f"not reached: {left}; the focus is not seen: {unseen}"
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


def test_the_palette_opens_every_page(browser: Browser, place: Furnished) -> None:
    with opened(browser, place.service, "/studio/welcome") as page:
        settle(page)
        for label, path in PLACES.items():
            page.keyboard.press("Control+k")
            field = page.get_by_role("combobox", name="Type a command or a page")
            expect(field).to_be_focused()
            page.keyboard.type(label)
            expect(page.get_by_role("option", name=label, selected=True)).to_be_visible()
            page.keyboard.press("Enter")
            expect(page.get_by_role("dialog")).to_have_count(0)
            page.wait_for_url(f"**{path}**")
            settle(page)


def test_the_palette_is_walked_with_arrows_and_says_when_nothing_fits(browser: Browser, place: Furnished) -> None:
    with opened(browser, place.service, "/studio/skills") as page:
        settle(page)
        page.keyboard.press("Control+k")
        options = page.get_by_role("option")
        expect(options.first).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowDown")
        expect(options.nth(1)).to_have_attribute("aria-selected", "true")
        page.keyboard.press("End")
        expect(options.last).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Home")
        expect(options.first).to_have_attribute("aria-selected", "true")
        page.keyboard.type("no such command")
        expect(page.get_by_text("No command fits")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_language_and_the_colours_are_changed_from_the_palette(browser: Browser, place: Furnished) -> None:
    with opened(browser, place.service, "/studio/skills") as page:
        settle(page)
        for typed, name, value in (("dark", "data-theme", "dark"), ("简体", "lang", "zh-CN")):
            page.keyboard.press("Control+k")
            page.get_by_role("combobox").wait_for()
            page.keyboard.type(typed)
            page.keyboard.press("Enter")
            expect(page.locator("html")).to_have_attribute(name, value)
        expect(page.get_by_role("heading", name="技能", exact=True)).to_be_visible()
        page.reload()
        expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_keys_are_listed_and_single_ones_can_be_switched_off(browser: Browser, place: Furnished) -> None:
    with opened(browser, place.service, place.pages["run-failed"]) as page:
        settle(page)
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keys on this page")
        expect(dialog.get_by_text("This page", exact=True)).to_be_visible()
        expect(dialog.get_by_text("Open the commands")).to_be_visible()
        switch = dialog.get_by_role("checkbox", name="Use single keys")
        switch.focus()
        page.keyboard.press("Space")
        expect(switch).not_to_be_checked()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.keyboard.press("?")
        page.keyboard.press("2")
        expect(page.get_by_role("tab", name="Transcript")).to_have_attribute("aria-selected", "true")
        expect(dialog).to_have_count(0)
        page.keyboard.press("Control+k")
        expect(page.get_by_role("combobox")).to_be_focused()


def test_quick_keys_are_off_while_somebody_types(browser: Browser, place: Furnished) -> None:
    with opened(browser, place.service, place.pages["run-failed"]) as page:
        settle(page)
        search = page.get_by_role("searchbox")
        search.focus()
        page.keyboard.type("?2jkf/")
        expect(search).to_have_value("?2jkf/")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("tab", name="Transcript")).to_have_attribute("aria-selected", "true")


def test_the_focus_returns_when_something_that_lay_over_the_page_closes(browser: Browser, place: Furnished) -> None:
    with opened(browser, place.service, "/studio/skills") as page:
        settle(page)
        for name, role in (("Commands", "dialog"), ("Keys", "dialog"), ("Language", "menu"), ("Colours", "menu")):
            button = page.get_by_role("banner").get_by_role("button", name=name, exact=True)
            button.focus()
            page.keyboard.press("Enter")
            expect(page.locator(f"[role={role}]")).to_be_visible()
            page.keyboard.press("Escape")
            expect(page.locator(f"[role={role}]")).to_have_count(0)
            expect(button).to_be_focused()
        opener = page.get_by_role("main").get_by_role("button", name="New skill")
        opener.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        for _ in range(12):  # the focus stays inside
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.closest('[role=dialog]') !== null")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(opener).to_be_focused()


def test_the_first_stop_skips_to_the_content(browser: Browser, place: Furnished) -> None:
    with opened(browser, place.service, "/studio/skills") as page:
        settle(page)
        page.keyboard.press("Tab")
        skip = page.get_by_role("button", name="Skip to the content")
        expect(skip).to_be_focused()
        assert page.evaluate("document.activeElement.getBoundingClientRect().width > 50")
        page.keyboard.press("Enter")
        expect(page.get_by_role("main")).to_be_focused()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")
