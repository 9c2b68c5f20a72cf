"""Nothing serious that axe finds: on every page, in both languages, light and dark."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.e2e.studio.conftest import ROOT
from tests.e2e.studio.furnished import Furnished, choose, furnished, go
from tests.e2e.studio.keys import OVERLAYS

AXE = Path(ROOT / "studio" / "node_modules" / "axe-core" / "axe.min.js")
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FULL = {"resultTypes": ["violations"], "runOnly": STANDARDS}
COLOURS = {"resultTypes": ["violations"], "runOnly": {"type": "rule", "values": ["color-contrast"]}}
HIDDEN = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["aria-hidden-focus", "aria-hidden-body"]},
}
"""What may be wrong with a page when something lies over it."""
FINDINGS = """async ([within, options]) => (await window.axe.run(within ?? document, options)).violations
  .filter((one) => one.impact === "serious" || one.impact === "critical")
  .flatMap((one) => one.nodes.slice(0, 4).map((node) => `${one.id} (${one.impact}): ${node.target} `
    + `${node.html.slice(0, 99)} ${node.any.map((why) => why.message)}`))"""


@pytest.fixture(scope="module")
def place(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Furnished]:
    with furnished(tmp_path_factory.mktemp("accessible")) as found:
        yield found


@pytest.fixture(scope="module")
def page(page: Page) -> Page:
    """One page for all, with axe in it; the script goes in by the debugger, past the content policy."""
    page.evaluate(AXE.read_text())
    return page


def findings(page: Page, within: str | None = None) -> list[str]:
    """What axe says in both languages, light and dark; nothing but colours differs between those.

    Only what it finds leaves the page: everything else it knows is much.
    """
    found: list[str] = []
    for language, theme, other in (("en", "light", "dark"), ("zh-CN", "dark", "light")):
        choose(page, language=language, theme=theme)
        found += page.evaluate(FINDINGS, [within, FULL])
        choose(page, theme=other)
        found += page.evaluate(FINDINGS, [within, COLOURS])
    return found


def test_axe_finds_nothing_serious_on_any_page(page: Page, place: Furnished) -> None:
    wrong: dict[str, list[str]] = {}
    for name, path in place.pages.items():
        go(page, path)
        if found := findings(page):
            wrong[name] = found
    assert not wrong, "\n".join(f"{name}:\n  " + "\n  ".join(found) for name, found in wrong.items())


@pytest.mark.parametrize("name", {(one.role, one.name): name for name, one in OVERLAYS.items()}.values())
def test_axe_finds_nothing_serious_in_what_opens_over_a_page(page: Page, place: Furnished, name: str) -> None:
    choose(page, language="en")
    go(page, place.pages[OVERLAYS[name].page])
    OVERLAYS[name].open(page)
    around = page.evaluate(FINDINGS, [None, HIDDEN])
    found = findings(page, "main article" if OVERLAYS[name].folds else f"[role={OVERLAYS[name].role}]")
    choose(page, language="en")
    OVERLAYS[name].close(page)
    assert not found
    assert not around
