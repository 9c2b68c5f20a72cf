"""The page of one run: its views over one selection, keys and search, a log of ten thousand events, and live runs."""

import socket
from collections.abc import Generator
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import DESK, PHONE, choose, go, keep_screenshot, opened
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.seeded import add_turns, end_run, long_run, open_run
from tests.e2e.studio.services import Script, finished_run, lines_in, log_of, scripted, serving_with, start_run
from tests.support import model_server

EVENTS = 10_000
SCRIPT = Script()
FEW_ROWS = 60
TASK = "READ 2 and tell at length what the harbour of Zuidersluis-aan-de-Maasmond looked like last week"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def service(built: None, home: Path) -> Generator[Service]:
    long_run(home, "run_long", EVENTS)
    long_run(home, "run_short", 70)
    with scripted(home, SCRIPT) as running:
        yield running


def test_ten_thousand_events_open_and_scroll_to_the_end_with_few_rows(studio: Open, service: Service) -> None:
    count = len(log_of(service, "run_long"))
    assert count >= EVENTS
    with studio("/studio/runs/run_long") as page:
        transcript = page.get_by_role("region", name="Transcript")
        expect(transcript.get_by_text("part-0.txt")).to_be_visible()
        expect(page.get_by_text("All events loaded", exact=True)).to_be_visible()
        expect(page.get_by_text(f"{count} events")).to_be_visible()
        transcript.focus()
        page.keyboard.press("End")
        expect(transcript.get_by_text("Everything was read.")).to_be_visible()
        assert page.get_by_role("article").count() < FEW_ROWS
        page.keyboard.press("3")
        events = page.get_by_role("region", name="Events")
        expect(events.get_by_text("run_completed", exact=True)).to_be_visible()
        events.focus()
        page.keyboard.press("Home")
        expect(events.get_by_text("run_created", exact=True)).to_be_visible()
        assert events.locator("[data-seq]").count() < FEW_ROWS * 2


def test_the_views_have_addresses_and_keys_and_share_the_selection(studio: Open) -> None:
    with studio("/studio/runs/run_short") as page:
        page.get_by_role("button", name="Details of event 6,").click()
        expect(page.get_by_role("complementary", name="Details of the selected event")).to_be_visible()
        assert page.url.endswith("/runs/run_short?event=6")
        for key, view in (("2", "Timeline"), ("3", "Events"), ("4", "Files"), ("1", "Transcript")):
            page.keyboard.press(key)
            expect(page.get_by_role("tab", name=view)).to_have_attribute("aria-selected", "true")
            assert "event=6" in page.url
        page.goto(page.url.replace("run_short?", "run_short/events?"))
        expect(page.locator("[aria-current=true][data-seq='6']")).to_be_visible()


def test_an_address_with_an_event_opens_there(studio: Open, service: Service) -> None:
    log = log_of(service, "run_long")
    seq = next(event["seq"] for event in log if event["payload"].get("arguments", {}).get("path") == "part-700.txt")
    with studio(f"/studio/runs/run_long?event={seq}") as page:
        expect(page.get_by_role("region", name="Transcript").get_by_text("part-700.txt")).to_be_visible()


def test_steps_are_walked_with_brackets(studio: Open) -> None:
    with studio("/studio/runs/run_short") as page:
        expect(page.get_by_text("part-0.txt")).to_be_visible()
        page.keyboard.press("]")
        selected = page.locator("[aria-current=true]")
        expect(selected).to_contain_text("part-0.txt")
        page.keyboard.press("]")
        expect(selected).to_contain_text("part-1.txt")
        page.keyboard.press("[")
        expect(selected).to_contain_text("part-0.txt")
        page.keyboard.press("k")
        expect(selected).to_contain_text("I read part 0 now.")


def test_a_search_counts_and_walks_what_it_finds(studio: Open) -> None:
    with studio("/studio/runs/run_long") as page:
        expect(page.get_by_text("part-0.txt")).to_be_visible()
        page.keyboard.press("/")
        search = page.get_by_role("searchbox", name="Search in this run")
        expect(search).to_be_focused()
        search.fill("part-1234.txt")
        expect(page.get_by_text("0 of 1", exact=True)).to_be_visible()
        search.press("Enter")
        expect(page.get_by_role("region", name="Transcript").get_by_text("part-1234.txt")).to_be_visible()
        expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
        # Single keys do nothing while typing.
        search.fill("3")
        expect(page.get_by_role("tab", name="Transcript")).to_have_attribute("aria-selected", "true")


