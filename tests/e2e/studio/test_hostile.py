"""Hostile content stays text: nothing of it runs, asks for anything, hides itself or brings the page down."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from skills_runtime.events.payloads import InboxReceived, LlmResponseDelta, RunCompleted
from skills_runtime.runs import finish_run
from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import PATIENCE_MS, Watched, go, keep_screenshot, settle, unfold
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.hostile_content import FILES, PATCH, SENTINEL, TEXT, VISIBLE, obeying, write_runs, write_skills
from tests.e2e.studio.seeded import open_run
from tests.e2e.studio.services import scripted, start_run, wait_for_person
from tests.support.model_server import Answer, calls, says

PAGES = (
    "runs", "approvals", "sessions", "skills", "skills/nasty", "skills/nasty/files", "skills/nasty/checks",
    "skills/nasty/edit", "compare?a=run_nasty&b=run_words", "runs?text=%3Cscript%3Ealert(1)%3C/script%3E",
    "new?task=%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE", "runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "operations/storage", "operations/configuration",
)  # fmt: skip
POLICY = ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'")
RAW = "\u202e\u2066\u200b\x00\x07\x1b\x9b"
"""Characters that must not be among what is shown."""
MOST_NODES = 20_000
RUNS = ("run_patch_one", "run_patch_two")
GIT_PATCH = "".join(
    f"diff --git a/many/{n}.txt b/many/{n}.txt\nnew file mode 100644\n--- /dev/null\n+++ b/many/{n}.txt\n"
    f"@@ -0,0 +1 @@\n+<img src=x onerror={SENTINEL}> {n}\n"
    for n in range(FILES)
)
COMMAND = f"git apply <<'EOF'\n{GIT_PATCH}EOF\n"
PATCH_CALLS = {
    "COMMAND": ("shell_exec", {"argv": ["bash", "-c", COMMAND]}),
    "LINE": ("shell_command", {"command": COMMAND}),
    "WRITE": ("file_write", {"path": "big.patch", "content": GIT_PATCH}),
}
PATCH_PAGES = (
    f"runs/{RUNS[0]}", f"runs/{RUNS[0]}?event=5", f"runs/{RUNS[0]}/timeline", f"runs/{RUNS[0]}/events?event=4",
    f"runs/{RUNS[0]}/files?file=deliverables/big.patch", f"runs/{RUNS[0]}?q=9999.txt", f"runs/{RUNS[0]}?at=7",
    f"compare?a={RUNS[0]}&b={RUNS[1]}", "runs", "sessions", "sessions/session_patch",
)  # fmt: skip
SHOW_MORE = """() => { const more = [...document.querySelectorAll("main button")].filter((one) =>
  /^Show (all|them|.* more)/.test(one.textContent)); more.forEach((one) => one.click()); return more.length; }"""
SET_VALUE = """(one, text) => {
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(one, text);
  one.dispatchEvent(new Event("input", { bubbles: true })); }"""
"""The browser itself needs minutes to type so much into any field."""
SHOWN = """() => document.querySelector("main").textContent.includes("many/0.txt")"""
ANSWERS = """() => new Promise((done) => { const begun = performance.now();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun))); })"""


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("hostile")
    write_skills(home)
    write_runs(home)
    write_patches(home)
    with scripted(home, answer, mode="ask") as running:
        yield running


@pytest.fixture(scope="module")
def waiting(service: Service) -> list[str]:
    """Runs that ask a hostile question, and for a hostile call."""
    return [wait_for_person(service, start_run(service, f"{word} {TEXT}")) for word in ("ASK", "RUN")]


def answer(request: dict[str, Any]) -> Answer:
    """Answer as a model that is hostile itself, or wants to apply a large patch, as the task says."""
    messages: list[dict[str, Any]] = request["messages"]
    planned = PATCH_CALLS.get(
        str(next(message["content"] for message in messages if message["role"] == "user")).split()[0]
    )
    if planned is None:
        return obeying(request)
    return calls(planned) if messages[-1]["role"] == "user" else says("Done.")


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
    text = page.evaluate("document.body.innerText + document.title")
    assert not [hex(ord(character)) for character in RAW if character in text]
    names = page.evaluate(
        """() => [...document.querySelectorAll("[title], [aria-label]")]
             .map((one) => (one.title ?? "") + one.ariaLabel).join()"""
    )
    assert not [hex(ord(character)) for character in RAW if character in names]
    expect(page.get_by_role("heading", name="Something went wrong on this page")).to_have_count(0)


def test_every_field_of_every_event_is_only_text(studio: Open) -> None:
    with studio() as page:
        for run_id, view in product(("run_nasty", "run_words"), ("", "/timeline", "/events", "/files")):
            go(page, f"/studio/runs/{run_id}{view}")
            unfold(page)
            if run_id == "run_nasty" and view in ("", "/events"):
                expect(page.get_by_text(VISIBLE).first).to_be_attached()
            check_harmless(page)


def test_every_page_shows_it_as_text(studio: Open, service: Service, waiting: list[str]) -> None:
    with service.client(token=True) as client:
        runs = [client.get(f"/api/v1/runs/{run_id}").json() for run_id in waiting]
    with studio() as page:
        for path in PAGES:
            go(page, f"/studio/{path}")
            if path == "approvals":
                expect(page.get_by_role("article").first).to_be_visible()
            if path.startswith(("skills/nasty/edit", "new")):  # what is edited has to stay as it is
                assert page.evaluate("window.hit === undefined"), path
            else:
                unfold(page)
                check_harmless(page)
        for path in (path for run in runs for path in (f"runs/{run['run_id']}", f"sessions/{run['session_id']}")):
            go(page, f"/studio/{path}")
            expect(page.get_by_text(VISIBLE).first).to_be_visible()
            unfold(page)
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
        unfold(page)
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
        page, requests = context.new_page(), list[str]()
        page.on("request", lambda request: requests.append(request.url))
        page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
        page.goto((tmp_path / "run.html").as_uri())
        assert page.evaluate("window.hit === undefined")
        assert page.locator("img[src^=http], [onerror], [onload], iframe, base, a[href^=javascript]").count() == 0
        assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
        text = page.evaluate("document.body.innerText + document.title")
        assert not [hex(ord(character)) for character in RAW if character in text]
    finally:
        context.close()


def test_previews_lie_on_an_origin_of_their_own_and_run_nothing(browser: Browser, service: Service) -> None:
    failed: dict[str, str | None] = {}
    with watched_page(browser, service) as (page, watched):
        page.on("requestfailed", lambda request: failed.update({request.url: request.failure}))
        page.goto(f"{service.url}/studio/runs/run_files/files")
        for name in ("page.html", "drawing.svg"):
            with page.expect_response(lambda answer: "preview=1" in answer.url) as response:
                page.get_by_role("button", name=name).click()
            assert response.value.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
            expect(page.locator("iframe")).to_have_attribute("sandbox", "")
            page.wait_for_function("document.querySelector('iframe').contentDocument === null")  # not our origin
            check_harmless(page)
        for name in ("report.md", "table.csv"):
            page.get_by_role("button", name=name).click()
            expect(page.get_by_text("gnp.exe").first).to_be_visible()
            check_harmless(page)
        assert any("Blocked script execution" in error and "page.html" in error for error in watched.errors)
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
        refused = [error for error in watched.errors if "violates the following Content Security Policy" in error]
        assert any("inline script" in error for error in refused), watched.errors
        assert any("evil.example" in error for error in refused), watched.errors


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


def write_patches(home: Path) -> None:
    """Two runs with the patch as their task, as what was said, and as a file they leave."""
    for number, run_id in enumerate(RUNS):
        run = open_run(home, run_id, task=f"{GIT_PATCH}{number}", session_id="session_patch")
        for position, text in enumerate((GIT_PATCH, f"{PATCH}{number}")):
            run.append(InboxReceived(f"message_{position}", position, "steer", {"text": text}))
            run.append(LlmResponseDelta(delta_type="text", text=f"```diff\n{text}```\n{text}"))
        (run.paths.root / "deliverables").mkdir(exist_ok=True)
        (run.paths.root / "deliverables" / "big.patch").write_text(GIT_PATCH)
        run.commit()
        finish_run(run, RunCompleted(final_output=GIT_PATCH))
        run.close()


def check_small_and_inert(page: Page) -> None:
    """Nothing ran, nothing of it became an element, the page has few elements, and it draws."""
    assert page.evaluate("window.hit === undefined")
    assert page.locator("#root img, #root script, #root [onerror]").count() == 0
    nodes = page.evaluate("document.querySelectorAll('*').length")
    assert nodes < MOST_NODES, f"{nodes} elements"
    assert page.evaluate(ANSWERS) > 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_requests_to_apply_a_large_patch_stay_small(studio: Open, service: Service) -> None:
    with studio() as page:
        for way in PATCH_CALLS:
            run_id = wait_for_person(service, start_run(service, f"{way} please"))
            for path in ("/studio/approvals", f"/studio/runs/{run_id}", f"/studio/runs/{run_id}/events"):
                go(page, path)
                expect(page.locator("main article, main [data-seq]").first).to_be_visible()
                check_small_and_inert(page)
                unfold(page)
                page.evaluate(SHOW_MORE)
                check_small_and_inert(page)
            keep_screenshot(page, f"patch-{way.lower()}")


def test_every_page_that_shows_a_large_patch_stays_small(studio: Open) -> None:
    with studio() as page:
        for path in PATCH_PAGES:
            go(page, f"/studio/{path}")
            page.wait_for_function(SHOWN)
            check_small_and_inert(page)
            if page.evaluate(SHOW_MORE):
                check_small_and_inert(page)
        go(page, "/studio/new")
        task = page.get_by_role("textbox", name="Task")
        task.evaluate(SET_VALUE, GIT_PATCH)
        assert task.evaluate("one => one.value.length") == len(GIT_PATCH)
        check_small_and_inert(page)


def test_a_run_with_a_large_patch_is_saved_as_a_page(browser: Browser, service: Service, tmp_path: Path) -> None:
    with service.client(token=True) as client:
        answer = client.get(f"/api/v1/runs/{RUNS[0]}/export.html", params={"lang": "zh"})
    assert answer.status_code == 200
    (tmp_path / "run.html").write_bytes(answer.content)
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto((tmp_path / "run.html").as_uri())
        assert page.evaluate("window.hit === undefined")
        assert page.locator("img, [onerror], iframe").count() == 0
        assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
        assert "many/0.txt" in page.evaluate("document.body.textContent")
    finally:
        context.close()


def test_the_patch_is_as_large_as_it_says() -> None:
    assert GIT_PATCH.count("diff --git") == FILES
    assert len(json.dumps(COMMAND)) > 1_000_000
