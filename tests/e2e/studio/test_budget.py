"""What the app weighs, and that it asks nobody else for anything."""

import gzip
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Request, Response, expect

from tests.e2e.studio.browsers import opened
from tests.e2e.studio.conftest import ROOT
from tests.e2e.studio.furnished import Furnished, furnished, walk

DIST = Path(ROOT / "src" / "skills_runtime" / "studio_dist")
INITIAL_BYTES = 150_000
WHOLE_BYTES = 1_000_000
ELSEWHERE = re.compile(rb"""(?:src|href|from|import|url)\s*[=(]?\s*["']?(?:https?:)?//(?!www\.w3\.org)[\w.-]+\.\w+/""")


@pytest.fixture(scope="module")
def place(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Furnished]:
    with furnished(tmp_path_factory.mktemp("budget")) as found:
        yield found


def test_the_whole_app_is_at_most_one_megabyte(built: None) -> None:
    sizes = {path.name: path.stat().st_size for path in DIST.rglob("*") if path.is_file()}
    assert "index.html" in sizes
    assert sum(sizes.values()) <= WHOLE_BYTES, sorted(sizes.items(), key=lambda one: -one[1])[:10]


def test_the_files_name_nothing_of_elsewhere(built: None) -> None:
    page = (DIST / "index.html").read_bytes()
    assert b"://" not in page
    assert not re.search(rb"<script(?![^>]*\bsrc=)", page), "an inline script"
    assert not re.search(rb"<style|\son\w+=", page)
    for path in (*DIST.rglob("*.css"), *DIST.rglob("*.js")):
        assert not ELSEWHERE.search(path.read_bytes()), path.name


def test_what_the_first_page_fetches_is_small(browser: Browser, place: Furnished) -> None:
    context = browser.new_context(locale="en-GB")
    try:
        page = context.new_page()
        fetched: dict[str, bytes] = {}
        page.on("response", lambda answer: _keep(answer, fetched))
        page.goto(f"{place.service.url}/studio/?token={place.service.token}")
        expect(page.get_by_role("heading", name="Runs")).to_be_visible()
        page.wait_for_load_state("load")
        # What the list of runs needs besides may come later; the page itself and its imports may not be larger.
        first = _first_files(set(fetched))
        sizes = {name: len(gzip.compress(fetched[name])) for name in first}
        assert len(sizes) > 1
        assert sum(sizes.values()) <= INITIAL_BYTES, sizes
        everything = sum(len(gzip.compress(data)) for data in fetched.values())
        assert everything <= 2 * INITIAL_BYTES, {name: len(data) for name, data in fetched.items()}
    finally:
        context.close()


def _keep(answer: Response, fetched: dict[str, bytes]) -> None:
    name = answer.url.rpartition("/")[2]
    if answer.ok and name.endswith(".js") and "/studio/" in answer.url:
        fetched[name] = answer.body()


def _first_files(fetched: set[str]) -> set[str]:
    """What the page names and the words of its language, with everything they import."""
    page = (DIST / "index.html").read_text()
    found = {name for name in re.findall(r"([\w.-]+\.js)", page) if name in fetched}
    waiting = [*found, *(name for name in fetched if name.startswith("en-"))]
    while waiting:
        name = waiting.pop()
        found.add(name)
        path = DIST / "assets" / name
        text = path.read_text() if path.is_file() else ""
        waiting += [one for one in re.findall(r'(?:from|import)\s*"\./([\w.-]+\.js)"', text) if one not in found]
    return found & fetched


def test_no_page_asks_anybody_else(browser: Browser, place: Furnished) -> None:
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    with opened(browser, place.service) as page:  # it checks every request when it ends, too
        page.on("request", note)
        for path in place.pages.values():
            walk(page, place.service, path)
    assert len(asked) > len(place.pages)
    strangers = [url for url in asked if not url.startswith((f"{place.service.url}/", "blob:", "data:"))]
    assert not strangers
