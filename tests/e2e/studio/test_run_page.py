"""The page of one run: its views over one selection, its keys, its search, and a log of ten thousand events."""

from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import opened
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.long_runs import long_run
from tests.e2e.studio.talking import Talker, finished, lines_in, log_of, talking

EVENTS = 10_000
FEW_ROWS = 60


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("run")
    long_run(home, "run_long", EVENTS)
    long_run(home, "run_short", 70)
    with talking(home, Talker()) as running:
        yield running


@pytest.fixture
def studio(browser: Browser, service: Service) -> Open:
    return partial(opened, browser, service)


def test_ten_thousand_events_open_and_scroll_to_the_end_with_few_rows(studio: Open, service: Service) -> None:
    count = len(log_of(service, "run_long"))
    assert count >= EVENTS
    with studio("/studio/runs/run_long") as page:
        transcript = page.get_by_role("region", name="Transcript")
        expect(transcript.get_by_text("part-0.txt")).to_be_visible()
        expect(page.get_by_text("Complete", exact=True)).to_be_visible()
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
    seq = next(one["seq"] for one in log if one["payload"].get("arguments", {}).get("path") == "part-700.txt")
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
        # Quick keys do nothing while somebody types.
        search.fill("3")
        expect(page.get_by_role("tab", name="Transcript")).to_have_attribute("aria-selected", "true")


def test_the_events_are_downloaded_as_they_stand_in_the_log(studio: Open, service: Service, tmp_path: Path) -> None:
    with studio("/studio/runs/run_short/events") as page:
        expect(page.get_by_text("Complete", exact=True)).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Events (.jsonl)").click()
        download.value.save_as(tmp_path / "events.jsonl")
        assert lines_in((tmp_path / "events.jsonl").read_text()) == log_of(service, "run_short")
        page.get_by_role("region", name="Events").focus()
        page.keyboard.press("End")
        page.get_by_text("run_completed", exact=True).click()
        expect(page.get_by_text('"Everything was read."').first).to_be_visible()


def test_a_run_is_verified_and_exported_as_one_page(studio: Open, service: Service) -> None:
    run_id = finished(service, "READ 1")
    with studio(f"/studio/runs/{run_id}") as page:
        page.get_by_role("button", name="More actions").click()
        page.get_by_role("menuitem", name="Verify").click()
        expect(page.get_by_role("dialog")).to_contain_text("Everything is as the run left it")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name="Single page").click()
        assert download.value.suggested_filename.endswith(".html")


def test_a_run_that_is_not_there_says_so(studio: Open) -> None:
    with studio("/studio/runs/run_nowhere") as page:
        expect(page.get_by_role("alert")).to_be_visible()
