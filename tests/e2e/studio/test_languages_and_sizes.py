"""Every page in both languages, light and dark, on a phone and on a desk; the pictures are kept."""

import re
from collections.abc import Generator
from itertools import product

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.studio.browsers import keep_screenshot, opened
from tests.e2e.studio.furnished import Furnished, choose, furnished, go, remembered, walk

WIDTHS = (360, 1440)
LANGUAGES = ("en", "zh-CN")
THEMES = ("light", "dark")
SAME = re.compile(r"Studio|API|JSON|SKILL\.md|Markdown|HTML|YAML|URL|CSV|PDF|ID|SHA|Ctrl|Cmd|Token")
"""Words that are the same in both languages."""
DATA = re.compile(
    r"^(gardening|count|unit|deep|[\w-]+\.\w{2,4}\n.*|[AB] run_.*|Build it again\..*|git .*|rm .*|curl .*)$|"
    r"^(run|safety|sandbox|llm|models|skills|prompt|deliverables|service)$"
)
"""Names that somebody gave: of skills, fields, files, runs, commands and settings."""


@pytest.fixture(scope="module")
def place(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Furnished]:
    with furnished(tmp_path_factory.mktemp("looks")) as found:
        yield found


def wider(page: Page) -> list[str]:
    """What makes a page scroll sideways, if it does."""
    return page.evaluate(
        """() => { const room = document.documentElement.clientWidth;
             if (document.documentElement.scrollWidth <= room) return [];
             const found = [...document.querySelectorAll("body *")].filter((one) =>
               one.getBoundingClientRect().right > room + 1 && !one.closest("[class*=overflow-x-auto]"));
             return ["wider", ...found.slice(0, 5).map((one) => one.outerHTML.slice(0, 160))];
           }"""
    )


def untranslated(page: Page) -> list[str]:
    """Headings, tabs, labels and buttons of ours that have no Chinese in them."""
    texts: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(
               "main h1, main h2, main h3, main label, main legend, main th, main [role=tab], main button, nav a")]
             .filter((one) => !one.closest("[dir=auto], bdi, code, pre, article h3, .prose-plain, [data-text]")
               && !one.querySelector("bdi, code"))
             .map((one) => one.innerText.trim()).filter(Boolean)"""
    )
    ours = [one for one in texts if not DATA.match(one) and not re.search(r"[\u4e00-\u9fff]", one)]
    return [one for one in ours if re.search(r"[A-Za-z]{3}", SAME.sub("", one))]


def test_every_page_fits_and_is_kept(browser: Browser, place: Furnished) -> None:
    wrong: dict[str, list[str]] = {}
    with opened(browser, place.service, viewport={"width": 360, "height": 900}) as page:
        for name, path in place.pages.items():
            page.set_viewport_size({"width": WIDTHS[0], "height": 900})
            go(page, path)
            for language, width, theme in product(LANGUAGES, WIDTHS, THEMES):
                page.set_viewport_size({"width": width, "height": 900})
                choose(page, language=language, theme=theme)
                keep_screenshot(page, f"page-{name}-{language}-{theme}-{width}")
                if found := wider(page):
                    wrong[f"{name} {width} {language}"] = found
            if found := untranslated(page):
                wrong[f"{name} is not translated"] = found
            choose(page, language=LANGUAGES[0])
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_chosen_earlier_holds_from_the_start(browser: Browser, place: Furnished, language: str) -> None:
    with opened(browser, place.service) as page:
        page.add_init_script(remembered(language, "dark"))
        walk(page, place.service, place.pages["skills"])
        assert page.locator("html").get_attribute("lang") == language
        assert page.locator("html").get_attribute("data-theme") == "dark"
