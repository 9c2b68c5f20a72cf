"""English that is left on a page in Chinese: sentences of ours, not what people, models and programs wrote."""

from contextlib import suppress

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as PageTimeoutError

from tests.e2e.studio.furnished import settle

FOREIGN = "bdi, [dir=auto], [lang=en], code, pre, kbd, textarea, noscript, script, style, .prose-plain, [data-text]"
"""Where the text of somebody else stands, or English that is marked as English."""
PATIENCE_MS = 2000
MOST = 40
_SENTENCES = """(foreign) => {
  const english = /(?:[A-Za-z][A-Za-z'’]*[ ,]+){3,}[A-Za-z]/;
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (english.test(node.data) && !node.parentElement.closest(foreign)) found.add(node.data.trim().slice(0, 160));
  }
  for (const name of ["aria-label", "placeholder", "aria-description", "alt"]) {
    for (const one of document.querySelectorAll(`[${name}]`)) {
      const text = one.getAttribute(name);
      if (english.test(text) && !one.closest(foreign)) found.add(`${name}: ${text.slice(0, 160)}`);
    }
  }
  return [...found];
}"""


def english_sentences(page: Page) -> list[str]:
    """Text of four English words in a row or more that stands where Chinese should, and stays there."""
    with suppress(PageTimeoutError):  # what the service says is fetched after the page
        page.wait_for_function(f"foreign => ({_SENTENCES})(foreign).length === 0", arg=FOREIGN, timeout=PATIENCE_MS)
    return page.evaluate(_SENTENCES, FOREIGN)


def unfold(page: Page) -> None:
    """Open what is folded, a few at a time: each may hold more."""
    folded = page.locator("main button[aria-expanded=false]:not([aria-haspopup]):not([disabled])")
    for _ in range(MOST):
        if folded.count() == 0:
            break
        folded.first.click()
    settle(page)
