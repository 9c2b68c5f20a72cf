"""A run that is followed while it works: nothing is lost or doubled, and its end stays in sight if wanted."""

import socket
from collections.abc import Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import opened
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.long_runs import add_turns, end_run, open_run
from tests.e2e.studio.talking import Talker, begin, lines_in, log_of, serving_with, talking
from tests.support import model_server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="module")
def service(built: None, home: Path) -> Generator[Service]:
    with talking(home, Talker()) as running:
        yield running


@pytest.fixture
def studio(browser: Browser, service: Service) -> Open:
    return partial(opened, browser, service)


def downloaded(page: Page, place: Path) -> list[object]:
    """The events that the page holds."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Events (.jsonl)").click()
    download.value.save_as(place)
    return [*lines_in(place.read_text())]


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def test_a_killed_server_loses_and_doubles_nothing(built: None, browser: Browser, tmp_path: Path) -> None:
    listen = free_address()
    (tmp_path / "skills").mkdir()
    (tmp_path / "note.txt").write_text("a note\n")
    talker = Talker(pause_at=30)  # so that it is not over before the server is gone
    with ExitStack() as until_the_end:
        model = until_the_end.enter_context(model_server.start(talker))
        with serving_with(tmp_path, model.base_url, listen=listen) as first:
            run_id = begin(first, "READ 40 times")
            page = until_the_end.enter_context(opened(browser, first, f"/studio/runs/{run_id}/events"))
            expect(page.get_by_role("button", name="tool_call_finished").first).to_be_visible()
            first.process.kill()
            first.process.wait(timeout=30)
            talker.go.set()
            expect(page.get_by_text("Connection lost, trying again")).to_be_visible()
        second = until_the_end.enter_context(serving_with(tmp_path, model.base_url, listen=listen))
        expect(page.get_by_role("main").get_by_text("Completed", exact=True)).to_be_visible(timeout=60_000)
        shown = downloaded(page, tmp_path / "shown.jsonl")
        assert shown == log_of(second, run_id)


def test_the_end_stays_in_sight_until_somebody_scrolls_up(studio: Open, home: Path) -> None:
    run = open_run(home, "run_tail")
    add_turns(run, 0, 30)
    with studio("/studio/runs/run_tail") as page:
        transcript = page.get_by_role("region", name="Transcript")
        expect(transcript.get_by_text("part-29.txt")).to_be_visible()
        add_turns(run, 30, 5)
        expect(transcript.get_by_text("part-34.txt")).to_be_visible()
        transcript.hover()
        page.mouse.wheel(0, -900)
        expect(transcript.get_by_text("part-34.txt")).not_to_be_visible()
        add_turns(run, 35, 4)
        expect(page.get_by_role("button", name="8 new")).to_be_visible()
        expect(transcript.get_by_text("part-38.txt")).to_have_count(0)
        page.keyboard.press(".")
        expect(transcript.get_by_text("part-38.txt")).to_be_visible()
        expect(page.get_by_role("button", name="new", exact=False).filter(has_text="8 new")).to_have_count(0)
        end_run(run)
        expect(transcript.get_by_text("Everything was read.")).to_be_visible()


def test_many_events_a_second_all_arrive_in_order(studio: Open, home: Path, service: Service, tmp_path: Path) -> None:
    run = open_run(home, "run_flood")
    with studio("/studio/runs/run_flood/events") as page:
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        for number in range(60):
            add_turns(run, number * 5, 5)
        end_run(run)
        expect(page.get_by_role("main").get_by_text("Completed", exact=True)).to_be_visible()
        shown = downloaded(page, tmp_path / "shown.jsonl")
        assert shown == log_of(service, "run_flood")
        assert len(shown) > 2000
