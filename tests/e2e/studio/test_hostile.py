"""Hostile content stays text: nothing of it runs, asks for anything, hides itself or brings the page down."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import PATIENCE_MS, Watched
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.furnished import settle, until_it_waits
from tests.e2e.studio.nasty import FILES, TEXT, VISIBLE, nasty_service

POLICY = ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'")
RAW = "\u202e\u2066\u200b\x00\x07\x1b\x9b"
"""Characters that must not be among what is shown."""


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("hostile")
    with nasty_service(home) as found:
        with found.client(token=True) as client:
            for word in ("ASK", "RUN"):
                answer = client.post("/api/v1/runs", json={"prompt": f"{word} {TEXT}"})
                assert answer.status_code == 201, answer.text
                until_it_waits(found, answer.json()["run_id"])
        yield found


def check_harmless(page: Page) -> None:
    """Nothing ran, nothing hostile became an element, nothing hides, and the page still answers."""
    assert page.evaluate("window.hit === undefined")
    strange = page.evaluate(
        """() => [...document.querySelectorAll("#root *, [role=dialog] *")].filter((one) =>
             ["SCRIPT", "STYLE", "BASE", "META", "OBJECT", "EMBED"].includes(one.tagName)
             || [...one.attributes].some((own) => own.name.startsWith("on"))
             || /^(javascript|data|http:..evil)/i.test(one.getAttribute("href") ?? one.getAttribute("src") ?? "")
           ).map((one) => one.outerHTML.slice(0, 200))"""
    )
    assert not strange
    shown = page.evaluate("document.body.innerText + document.title")
    assert not [hex(ord(one)) for one in RAW if one in shown]
    names = page.evaluate(
        """() => [...document.querySelectorAll("[title], [aria-label]")]
             .map((one) => (one.title ?? "") + one.ariaLabel).join()"""
    )
    assert not [hex(ord(one)) for one in RAW if one in names]
    expect(page.get_by_role("heading", name="This page met an error")).to_have_count(0)


def open_all(page: Page) -> None:
    """Unfold everything that is folded, so that it has to be shown; lists draw only what is seen."""
    for _ in range(3):
        page.evaluate(
            """() => { for (const fold of document.querySelectorAll(
                   "main [aria-expanded=false]:not([aria-haspopup])")) { fold.click(); }
                 return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); }"""
        )


@pytest.mark.parametrize("run_id", ["run_nasty", "run_words"])
def test_every_field_of_every_event_is_only_text(studio: Open, run_id: str) -> None:
    with studio() as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
        for view in ("", "/timeline", "/events", "/files"):
            page.goto(page.url.partition("/studio/")[0] + f"/studio/runs/{run_id}{view}")
            settle(page)
            open_all(page)
            if run_id == "run_nasty" and view in ("", "/events"):
                expect(page.get_by_text(VISIBLE).first).to_be_attached()
            check_harmless(page)


def test_every_event_is_only_text_in_the_details(studio: Open) -> None:
    with studio("/studio/runs/run_nasty/events?event=5") as page:
        details = page.get_by_role("complementary")
        for _ in range(60):
            page.keyboard.press("j")
            expect(details.get_by_role("tab").first).to_be_visible()
        for name in details.get_by_role("tab").all_inner_texts():
            details.get_by_role("tab", name=name, exact=True).click()
            check_harmless(page)


def test_a_very_long_line_neither_widens_nor_stops_the_page(studio: Open) -> None:
    with studio("/studio/runs/run_line", viewport={"width": 360, "height": 800}) as page:
        settle(page)
        open_all(page)
        check_harmless(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("tab", name="Events").click()
        expect(page.get_by_role("button", name="run_failed").first).to_be_visible()
        check_harmless(page)


def test_a_patch_of_ten_thousand_files_shows_some_and_counts_all(studio: Open) -> None:
    with studio("/studio/runs/run_files?event=4") as page:
        page.get_by_role("complementary").get_by_role("tab", name="Diff").click()
        expect(page.get_by_text(f"{FILES} files").or_(page.get_by_text("10,000 files"))).to_be_visible()
        expect(page.get_by_text("<b>0</b>").first).to_be_visible()
        assert page.locator("table").count() < 200
        check_harmless(page)


@pytest.mark.parametrize(
    "path",
    [
        "runs", "approvals", "sessions", "skills", "skills/nasty", "skills/nasty/files", "skills/nasty/checks",
        "skills/nasty/edit", "compare?a=run_nasty&b=run_words", "runs?query=%3Cscript%3Ealert(1)%3C/script%3E",
        "new?task=%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE", "runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
        "operations/storage", "operations/configuration",
    ],
)  # fmt: skip
def test_lists_and_pages_show_it_as_text(studio: Open, path: str) -> None:
    with studio(f"/studio/{path}") as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
        settle(page)
        if path == "approvals":
            expect(page.get_by_role("article").first).to_be_visible()
        if path.startswith(("skills/nasty/edit", "new")):  # what is edited has to stay as it is
            assert page.evaluate("window.hit === undefined")
        else:
            open_all(page)
            check_harmless(page)


def test_questions_requests_and_sessions_show_it_as_text(studio: Open, service: Service) -> None:
    with service.client(token=True) as client:
        runs = client.get("/api/v1/runs", params={"status": "waiting_for_user"}).json()["runs"]
    assert len(runs) == 2
    with studio() as page:
        for run in runs:
            for path in (f"runs/{run['run_id']}", f"sessions/{run['session_id']}"):
                page.goto(f"{service.url}/studio/{path}")
                settle(page)
                expect(page.get_by_text(VISIBLE).first).to_be_visible()
                open_all(page)
                check_harmless(page)


@pytest.mark.parametrize("run_id", ["run_nasty", "run_words"])
def test_a_run_that_was_saved_as_a_page_is_only_text(
    browser: Browser, service: Service, tmp_path: Path, run_id: str
) -> None:
    with service.client(token=True) as client:
        answer = client.get(f"/api/v1/runs/{run_id}/export.html", params={"lang": "en"})
    assert answer.status_code == 200
    (tmp_path / "run.html").write_bytes(answer.content)
    context = browser.new_context()
    try:
        page, asked = context.new_page(), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
        page.goto((tmp_path / "run.html").as_uri())
        assert page.evaluate("window.hit === undefined")
        assert page.locator("img[src^=http], [onerror], [onload], iframe, base, a[href^=javascript]").count() == 0
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        shown = page.evaluate("document.body.innerText + document.title")
        assert not [hex(ord(one)) for one in RAW if one in shown]
    finally:
        context.close()


def test_previews_lie_on_an_origin_of_their_own_and_run_nothing(browser: Browser, service: Service) -> None:
    failed: dict[str, str | None] = {}
    with watched_page(browser, service) as (page, watched):
        page.on("requestfailed", lambda request: failed.update({request.url: request.failure}))
        page.goto(f"{service.url}/studio/runs/run_files/files")
        for name in ("page.html", "drawing.svg"):
            with page.expect_response(lambda answer: "preview=1" in answer.url) as told:
                page.get_by_role("button", name=name).click()
            assert told.value.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
            expect(page.locator("iframe")).to_have_attribute("sandbox", "")
            page.wait_for_function("document.querySelector('iframe').contentDocument === null")  # not our origin
            check_harmless(page)
        for name in ("report.md", "table.csv"):
            page.get_by_role("button", name=name).click()
            expect(page.get_by_text("gnp.exe").first).to_be_visible()
            check_harmless(page)
        assert any("Blocked script execution" in one and "page.html" in one for one in watched.errors)
        # The browser tells of requests that its policy then refuses to make.
        assert {failed.get(url) for url in watched.elsewhere} <= {"csp"}


def test_an_inline_script_is_refused_by_the_policy(browser: Browser, service: Service) -> None:
    with service.client(token=True) as client:
        policy = client.get("/studio/").headers["content-security-policy"]
    assert all(part in policy for part in POLICY)
    assert "unsafe" not in policy
    with watched_page(browser, service) as (page, watched):
        page.evaluate(
            """() => { const inline = document.createElement("script"); inline.textContent = "window.hit = 1";
                 document.body.append(inline);
                 const picture = document.createElement("img"); picture.setAttribute("onerror", "window.hit = 1");
                 picture.src = "http://evil.example/x.png"; document.body.append(picture); }"""
        )
        expect(page.locator("main h1")).to_be_visible()
        assert page.evaluate("window.hit === undefined")
        refused = [one for one in watched.errors if "violates the following Content Security Policy" in one]
        assert any("inline script" in one for one in refused), watched.errors
        assert any("evil.example" in one for one in refused), watched.errors


@contextmanager
def watched_page(browser: Browser, service: Service) -> Generator[tuple[Page, Watched]]:
    """A page that may complain: what it says is what is looked at."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(PATIENCE_MS)
    try:
        page, watched = context.new_page(), Watched(service.url)
        watched.attach(page)
        page.goto(f"{service.url}/studio/?token={service.token}")
        yield page, watched
    finally:
        context.close()
