"""Studio as it is shipped: built once, served by the real service, opened in Debian's Chromium."""

import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.service.servers import Service, serving
from tests.e2e.studio.browsers import LastingBrowser, Pages, Spares, settle
from tests.e2e.studio.seeded import Seeded, seed

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BUILD_SECONDS = 600
LASTING = LastingBrowser()

Open = Callable[..., AbstractContextManager[Page]]
"""Opens a path of Studio, logged in; keyword arguments go to the browser."""


@pytest.fixture(scope="session")
def built() -> None:
    """Build the app from the current sources; parallel sessions wait for the build."""
    subprocess.run([ROOT / "scripts" / "studio"], check=True, timeout=BUILD_SECONDS, cwd=ROOT)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """Tests of something else begin without a browser: no asynchronous test can run while its driver is there."""
    try:
        return (yield)
    finally:
        if nextitem is None or not nextitem.path.is_relative_to(HERE):
            LASTING.close()


@pytest.fixture(scope="session")
def lasting() -> Iterator[LastingBrowser]:
    """The browser of all files; it ends here when the tests were broken off."""
    yield LASTING
    LASTING.close()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest, lasting: LastingBrowser) -> Iterator[Browser]:
    """One browser for the tests of a file, and of the next one if none of them failed."""
    failed = request.session.testsfailed
    yield lasting.get()
    if request.session.testsfailed != failed:
        lasting.close()


@pytest.fixture(scope="module")
def spares(browser: Browser, lasting: LastingBrowser) -> Spares:
    """Pages that earlier files have left."""
    return lasting.spares()


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    """One service for all tests of a file."""
    home = tmp_path_factory.mktemp("studio")
    skills = home / "skills"
    skills.mkdir()
    with serving(home, skills) as running:
        yield running


@pytest.fixture(scope="module")
def pages(spares: Spares, service: Service) -> Iterator[Pages]:
    """Pages of the service of a file, used again by its next test."""
    pages = Pages(spares, service)
    yield pages
    pages.close()


@pytest.fixture
def studio(pages: Pages) -> Open:
    """A way to open Studio."""
    return pages.open


@pytest.fixture(scope="session")
def seeded(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Seeded]:
    """A service with something on every page, which no test changes."""
    with seed(tmp_path_factory.mktemp("seeded")) as seeded:
        yield seeded


@pytest.fixture(scope="module")
def page(spares: Spares, seeded: Seeded) -> Generator[Page]:
    """One page for the tests of a file that look at the seeded service, which goes from one view to the next."""
    with spares.page(seeded.service) as page:
        settle(page)
        yield page
