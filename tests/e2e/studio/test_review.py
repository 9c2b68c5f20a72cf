"""A result that waits for review is accepted or sent back on the page of its run."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.talking import Talker, begin, log_of, talking


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with talking(tmp_path_factory.mktemp("review"), Talker()) as running:
        yield running


def _status(page: Page, word: str) -> None:
    expect(page.get_by_role("main").get_by_text(word, exact=True).first).to_be_visible()


def _reviews(service: Service, run_id: str) -> list[str]:
    changes = [event["payload"] for event in log_of(service, run_id) if event["type"] == "run_state_changed"]
    return [change["to"] for change in changes if change["to"] in ("review_required", "revision_required")]


def test_an_accepted_result_completes_the_run(studio: Open, service: Service) -> None:
    run_id = begin(service, "Write it", review=True)
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("region", name="Review of the result")
        expect(box).to_be_visible()
        _status(page, "Needs review")
        expect(page.get_by_role("article").filter(has_text="Heard: Write it").first).to_be_visible()
        keep_screenshot(page, "review")
        box.get_by_label("Note").fill("well done")
        box.get_by_role("button", name="Accept the result").click()
        _status(page, "Completed")
        expect(box).to_have_count(0)
    last = log_of(service, run_id)[-1]
    assert last["type"] == "run_completed"
    assert last["payload"]["metadata"]["review"] == {"decision": "approved", "note": "well done"}


def test_a_result_that_is_sent_back_goes_on_with_the_note(studio: Open, service: Service) -> None:
    run_id = begin(service, "Write it", review=True)
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("region", name="Review of the result")
        back = box.get_by_role("button", name="Send back with this note")
        expect(back).to_be_disabled()
        box.get_by_label("Note").fill("Shorter, <b>please</b>")
        back.click()
        expect(page.get_by_role("article").filter(has_text="Heard: Shorter, <b>please</b>").first).to_be_visible()
        expect(box.get_by_label("Note")).to_have_value("")
        box.get_by_role("button", name="Accept the result").click()
        _status(page, "Completed")
    assert _reviews(service, run_id) == ["review_required", "revision_required", "review_required"]


def test_a_review_that_somebody_else_made_is_told(studio: Open, service: Service) -> None:
    run_id = begin(service, "Write it", review=True)
    with studio(f"/studio/runs/{run_id}") as first, studio(f"/studio/runs/{run_id}") as second:
        for page in (first, second):
            expect(page.get_by_role("region", name="Review of the result")).to_be_visible()
        first.get_by_role("button", name="Accept the result").click()
        _status(first, "Completed")
        expect(second.get_by_role("region", name="Review of the result")).to_have_count(0)
        _status(second, "Completed")


def test_a_review_in_chinese_at_phone_width(studio: Open, service: Service) -> None:
    run_id = begin(service, "Write it", review=True)
    look = {"viewport": {"width": 360, "height": 780}, "locale": "zh-CN", "color_scheme": "dark"}
    with studio(f"/studio/runs/{run_id}", **look) as page:
        expect(page.get_by_role("button", name="接受结果")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        keep_screenshot(page, "review-360-zh-dark")