def test_the_events_are_downloaded_as_they_stand_in_the_log(studio: Open, service: Service, tmp_path: Path) -> None:
    with studio("/studio/runs/run_short/events") as page:
        expect(page.get_by_text("All events loaded", exact=True)).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Events (.jsonl)").click()
        download.value.save_as(tmp_path / "events.jsonl")
        assert lines_in((tmp_path / "events.jsonl").read_text()) == log_of(service, "run_short")
        page.get_by_role("region", name="Events").focus()
        page.keyboard.press("End")
        page.get_by_text("run_completed", exact=True).click()
        expect(page.get_by_text('"Everything was read."').first).to_be_visible()


def test_a_run_is_verified_and_exported_as_one_page(studio: Open, service: Service) -> None:
    run_id = finished_run(service, "READ 1")
    with studio(f"/studio/runs/{run_id}") as page:
        page.get_by_role("button", name="More actions").click()
        page.get_by_role("menuitem", name="Verify").click()
        expect(page.get_by_role("dialog")).to_contain_text("Verified: the run directory is unchanged")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name="Single page").click()
        assert download.value.suggested_filename.endswith(".html")


def test_a_run_that_is_not_there_says_so(studio: Open) -> None:
    with studio("/studio/runs/run_nowhere") as page:
        expect(page.get_by_role("alert")).to_be_visible()


def download_events(page: Page, path: Path) -> list[object]:
    """The events that the page holds."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Events (.jsonl)").click()
    download.value.save_as(path)
    return [*lines_in(path.read_text())]


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def test_a_killed_server_loses_and_doubles_nothing(built: None, browser: Browser, tmp_path: Path) -> None:
    listen = free_address()
    (tmp_path / "skills").mkdir()
    (tmp_path / "note.txt").write_text("a note\n")
    talker = Script(pause_at=30)  # so that it is not over before the server is gone
    with ExitStack() as until_the_end:
        model = until_the_end.enter_context(model_server.start(talker))
        with serving_with(tmp_path, model.base_url, listen=listen) as first:
            run_id = start_run(first, "READ 40 times")
            page = until_the_end.enter_context(opened(browser, first, f"/studio/runs/{run_id}/events"))
            expect(page.get_by_role("button", name="tool_call_finished").first).to_be_visible()
            first.process.kill()
            first.process.wait(timeout=30)
            talker.go.set()
            expect(page.get_by_text("Connection lost, reconnecting")).to_be_visible()
        second = until_the_end.enter_context(serving_with(tmp_path, model.base_url, listen=listen))
        expect(page.get_by_role("main").get_by_text("Completed", exact=True)).to_be_visible(timeout=60_000)
        events = download_events(page, tmp_path / "shown.jsonl")
        assert events == log_of(second, run_id)


def test_the_end_stays_in_view_until_the_user_scrolls_up(studio: Open, home: Path) -> None:
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
        events = download_events(page, tmp_path / "shown.jsonl")
        assert events == log_of(service, "run_flood")
        assert len(events) > 2000


@pytest.mark.parametrize("language", ["en-GB", "zh-CN"])
def test_runs_fit_on_the_screen(studio: Open, service: Service, language: str) -> None:
    finished, failed = finished_run(service, TASK), finished_run(service, "FAIL once")
    asking, running = start_run(service, "ASK what to do"), start_run(service, "HOLD on")
    with studio(locale=language) as page:
        views = {
            "runs": ("/studio/runs", page.locator(f"[data-run={running}]")),
            "run-failed-call": (f"/studio/runs/{failed}", page.get_by_role("article").first),
            "run-asking": (f"/studio/runs/{asking}", page.get_by_role("radio").first),
            "run-transcript": (f"/studio/runs/{finished}", page.get_by_role("heading", level=1, name=TASK)),
            "run-events": (f"/studio/runs/{finished}/events", page.get_by_text("run_created", exact=True)),
        }
        for name, (path, text) in views.items():
            go(page, path)
            expect(text).to_be_visible()
            for size, theme in product((DESK, PHONE), ("light", "dark")):
                page.set_viewport_size(size)
                choose(page, theme=theme)
                assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0, name
            keep_screenshot(page, f"{name}-{language[:2]}-dark-360")
    SCRIPT.go.set()
