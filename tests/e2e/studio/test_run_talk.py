"""What a person says to a run: steering it, answering it, ending it, and going on after its end."""

from collections.abc import Generator
from functools import partial

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import opened
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.talking import Talker, begin, finished, talking

TALKER = Talker()


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with talking(tmp_path_factory.mktemp("talk"), TALKER) as running:
        yield running


@pytest.fixture
def studio(browser: Browser, service: Service) -> Open:
    return partial(opened, browser, service)


def test_a_message_is_acknowledged_and_then_read(studio: Open, service: Service) -> None:
    TALKER.go.clear()
    run_id = begin(service, "HOLD until told")
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("textbox", name="Tell the run something while it works")
        box.fill("Prefer <b>blue</b> paint")
        box.press("Enter")
        waiting = page.get_by_role("list", name="Messages that were not read yet")
        expect(waiting).to_contain_text("Prefer <b>blue</b> paint")
        expect(box).to_have_value("")
        TALKER.go.set()
        expect(page.get_by_role("article").filter(has_text="Message to the run")).to_contain_text(
            "Prefer <b>blue</b> paint"
        )
        expect(waiting).to_have_count(0)
        expect(page.get_by_role("article").filter(has_text="Heard: Prefer").first).to_be_visible()


def test_a_question_is_answered_where_it_stands(studio: Open, service: Service) -> None:
    run_id = begin(service, "ASK what to do")
    with studio(f"/studio/runs/{run_id}") as page:
        expect(
            page.get_by_role("banner").or_(page.get_by_role("main")).get_by_text("Waiting for you").first
        ).to_be_visible()
        send = page.get_by_role("button", name="Send the answer")
        expect(send).to_be_disabled()
        page.get_by_role("radio", name="blue").check()
        send.click()
        question = page.get_by_role("article").filter(has_text="Which colour?").filter(has_text="Answered at")
        expect(question).to_contain_text("blue")
        expect(page.get_by_role("main").get_by_text("Completed", exact=True).first).to_be_visible()
        expect(page.get_by_role("article").filter(has_text="You chose").first).to_be_visible()


def test_a_run_is_cancelled_after_a_second_thought(studio: Open, service: Service) -> None:
    run_id = begin(service, "ASK and wait")
    with studio(f"/studio/runs/{run_id}") as page:
        cancel = page.get_by_role("button", name="Cancel run")
        cancel.click()
        page.get_by_role("button", name="Let it go on").click()
        expect(cancel).to_be_focused()
        cancel.click()
        page.get_by_label("Why (optional)").fill("not needed any more")
        page.get_by_role("button", name="Cancel the run").click()
        expect(page.get_by_role("article").filter(has_text="not needed any more")).to_be_visible()
        expect(cancel).to_have_count(0)


def test_an_ended_run_is_continued_in_its_session(studio: Open, service: Service) -> None:
    run_id = finished(service, "Say hello")
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("textbox", name="Continue in this session")
        box.fill("And now goodbye")
        page.get_by_role("button", name="Continue", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("And now goodbye")
        expect(page.get_by_role("article").filter(has_text="Said earlier").first).to_be_visible()


def test_a_failed_call_shows_its_error_without_being_opened(studio: Open, service: Service) -> None:
    run_id = finished(service, "FAIL once")
    with studio(f"/studio/runs/{run_id}") as page:
        call = page.get_by_role("article").filter(has_text="missing.txt").first
        expect(call).to_contain_text("Failed")
        expect(call.get_by_role("region", name="Failed")).to_be_visible()
        expect(call.get_by_role("button", name="Input")).to_have_attribute("aria-expanded", "false")
