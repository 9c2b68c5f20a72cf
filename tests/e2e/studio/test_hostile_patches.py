"""A patch of ten thousand files, wherever a text may stand: it stays text, and the page stays small and answers."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from skills_runtime.events.payloads import InboxReceived, LlmResponseDelta, RunCompleted
from skills_runtime.runs import finish_run
from tests.e2e.service.servers import Service
from tests.e2e.studio.asking import HARMLESS
from tests.e2e.studio.browsers import keep_screenshot, opened
from tests.e2e.studio.furnished import go, settle, until_it_waits
from tests.e2e.studio.long_runs import open_run
from tests.e2e.studio.nasty import FILES, PATCH, SENTINEL
from tests.e2e.studio.talking import begin, serving_with
from tests.e2e.studio.test_hostile import open_all
from tests.support import model_server
from tests.support.model_server import Answer, calls, says

MOST_NODES = 20_000
RUNS = ("run_patch_one", "run_patch_two")
GIT_PATCH = "".join(
    f"diff --git a/many/{n}.txt b/many/{n}.txt\nnew file mode 100644\n--- /dev/null\n+++ b/many/{n}.txt\n"
    f"@@ -0,0 +1 @@\n+<img src=x onerror={SENTINEL}> {n}\n"
    for n in range(FILES)
)
COMMAND = f"git apply <<'EOF'\n{GIT_PATCH}EOF\n"
SHOW_MORE = """() => { const more = [...document.querySelectorAll("main button")].filter((one) =>
  /^Show (all|them|.* more)/.test(one.textContent)); more.forEach((one) => one.click()); return more.length; }"""
SET_VALUE = """(one, text) => {
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(one, text);
  one.dispatchEvent(new Event("input", { bubbles: true })); }"""
"""The browser itself needs minutes to type so much into any field."""
SHOWN = """() => document.querySelector("main").textContent.includes("many/0.txt")"""
ANSWERS = """() => new Promise((done) => { const begun = performance.now();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun))); })"""


def applying(request: dict[str, Any]) -> Answer:
    """The answers of a model that wants to apply the patch; the task says by which tool."""
    messages: list[dict[str, Any]] = request["messages"]
    task = str(next(one["content"] for one in messages if one["role"] == "user"))
    wanted = {
        "COMMAND": ("shell_exec", {"argv": ["bash", "-c", COMMAND]}),
        "LINE": ("shell_command", {"command": COMMAND}),
        "WRITE": ("file_write", {"path": "big.patch", "content": GIT_PATCH}),
    }
    return calls(wanted.get(task.split()[0], HARMLESS)) if messages[-1]["role"] == "user" else says("Done.")


def write_runs(home: Path) -> None:
    """Two runs with the patch as their task, as what was said, and as a file they leave."""
    for number, run_id in enumerate(RUNS):
        run = open_run(home, run_id, task=f"{GIT_PATCH}{number}")
        for position, text in enumerate((GIT_PATCH, f"{PATCH}{number}")):
            run.append(InboxReceived(f"message_{position}", position, "steer", {"text": text}))
            run.append(LlmResponseDelta(delta_type="text", text=f"```diff\n{text}```\n{text}"))
        (run.paths.root / "deliverables").mkdir(exist_ok=True)
        (run.paths.root / "deliverables" / "big.patch").write_text(GIT_PATCH)
        run.commit()
        finish_run(run, RunCompleted(final_output=GIT_PATCH))
        run.close()


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("patches")
    (home / "skills").mkdir()
    write_runs(home)
    with model_server.start(applying) as model, serving_with(home, model.base_url) as found:
        yield found


@pytest.fixture(scope="module")
def page(browser: Browser, service: Service) -> Generator[Page]:
    with opened(browser, service) as found:
        found.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
        settle(found)
        yield found


def check_small_and_inert(page: Page) -> None:
    """Nothing ran, nothing of it became an element, the page has few elements, and it draws."""
    assert page.evaluate("window.hit === undefined")
    assert page.locator("#root img, #root script, #root [onerror]").count() == 0
    nodes = page.evaluate("document.querySelectorAll('*').length")
    assert nodes < MOST_NODES, f"{nodes} elements"
    assert page.evaluate(ANSWERS) > 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("way", ["COMMAND", "LINE", "WRITE"])
def test_a_request_to_apply_it(page: Page, service: Service, way: str) -> None:
    run_id = begin(service, f"{way} please", policy_mode="ask")
    until_it_waits(service, run_id)
    for path in ("/studio/approvals", f"/studio/runs/{run_id}", f"/studio/runs/{run_id}/events"):
        go(page, path)
        expect(page.locator("main article, main [data-seq]").first).to_be_visible()
        check_small_and_inert(page)
        open_all(page)
        page.evaluate(SHOW_MORE)
        check_small_and_inert(page)
    keep_screenshot(page, f"patch-{way.lower()}")


@pytest.mark.parametrize(
    "path",
    [
        f"runs/{RUNS[0]}", f"runs/{RUNS[0]}?event=5", f"runs/{RUNS[0]}/timeline", f"runs/{RUNS[0]}/events?event=4",
        f"runs/{RUNS[0]}/files?file=deliverables/big.patch", f"runs/{RUNS[0]}?q=9999.txt", f"runs/{RUNS[0]}?at=7",
        f"compare?a={RUNS[0]}&b={RUNS[1]}", "runs", "sessions", "sessions/session_long",
    ],
)  # fmt: skip
def test_a_page_that_shows_it(page: Page, path: str) -> None:
    go(page, f"/studio/{path}")
    page.wait_for_function(SHOWN)
    check_small_and_inert(page)
    if page.evaluate(SHOW_MORE):
        check_small_and_inert(page)


def test_it_is_the_text_in_the_form_of_a_new_run(page: Page) -> None:
    go(page, "/studio/new")
    task = page.get_by_role("textbox", name="Task")
    task.evaluate(SET_VALUE, GIT_PATCH)
    assert task.evaluate("one => one.value.length") == len(GIT_PATCH)
    check_small_and_inert(page)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_run_with_it_is_saved_as_a_page(browser: Browser, service: Service, tmp_path: Path, lang: str) -> None:
    with service.client(token=True) as client:
        answer = client.get(f"/api/v1/runs/{RUNS[0]}/export.html", params={"lang": lang})
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
