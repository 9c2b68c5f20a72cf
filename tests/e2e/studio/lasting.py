"""A browser that outlives the file it was started for: the next one needs another context, not another browser."""

import os

from playwright.sync_api import Browser, Error, Playwright, sync_playwright

from tests.e2e.studio.browsers import CHROMIUM


class LastingBrowser:
    """One browser at a time, started when somebody needs it and replaced when it is gone."""

    def __init__(self) -> None:
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None

    def get(self) -> Browser:
        """The browser, which answers."""
        if self._browser is None or not _answers(self._browser):
            self.close()
            self._playwright = sync_playwright().start()
            # Chromium does not start its own sandbox for an administrator.
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            self._browser = self._playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        return self._browser

    def tidy(self) -> None:
        """Close what was left open."""
        for context in self._browser.contexts if self._browser else ():
            context.close()

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
