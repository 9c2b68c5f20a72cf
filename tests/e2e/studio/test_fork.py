"""A run goes on from the middle of another one, and both are compared."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.looking import done, looking
from tests.e2e.studio.talking import log_of

WRITES = (
    ("file_write", {"path": "one.txt", "content": "1"}),
    ("file_write", {"path": "two.txt", "content": "2"}),
)


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with looking(tmp_path_factory.mktemp("forks")) as found:
        yield found


@pytest.fixture
def parent(service: Service) -> str:
    return done(service, *WRITES, task="The parent.")


def _second_call(service: Service, run_id: str) -> int:
    """The event after which the second call had begun and had not ended."""
    started = [one["seq"] for one in log_of(service, run_id) if one["type"] == "tool_call_started"]
    return started[1]


def test_a_fork_from_the_middle_links_parent_and_child(studio: Open, service: Service, parent: str) -> None:
    middle = _second_call(service, parent)
    with studio(f"/studio/runs/{parent}?event={middle}") as page:
        page.get_by_role("button", name="Fork", exact=True).click()
        dialog = page.get_by_role("dialog", name=f"Fork from event {middle}")
        expect(dialog.get_by_label("Last message")).to_have_value(re.compile("^The parent."))
        expect(dialog.get_by_text("1 finished call is kept with its result")).to_be_visible()
        expect(dialog.get_by_text("file_write had begun and will be executed again.")).to_be_visible()
        keep_screenshot(page, "fork-dialog")
        dialog.get_by_role("button", name="Start the fork").click()
        page.wait_for_url(lambda address: f"/runs/{parent}" not in address)
        child = page.url.rpartition("/runs/")[2].partition("?")[0]
        expect(page.get_by_text("Completed", exact=True).first).to_be_visible()
        back = page.get_by_role("link", name=re.compile(parent))
        expect(back).to_be_visible()
        keep_screenshot(page, "fork-child")
        back.click()
        forks = page.get_by_role("list", name="Fork of this run:")
        expect(forks.get_by_role("link", name=child)).to_be_visible()
        keep_screenshot(page, "fork-parent")
    told = log_of(service, child)
    assert told[0]["payload"]["fork"]["seq"] == middle
    assert [one["payload"]["call_id"] for one in told if one["type"] == "tool_call_finished"] == [
        one["payload"]["call_id"] for one in log_of(service, parent) if one["type"] == "tool_call_finished"
    ][1:]


def test_a_fork_with_other_words_by_keyboard_alone(studio: Open, service: Service, parent: str) -> None:
    started = next(one["seq"] for one in log_of(service, parent) if one["type"] == "run_started")
    with studio(f"/studio/runs/{parent}?event={started}") as page:
        expect(page.get_by_role("tab", name="Raw")).to_be_visible()
        page.locator("body").press("f")
        field = page.get_by_label("Last message")
        expect(field).to_be_focused()
        expect(page.get_by_text("takes the place of the task")).to_be_visible()
        page.keyboard.press("Control+a")
        page.keyboard.type("Another task, without f or any call.")
        page.get_by_role("button", name="Start the fork").focus()
        page.keyboard.press("Enter")
        page.wait_for_url(lambda address: f"/runs/{parent}" not in address)
        expect(page.get_by_role("heading", level=1)).to_have_text("Another task, without f or any call.")
        expect(page.get_by_text("Completed", exact=True).first).to_be_visible()


def test_a_refused_fork_says_why_and_keeps_what_was_typed(studio: Open, parent: str) -> None:
    with studio(f"/studio/runs/{parent}") as page:
        page.get_by_role("button", name="Fork", exact=True).click()
        page.get_by_label("Last message").fill("Other words.")
        page.route(
            "**/fork",
            lambda route: route.fulfill(
                status=403,
                content_type="application/problem+json",
                body='{"status": 403, "kind": "permission", "detail": "that model is not allowed"}',
            ),
        )
        page.get_by_role("button", name="Start the fork").click()
        expect(page.get_by_role("alert")).to_contain_text("that model is not allowed")
        expect(page.get_by_label("Last message")).to_have_value("Other words.")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("button", name="Fork", exact=True)).to_be_focused()


def test_two_runs_are_compared_side_by_side(studio: Open, service: Service, parent: str) -> None:
    other = done(service, WRITES[0], ("file_write", {"path": "three.txt", "content": "3"}), task="The parent.")
    with studio("/studio/compare") as page:
        expect(page.get_by_role("heading", name="Choose two runs")).to_be_visible()
        page.get_by_label("Run A").select_option(parent)
        page.get_by_label("Run B").select_option(other)
        expect(page).to_have_url(re.compile(f"a={parent}&b={other}"))
        totals = page.get_by_role("table", name="Totals of both runs")
        for name in ("Duration", "Input tokens", "Cost", "Tool calls"):
            expect(totals.get_by_role("cell", name=name, exact=True)).to_be_visible()
        expect(page.get_by_text("Different").first).to_be_visible()
        keep_screenshot(page, "compare-1440")
        page.get_by_role("button", name="Go to the first difference").press("Enter")
        expect(page.get_by_role("listitem", name="Different").first).to_be_focused()


def test_a_run_is_the_same_as_itself(studio: Open, parent: str) -> None:
    path = f"/studio/compare?a={parent}&b={parent}"
    with studio(path, viewport={"width": 360, "height": 780}, locale="zh-CN") as page:
        expect(page.get_by_text("两次运行的行为相同。")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        keep_screenshot(page, "compare-360-zh")
