"""Studio as it is shipped: built once, served by the real service, opened in Debian's Chromium."""

import os
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.service.servers import Service, serving
from tests.e2e.studio.browsers import CHROMIUM, opened
from tests.e2e.studio.furnished import Furnished, settle

ROOT = Path(__file__).parents[3]
BUILD_SECONDS = 600

Open = Callable[..., AbstractContextManager[Page]]
"""Opens a path of Studio for somebody who is logged in; further words go to the browser."""


@pytest.fixture(scope="session")
def built() -> None:
    """The app is built from the sources as they are; whoever comes second waits."""
    subprocess.run([ROOT / "scripts" / "studio"], check=True, timeout=BUILD_SECONDS, cwd=ROOT)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a file: no asynchronous test can run while its driver is there."""
    with sync_playwright() as playwright:
        # Chromium does not start its own sandbox for an administrator.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    """One service for all tests of a file."""
    home = tmp_path_factory.mktemp("studio")
    skills = home / "skills"
    skills.mkdir()
    with serving(home, skills) as running:
        yield running


@pytest.fixture
def studio(browser: Browser, service: Service) -> Open:
    """A way to open Studio."""
    return partial(opened, browser, service)


@pytest.fixture(scope="module")
def page(browser: Browser, place: Furnished) -> Generator[Page]:
    """One page for all tests of a furnished place, which goes from one to the next as a person would."""
    with opened(browser, place.service) as found:
        settle(found)
        yield found
