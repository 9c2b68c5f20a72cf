"""axe in a page: the serious and critical findings, and nothing else of what it knows."""

from typing import Any

from playwright.sync_api import Page

from tests.support import ROOT

AXE = ROOT / "studio" / "node_modules" / "axe-core" / "axe.min.js"
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FULL = {"resultTypes": ["violations"], "runOnly": STANDARDS}
TEXTS_AND_COLOURS = {
    "resultTypes": ["violations"],
    "runOnly": {
        "type": "rule",
        "values": [
            "color-contrast", "html-has-lang", "html-lang-valid", "valid-lang", "document-title", "button-name",
            "link-name", "label", "select-name", "input-button-name", "aria-input-field-name", "aria-toggle-field-name",
            "aria-command-name", "aria-dialog-name", "aria-tooltip-name", "image-alt", "role-img-alt", "svg-img-alt",
            "frame-title", "label-content-name-mismatch", "scrollable-region-focusable", "target-size",
        ],
    },
}  # fmt: skip
"""What another language and other colours may change; the structure of a page stays as it is."""
HIDDEN = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["aria-hidden-focus", "aria-hidden-body"]},
}
"""What may be wrong with a page when something lies over it."""
FINDINGS = """async ([within, options]) => (await window.axe.run(within ?? document, options)).violations
  .filter((one) => one.impact === "serious" || one.impact === "critical")
  .flatMap((one) => one.nodes.slice(0, 4).map((node) => `${one.id} (${one.impact}): ${node.target} `
    + `${node.html.slice(0, 99)} ${node.any.map((why) => why.message)}`))"""


def load_axe(page: Page) -> None:
    """Put axe into a page; it goes in by the debugger, past the content policy."""
    page.evaluate(AXE.read_text())


def run_axe(page: Page, options: dict[str, Any], within: str | None = None) -> list[str]:
    """What axe finds in a page as it is shown now, or in a part of it."""
    return page.evaluate(FINDINGS, [within, options])
