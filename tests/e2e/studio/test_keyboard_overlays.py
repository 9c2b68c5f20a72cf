"""Dialogs, menus and unfolding parts without a mouse: they open, keep the focus, close, and give it back."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.studio.furnished import Furnished, furnished, go
from tests.e2e.studio.keys import OVERLAYS, Overlay, named

INSIDE = "one => one.contains(document.activeElement)"


@pytest.fixture(scope="module")
def place(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Furnished]:
    with furnished(tmp_path_factory.mktemp("overlays")) as found:
        yield found


@pytest.mark.parametrize("name", OVERLAYS)
def test_it_opens_keeps_the_focus_closes_and_gives_it_back(page: Page, place: Furnished, name: str) -> None:
    overlay = OVERLAYS[name]
    go(page, place.pages[overlay.page])
    for key in ("Enter", "Space") if overlay.opener else ("Enter",):
        shown = overlay.open(page, key)
        if not overlay.folds:
            expect(shown.locator(":focus").or_(shown.and_(page.locator(":focus")))).to_have_count(1)
        if overlay.role == "dialog":
            for _ in range(shown.locator("a[href], button, input, select, textarea").count() + 2):
                page.keyboard.press("Tab")
                assert shown.evaluate(INSIDE), "the focus has left the dialog"
        overlay.close(page)
        expect_focus_back(page, overlay)


def expect_focus_back(page: Page, overlay: Overlay) -> None:
    """The focus is where it was before, or where it can go on from."""
    if overlay.opener:
        expect(named(page, overlay.opener.role, overlay.opener.name)).to_be_focused()
    else:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body"), "the focus is lost"
