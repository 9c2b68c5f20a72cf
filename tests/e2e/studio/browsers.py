"""Studio in a real browser: pages that watch themselves, so that no test passes while the console complains."""

import base64
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Request, expect

from tests.e2e.service.servers import Service

ARTIFACTS = Path(__file__).parents[3] / "test-artifacts" / "studio"
"""Where screenshots are kept for a person to look at."""

CHROMIUM = Path(__file__).with_name("chromium")
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)
QUIET = ("net::ERR_", "Failed to load resource")
"""What a browser says by itself of an answer that is an error, or of a server that is gone; tests expect some."""


@dataclass
class Watched:
    """What a page said and asked for that it should not have."""

    origin: str
    errors: list[str] = field(default_factory=list[str])
    elsewhere: list[str] = field(default_factory=list[str])

    def attach(self, page: Page) -> None:
        """Listen to a page from now on."""
        page.on("console", lambda said: self._say(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._note)

    def _say(self, text: str) -> None:
        if not any(one in text for one in QUIET):
            self.errors.append(text)

    def _note(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.elsewhere.append(request.url)

    def check(self) -> None:
        """Fail when there was anything."""
        assert not self.errors, f"the console says: {self.errors}"
        assert not self.elsewhere, f"asked for elsewhere: {self.elsewhere}"


@contextmanager
def opened(browser: Browser, service: Service, path: str = "/studio/", **options: Any) -> Generator[Page]:
    """A page of somebody who has opened the printed link; it is checked when the block ends."""
    options = {"locale": "en-GB", "viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce", **options}
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    watched = Watched(service.url)
    try:
        page = context.new_page()
        watched.attach(page)
        _open(page, service, path)
        yield page
        watched.check()
    finally:
        context.close()


def keep_screenshot(page: Page, name: str) -> Path:
    """A picture for a person to look at."""
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTIFACTS / f"{name}.png"
    # By the debugger, which packs a picture less tightly, but much quicker.
    session = page.context.new_cdp_session(page)
    taken: dict[str, str] = cast(Any, session).send(
        "Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True}
    )
    session.detach()
    path.write_bytes(base64.b64decode(taken["data"]))
    return path


@contextmanager
def complaining(browser: Browser, service: Service, path: str) -> Generator[Page]:
    """A page whose frames may complain: that is what keeps them harmless."""
    context = browser.new_context(locale="en-GB", viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    try:
        page = context.new_page()
        _open(page, service, path)
        yield page
    finally:
        context.close()


def _open(page: Page, service: Service, path: str) -> None:
    link = f"{service.url}/studio/?token={service.token}"
    if path == "/studio/":
        page.goto(link)
    else:
        # Whoever opened the link earlier comes with its cookie; the page behind it need not be drawn for that.
        assert page.context.request.get(link).ok
        page.goto(f"{service.url}{path}")
