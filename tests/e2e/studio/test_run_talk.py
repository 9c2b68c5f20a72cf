"""What a person says to a run: steering, answering, ending, reviewing, resuming it, and going on after its end."""

import re
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.service.servers import SCRIPTS, Service
from tests.e2e.studio.browsers import PHONE, keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.services import (
    PATIENCE_SEC,
    Script,
    finished_run,
    log_of,
    model_settings,
    serving_with,
    start_run,
)
from tests.support import model_server
from tests.support.model_server import ModelServer


class Place(NamedTuple):
    """The service, and what it talks to."""

    service: Service
    model: ModelServer
    script: Script
    home: Path


@pytest.fixture(scope="module")
def stack(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    home, script = tmp_path_factory.mktemp("talk"), Script()
    with model_server.start(script) as model, serving_with(home, model.base_url) as running:
        yield Place(running, model, script, home)


@pytest.fixture(scope="module")
def service(stack: Place) -> Service:
    return stack.service


def test_a_message_is_acknowledged_and_then_read(studio: Open, stack: Place) -> None:
    stack.script.go.clear()
    run_id = start_run(stack.service, "HOLD until told")
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("textbox", name="Send a message to the run")
        box.fill("Prefer <b>blue</b> paint")
        box.press("Enter")
        waiting = page.get_by_role("list", name="Unread messages")
        expect(waiting).to_contain_text("Prefer <b>blue</b> paint")
        expect(box).to_have_value("")
        stack.script.go.set()
        expect(page.get_by_role("article").filter(has_text="Message to the run")).to_contain_text(
            "Prefer <b>blue</b> paint"
        )
        expect(waiting).to_have_count(0)
        expect(page.get_by_role("article").filter(has_text="Heard: Prefer").first).to_be_visible()


def test_a_question_is_answered_where_it_stands(studio: Open, service: Service) -> None:
    run_id = start_run(service, "ASK what to do")
    with studio(f"/studio/runs/{run_id}") as page:
        expect(
            page.get_by_role("banner").or_(page.get_by_role("main")).get_by_text("Waiting for you").first
        ).to_be_visible()
        send = page.get_by_role("button", name="Send answer")
        expect(send).to_be_disabled()
        page.get_by_role("radio", name="blue").check()
        send.click()
        question = page.get_by_role("article").filter(has_text="Which colour?").filter(has_text="Answered at")
        expect(question).to_contain_text("blue")
        expect(page.get_by_role("main").get_by_text("Completed", exact=True).first).to_be_visible()
        expect(page.get_by_role("article").filter(has_text="You chose").first).to_be_visible()


def test_a_run_is_cancelled_after_a_second_thought(studio: Open, service: Service) -> None:
    run_id = start_run(service, "ASK and wait")
    with studio(f"/studio/runs/{run_id}") as page:
        cancel = page.get_by_role("button", name="Cancel run")
        cancel.click()
        page.get_by_role("button", name="Keep running").click()
        expect(cancel).to_be_focused()
        cancel.click()
        page.get_by_label("Reason (optional)").fill("not needed any more")
        page.get_by_role("button", name="Cancel the run").click()
        expect(page.get_by_role("article").filter(has_text="not needed any more")).to_be_visible()
        expect(cancel).to_have_count(0)


def test_an_ended_run_is_continued_in_its_session(studio: Open, service: Service) -> None:
    run_id = finished_run(service, "Say hello")
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("textbox", name="Continue in this session")
        box.fill("And now goodbye")
        page.get_by_role("button", name="Continue", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("And now goodbye")
        expect(page.get_by_role("article").filter(has_text="Earlier message").first).to_be_visible()


def test_a_failed_call_shows_its_error_without_being_opened(studio: Open, service: Service) -> None:
    run_id = finished_run(service, "FAIL once")
    with studio(f"/studio/runs/{run_id}") as page:
        call = page.get_by_role("article").filter(has_text="missing.txt").first
        expect(call).to_contain_text("Failed")
        expect(call.get_by_role("region", name="Failed")).to_be_visible()
        expect(call.get_by_role("button", name="Input")).to_have_attribute("aria-expanded", "false")


def _status(page: Page, text: str) -> None:
    expect(page.get_by_role("main").get_by_text(text, exact=True).first).to_be_visible()


def test_a_run_that_reached_its_limit_goes_on_with_more(studio: Open, service: Service) -> None:
    run_id = start_run(service, "READ 3 times", max_steps=1, on_limit="park")
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("region", name="The run is paused")
        expect(box).to_contain_text("step")
        keep_screenshot(page, "resume-parked")
        box.get_by_label("Maximum steps").fill("50")
        box.get_by_role("button", name="Resume").click()
        _status(page, "Completed")
        expect(box).to_have_count(0)
        expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    types = [event["type"] for event in log_of(service, run_id)]
    assert types.count("run_started") + types.count("run_resumed") >= 1
    assert types[-1] == "run_completed"


def test_a_run_whose_limit_was_not_raised_says_so_again(studio: Open, service: Service) -> None:
    run_id = start_run(service, "READ 3 times", max_steps=1, on_limit="park")
    with studio(f"/studio/runs/{run_id}", viewport=PHONE, locale="zh-CN") as page:
        box = page.get_by_role("region", name="运行已暂停")
        expect(box).to_be_visible()
        keep_screenshot(page, "resume-parked-360-zh")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        notices = page.get_by_role("article").filter(has_text="运行在等待")
        expect(notices).to_have_count(1)
        box.get_by_role("button", name="恢复运行").click()
        expect(notices).to_have_count(2)
        expect(box).to_be_visible()
    assert "run_completed" not in [event["type"] for event in log_of(service, run_id)]


def _start_and_kill(stack: Place) -> str:
    """A run of the command line whose process was killed while its model thought."""
    run_id, request_count = "run_killed", len(stack.model.requests)
    settings = model_settings(stack.model.base_url)
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    process = subprocess.Popen(
        [SCRIPTS / "skills-runtime", "run", "--json", "--run-id", run_id, *options, "HOLD until told"],
        cwd=stack.home,
        env=dict(stack.service.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            if b'"llm_request_started"' in line:
                break
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=PATIENCE_SEC)
    assert len(stack.model.requests) - request_count <= 1
    return run_id


def test_a_run_whose_process_was_killed_says_so_and_goes_on(studio: Open, stack: Place) -> None:
    stack.script.go.clear()
    run_id = _start_and_kill(stack)
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("region", name="The run is paused")
        expect(box).to_contain_text("the process that executed this run has ended")
        keep_screenshot(page, "resume-interrupted")
        stack.script.go.set()
        page.get_by_role("button", name="Resume").first.click()
        _status(page, "Completed")
        expect(box).to_have_count(0)
    seqs = [event["seq"] for event in log_of(stack.service, run_id)]
    assert seqs == list(range(len(seqs)))


def test_a_working_run_is_not_shown_as_stalled(studio: Open, stack: Place) -> None:
    stack.script.go.clear()
    run_id = start_run(stack.service, "HOLD until told")
    with studio(f"/studio/runs/{run_id}") as page:
        _status(page, "Running")
        expect(page.get_by_role("region", name="The run is paused")).to_have_count(0)
        stack.script.go.set()
        _status(page, "Completed")


def test_a_run_that_failed_is_not_resumed_but_tried_again_from_where_it_was(studio: Open, stack: Place) -> None:
    stack.script.is_broken = True
    run_id = finished_run(stack.service, "READ 1 times")
    with studio(f"/studio/runs/{run_id}") as page:
        _status(page, "Failed")
        expect(page.get_by_text("the model is out of order").first).to_be_visible()
        expect(page.get_by_role("button", name="Resume")).to_have_count(0)
        keep_screenshot(page, "resume-failed")
        stack.script.is_broken = False
        page.get_by_role("button", name="Try again").click()
        page.wait_for_url(lambda address: f"/runs/{run_id}" not in address)
        _status(page, "Completed")
        expect(page.get_by_role("link", name=re.compile(run_id))).to_be_visible()
    assert log_of(stack.service, run_id)[-1]["type"] == "run_failed"


def _reviews(service: Service, run_id: str) -> list[str]:
    changes = [event["payload"] for event in log_of(service, run_id) if event["type"] == "run_state_changed"]
    return [change["to"] for change in changes if change["to"] in ("review_required", "revision_required")]


def test_an_accepted_result_completes_the_run(studio: Open, service: Service) -> None:
    run_id = start_run(service, "Write it", review=True)
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("region", name="Review the result")
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
    run_id = start_run(service, "Write it", review=True)
    with studio(f"/studio/runs/{run_id}") as page:
        box = page.get_by_role("region", name="Review the result")
        back = box.get_by_role("button", name="Send back with this note")
        expect(back).to_be_disabled()
        box.get_by_label("Note").fill("Shorter, <b>please</b>")
        back.click()
        expect(page.get_by_role("article").filter(has_text="Heard: Shorter, <b>please</b>").first).to_be_visible()
        expect(box.get_by_label("Note")).to_have_value("")
        box.get_by_role("button", name="Accept the result").click()
        _status(page, "Completed")
    assert _reviews(service, run_id) == ["review_required", "revision_required", "review_required"]


def test_a_review_by_another_user_is_shown(studio: Open, service: Service) -> None:
    run_id = start_run(service, "Write it", review=True)
    with studio(f"/studio/runs/{run_id}") as first, studio(f"/studio/runs/{run_id}") as second:
        for page in (first, second):
            expect(page.get_by_role("region", name="Review the result")).to_be_visible()
        first.get_by_role("button", name="Accept the result").click()
        _status(first, "Completed")
        expect(second.get_by_role("region", name="Review the result")).to_have_count(0)
        _status(second, "Completed")


def test_a_review_in_chinese_at_phone_width(studio: Open, service: Service) -> None:
    run_id = start_run(service, "Write it", review=True)
    look = {"viewport": {"width": 360, "height": 780}, "locale": "zh-CN", "color_scheme": "dark"}
    with studio(f"/studio/runs/{run_id}", **look) as page:
        expect(page.get_by_role("button", name="接受结果")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        keep_screenshot(page, "review-360-zh-dark")
