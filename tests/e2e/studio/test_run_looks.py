"""How the list and the page of a run look: both languages, both themes, a wide and a narrow screen."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import keep_screenshot, opened
from tests.e2e.studio.talking import Talker, begin, finished, talking

TALKER = Talker()
TASK = "READ 2 and tell at length what the harbour of Zuidersluis-aan-de-Maasmond looked like last week"


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with talking(tmp_path_factory.mktemp("looks"), TALKER) as running:
        finished(running, TASK)
        finished(running, "FAIL once")
        begin(running, "ASK what to do")
        begin(running, "HOLD on")
        try:
            yield running
        finally:
            TALKER.go.set()


def check(page: Page, name: str) -> None:
    """Keep a picture; nothing may stand out to the right of the screen."""
    keep_screenshot(page, name)
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0, name


@pytest.mark.parametrize("width", [1440, 360])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en-GB", "zh-CN"])
def test_a_run_fits_on_the_screen(browser: Browser, service: Service, language: str, theme: str, width: int) -> None:
    viewport = {"width": width, "height": 900 if width > 1000 else 740}
    look = f"{language[:2]}-{theme}-{width}"
    options = {"locale": language, "color_scheme": theme, "viewport": viewport}
    with opened(browser, service, "/studio/runs", **options) as page:
        links = page.locator("a[data-run]")
        expect(links).to_have_count(4)
        check(page, f"runs-{look}")
        page.locator("a[data-run]", has_text="ASK").click()
        expect(page.get_by_role("radio")).to_have_count(2)
        check(page, f"run-asking-{look}")
        page.go_back()
        page.locator("a[data-run]", has_text="READ").click()
        expect(page.get_by_role("article").first).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_have_text(TASK)
        check(page, f"run-transcript-{look}")
        page.keyboard.press("3")
        expect(page.get_by_text("run_created", exact=True)).to_be_visible()
        check(page, f"run-events-{look}")
