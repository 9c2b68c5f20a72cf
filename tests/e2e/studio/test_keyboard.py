"""Studio without a mouse: what opens over a page, the palette, the keys, and no unintended shortcuts."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.axe import FULL, HIDDEN, TEXTS_AND_COLOURS, load_axe, run_axe
from tests.e2e.studio.browsers import choose, go, settle
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.keys import OVERLAYS, Overlay, named
from tests.e2e.studio.seeded import Seeded

LANDMARKS = {
    "New run": "/studio/new", "Go to Runs": "/studio/runs", "Go to Approvals": "/studio/approvals",
    "Go to Sessions": "/studio/sessions", "Go to Skills": "/studio/skills", "Go to Operations": "/studio/operations",
}  # fmt: skip
INSIDE = "one => one.contains(document.activeElement)"


@pytest.fixture(scope="module")
def service(seeded: Seeded) -> Service:
    return seeded.service


@pytest.mark.parametrize("name", OVERLAYS)
def test_what_opens_over_a_page_keeps_the_focus_gives_it_back_and_is_accessible(
    page: Page, seeded: Seeded, name: str
) -> None:
    overlay = OVERLAYS[name]
    go(page, seeded.pages[overlay.page])
    for key in ("Enter", "Space") if overlay.opener else ("Enter",):
        element = overlay.open(page, key)
        if not overlay.folds:
            expect(element.locator(":focus").or_(element.and_(page.locator(":focus")))).to_have_count(1)
        if overlay.role == "dialog":
            for _ in range(element.locator("a[href], button, input, select, textarea").count() + 2):
                page.keyboard.press("Tab")
                assert element.evaluate(INSIDE), "the focus has left the dialog"
        if key == "Enter":
            assert findings(page, overlay) == []
        overlay.close(page)
        expect_focus_back(page, overlay)


def findings(page: Page, overlay: Overlay) -> list[str]:
    """What axe finds in both languages, light and dark, and around what is open."""
    within = "main article" if overlay.folds else f"[role={overlay.role}]"
    if not page.evaluate("'axe' in window"):
        load_axe(page)
    violations = run_axe(page, HIDDEN) + run_axe(page, FULL, within)
    choose(page, language="zh-CN", theme="dark")
    violations += run_axe(page, TEXTS_AND_COLOURS, within)
    choose(page, language="en", theme="light")
    return violations


def expect_focus_back(page: Page, overlay: Overlay) -> None:
    """The focus is where it was before, or where it can go on from."""
    if overlay.opener:
        expect(named(page, overlay.opener.role, overlay.opener.name)).to_be_focused()
    else:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body"), "the focus is lost"


def test_the_palette_opens_every_page(studio: Open, seeded: Seeded) -> None:
    with studio("/studio/welcome") as page:
        settle(page)
        for label, path in LANDMARKS.items():
            page.keyboard.press("Control+k")
            field = page.get_by_role("combobox", name="Type a command or a page")
            expect(field).to_be_focused()
            page.keyboard.type(label)
            expect(page.get_by_role("option", name=label, selected=True)).to_be_visible()
            page.keyboard.press("Enter")
            expect(page.get_by_role("dialog")).to_have_count(0)
            page.wait_for_url(f"**{path}**")
            settle(page)


def test_the_palette_is_walked_with_arrows_and_says_when_nothing_fits(studio: Open, seeded: Seeded) -> None:
    with studio("/studio/skills") as page:
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
        expect(page.get_by_text("No matching commands")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_language_and_the_colours_are_changed_from_the_palette(studio: Open, seeded: Seeded) -> None:
    with studio("/studio/skills") as page:
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


def test_the_keys_are_listed_and_single_ones_can_be_switched_off(studio: Open, seeded: Seeded) -> None:
    with studio(seeded.pages["run-failed"]) as page:
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


def test_quick_keys_are_off_while_typing(studio: Open, seeded: Seeded) -> None:
    with studio(seeded.pages["run-failed"]) as page:
        settle(page)
        search = page.get_by_role("searchbox")
        search.focus()
        page.keyboard.type("?2jkf/")
        expect(search).to_have_value("?2jkf/")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("tab", name="Transcript")).to_have_attribute("aria-selected", "true")


def test_the_first_stop_skips_to_the_content(studio: Open, seeded: Seeded) -> None:
    with studio("/studio/skills", load=True) as page:
        settle(page)
        page.keyboard.press("Tab")
        skip = page.get_by_role("button", name="Skip to the content")
        expect(skip).to_be_focused()
        assert page.evaluate("document.activeElement.getBoundingClientRect().width > 50")
        page.keyboard.press("Enter")
        expect(page.get_by_role("main")).to_be_focused()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")
