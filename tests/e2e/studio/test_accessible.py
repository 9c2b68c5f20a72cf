"""Nothing serious that axe finds: on every page, in both languages, light and dark."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.studio.browsers import opened
from tests.e2e.studio.conftest import ROOT
from tests.e2e.studio.furnished import Furnished, furnished, remembered, walk

AXE = Path(ROOT / "studio" / "node_modules" / "axe-core" / "axe.min.js")
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FULL = {"resultTypes": ["violations"], "runOnly": STANDARDS}
COLOURS = {"resultTypes": ["violations"], "runOnly": {"type": "rule", "values": ["color-contrast"]}}
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def place(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Furnished]:
    with furnished(tmp_path_factory.mktemp("accessible")) as found:
        yield found


def findings(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe says about the page as it is; the script goes in by the debugger, past the content policy."""
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(AXE.read_text())
    found = page.evaluate("options => window.axe.run(document, options)", options)["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['html'][:99]} {[why['message'] for why in node['any']]}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"][:4]
    ]


@pytest.mark.parametrize(("language", "theme", "other"), [("en", "light", "dark"), ("zh-CN", "dark", "light")])
def test_axe_finds_nothing_serious(browser: Browser, place: Furnished, language: str, theme: str, other: str) -> None:
    wrong: dict[str, list[str]] = {}
    with opened(browser, place.service) as page:
        page.add_init_script(remembered(language, theme))
        for name, path in place.pages.items():
            walk(page, place.service, path)
            found = findings(page, FULL)
            # Nothing but colours differs in the other theme.
            page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", other)
            found += findings(page, COLOURS)
            if found:
                wrong[name] = found
    assert not wrong, "\n".join(f"{name}:\n  " + "\n  ".join(found) for name, found in wrong.items())


def test_axe_finds_nothing_serious_in_what_opens_over_a_page(browser: Browser, place: Furnished) -> None:
    with opened(browser, place.service) as page:
        walk(page, place.service, place.pages["runs"])
        for keys in ("Control+k", "?"):
            page.keyboard.press(keys)
            page.get_by_role("dialog").wait_for()
            assert findings(page, FULL) == []
            page.keyboard.press("Escape")
            page.get_by_role("dialog").wait_for(state="detached")
        page.get_by_role("button", name="Language").click()
        page.get_by_role("menu").wait_for()
        assert findings(page, FULL) == []
