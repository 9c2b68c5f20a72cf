"""Studio in a real browser: pages that watch themselves, going from one view to the next, and screenshots."""

import base64
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Error,
    Page,
    Playwright,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.e2e.service.servers import Service

ARTIFACTS = Path(__file__).parents[3] / "test-artifacts" / "studio"
"""Where screenshots are kept for a person to look at."""

DESK = ViewportSize(width=1440, height=900)
PHONE = ViewportSize(width=360, height=780)
Scheme = Literal["light", "dark"]
Motion = Literal["reduce", "no-preference"]
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

    def begin(self, origin: str) -> None:
        """Forget everything, and listen for another service."""
        self.origin = origin
        self.errors.clear()
        self.elsewhere.clear()

    def attach(self, page: Page) -> None:
        """Listen to a page from now on."""
        page.on("console", lambda message: self._say(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._note)
        page.on("dialog", self._answer)

    def _say(self, text: str) -> None:
        if not any(pattern in text for pattern in QUIET):
            self.errors.append(text)

    def _note(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.elsewhere.append(request.url)

    def _answer(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":  # leaving a page with unsaved text
            dialog.accept()
        else:
            self.errors.append(f"a dialog: {dialog.message}")
            dialog.dismiss()

    def check(self) -> None:
        """Fail when there was anything."""
        assert not self.errors, f"the console says: {self.errors}"
        assert not self.elsewhere, f"asked for elsewhere: {self.elsewhere}"


@contextmanager
def opened(browser: Browser, service: Service, path: str = "/studio/", **options: Any) -> Generator[Page]:
    """Open a separate page, logged in through the printed link; it is checked when the block ends."""
    context = _new_context(browser, **options)
    watched = Watched(service.url)
    try:
        page = context.new_page()
        watched.attach(page)
        _open(page, service, path)
        yield page
        watched.check()
    finally:
        context.close()


@dataclass
class Spares:
    """Pages that show nothing and wait for another service: a new context costs as much as a whole test."""

    browser: Browser
    _free: dict[str, list[tuple[Page, Watched]]] = field(default_factory=dict[str, list[tuple[Page, Watched]]])

    def take(self, service: Service, locale: str = "en-GB") -> tuple[Page, Watched]:
        """Open an empty page, logged in through the printed link."""
        free = self._free.setdefault(locale, [])
        if free:
            page, watched = free.pop()
            page.context.clear_cookies()
            watched.begin(service.url)
        else:
            page, watched = _new_context(self.browser, locale=locale).new_page(), Watched(service.url)
            watched.attach(page)
        assert page.context.request.get(f"{service.url}/studio/?token={service.token}").ok
        return page, watched

    def give(self, locale: str, page: Page, watched: Watched) -> None:
        """Take back a page whose service is about to end."""
        _leave(page)
        page.set_viewport_size(DESK)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.evaluate("location.replace('about:blank')")  # by the page itself, which keeps its process
        page.wait_for_url("about:blank")
        self._free.setdefault(locale, []).append((page, watched))

    @contextmanager
    def page(self, service: Service, path: str = "/studio/") -> Generator[Page]:
        """A page at this address for a while; it is checked afterwards."""
        page, watched = self.take(service)
        try:
            page.goto(f"{service.url}{path}")
            yield page
            watched.check()
        except BaseException:
            page.context.close()  # what it shows now may be anything
            raise
        self.give("en-GB", page, watched)


KEPT_FOR_A_WHILE = ("/studio/skills", "/studio/operations", "/studio/new")
"""Pages whose content is not asked for again within seconds, so that another test's would be shown."""


@dataclass
class Pages:
    """Pages of one service that serve one test after another: a new context costs more than most tests."""

    spares: Spares
    service: Service
    _free: dict[str, list[tuple[Page, Watched, bool]]] = field(
        default_factory=dict[str, list[tuple[Page, Watched, bool]]]
    )

    @contextmanager
    def open(
        self,
        path: str = "/studio/",
        *,
        locale: str = "en-GB",
        viewport: ViewportSize = DESK,
        color_scheme: Scheme = "light",
        reduced_motion: Motion = "reduce",
        load: bool = False,
    ) -> Generator[Page]:
        """A page at this address where nothing is remembered and nothing is open; it is checked afterwards.

        Loading it takes much longer than going there, and is done only with `load`, when something was left, or where
        the app keeps what it has read for a while.
        """
        free = self._free.setdefault(locale, [])
        page, watched, is_clean = free.pop() if free else (*self.spares.take(self.service, locale), False)
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        try:
            if is_clean and not load and not path.startswith(KEPT_FOR_A_WHILE):
                go(page, path)
            else:
                page.goto(f"{self.service.url}{path}")
            yield page
            watched.check()
            is_clean = _leave(page)
        except BaseException:
            page.context.close()  # what it shows now may be anything
            raise
        free.append((page, watched, is_clean))

    def close(self) -> None:
        """Leave all pages to the next file."""
        for locale, free in self._free.items():
            for page, watched, _ in free:
                self.spares.give(locale, page, watched)
        self._free.clear()


def _new_context(browser: Browser, **options: Any) -> BrowserContext:
    settings: dict[str, Any] = {"locale": "en-GB", "viewport": DESK, "reduced_motion": "reduce", **options}
    context = browser.new_context(**settings)
    context.set_default_timeout(PATIENCE_MS)
    return context


_LEAVE = """async () => {
  const kept = localStorage.length + sessionStorage.length;
  localStorage.clear();
  sessionStorage.clear();
  history.pushState(null, "", "/studio/nothing/of/this/name");
  for (let frames = 0; frames < 2; frames++) await new Promise((done) => requestAnimationFrame(done));
  const open = document.querySelector("[role=dialog], [role=menu], [role=alert], section.fixed > *");
  return kept === 0 && open === null;
}"""
"""Leaves what a page shows, and says whether nothing of it is left: no choice, and no dialog or notice."""


def _leave(page: Page) -> bool:
    """Make a page ready for another test, and return whether that need not load it anew."""
    for other in page.context.pages:
        if other is not page:
            other.close()
    page.unroute_all()
    return page.evaluate(_LEAVE)


def keep_screenshot(page: Page, name: str) -> Path:
    """A picture for a person to look at."""
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTIFACTS / f"{name}.png"
    # By the debugger, which packs a picture less tightly, but much quicker.
    session = page.context.new_cdp_session(page)
    screenshot: dict[str, str] = cast(Any, session).send(
        "Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True}
    )
    session.detach()
    path.write_bytes(base64.b64decode(screenshot["data"]))
    return path


@contextmanager
def complaining(browser: Browser, service: Service, path: str) -> Generator[Page]:
    """A page whose frames may complain: that is what keeps them harmless."""
    context = _new_context(browser)
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
        # The context has the cookie of the printed link already; the page behind it need not be drawn.
        assert page.context.request.get(link).ok
        page.goto(f"{service.url}{path}")


class LastingBrowser:
    """One browser at a time, started on demand and replaced when it is gone."""

    def __init__(self) -> None:
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._spares: Spares | None = None

    def get(self) -> Browser:
        """The browser, which answers."""
        if self._browser is None or not _answers(self._browser):
            self.close()
            self._playwright = sync_playwright().start()
            # Chromium does not start its own sandbox for an administrator.
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            self._browser = self._playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        return self._browser

    def spares(self) -> Spares:
        """Its pages that wait to be used."""
        browser = self.get()
        if self._spares is None or self._spares.browser is not browser:
            self._spares = Spares(browser)
        return self._spares

    def close(self) -> None:
        """End the browser and its driver, if they are there."""
        playwright, self._playwright, self._browser = self._playwright, None, None
        if playwright:
            playwright.stop()


def _answers(browser: Browser) -> bool:
    try:
        browser.new_browser_cdp_session().detach()
    except Error:
        return False
    return browser.is_connected()


_SETTLED = """() => document.querySelector("main h1")?.checkVisibility()
  && document.querySelector("main .animate-pulse") === null && document.fonts.status === "loaded" """
_CHOOSE = """async ([language, theme]) => {
  const tell = (key, newValue) => {
    if (newValue === null) return;
    localStorage.setItem(key, newValue);
    window.dispatchEvent(new StorageEvent("storage", { key, newValue }));
  };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  tell("studio.language", language);
  tell("studio.theme", theme);
  const { documentElement: root } = document;
  while ((language ?? root.lang) !== root.lang || (theme ?? root.dataset.theme) !== root.dataset.theme) await frame();
  await frame();
}"""
_UNFOLD = """() => {
  const folded = document.querySelectorAll("main [aria-expanded=false]:not([aria-haspopup]):not([disabled])");
  for (const fold of folded) fold.click();
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); }"""


def settle(page: Page) -> None:
    """Wait until a page shows what it has to show."""
    page.wait_for_function(_SETTLED)


def unfold(page: Page) -> None:
    """Unfold everything that is folded, so that it has to be shown; lists draw only what is seen."""
    for _ in range(3):
        page.evaluate(_UNFOLD)
    settle(page)


def walk(page: Page, service: Service, path: str) -> None:
    """Open a path in a context that is logged in already."""
    page.goto(f"{service.url}{path}")
    settle(page)


def go(page: Page, path: str) -> None:
    """Go to an address within Studio, as its links do, without loading everything anew."""
    page.evaluate("path => history.pushState(null, '', path)", path)
    settle(page)


def choose(page: Page, *, language: str | None = None, theme: str | None = None) -> None:
    """Choose a language or colours as another tab would, and wait until this one shows them."""
    page.evaluate(_CHOOSE, [language, theme])


def remembered(language: str, theme: str) -> str:
    """A script that makes choices before the page starts, as an earlier visit would have."""
    chosen = {"studio.language": language, "studio.theme": theme}
    return f"Object.entries({json.dumps(chosen)}).forEach(([name, value]) => localStorage.setItem(name, value));"
