"""The list of runs: what it shows, how it is narrowed, and how it stays current."""

import io
import zipfile
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import opened
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.talking import Talker, begin, finished, talking

TALKER = Talker()


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with talking(tmp_path_factory.mktemp("runs"), TALKER) as running:
        finished(running, "Say hello to the harbour")
        finished(running, "FAIL politely")
        begin(running, "ASK about the colour")
        yield running


@pytest.fixture
def studio(browser: Browser, service: Service) -> Open:
    return partial(opened, browser, service)


def test_a_run_is_shown_with_its_state_and_its_figures(studio: Open) -> None:
    with studio("/studio/runs") as page:
        row = page.get_by_role("row").filter(has_text="Say hello to the harbour")
        expect(row).to_contain_text("Completed")
        expect(row).to_contain_text("talker")
        expect(row).to_contain_text("1.5K")
        expect(row).to_contain_text("$0.00")
        waiting = page.get_by_role("row").filter(has_text="ASK about the colour")
        expect(waiting).to_contain_text("Waiting for you")


def test_the_filters_stand_in_the_address_and_are_read_from_it(studio: Open) -> None:
    with studio("/studio/runs") as page:
        page.get_by_label("Status").select_option("waiting_for_user")
        expect(page.get_by_role("link", name="ASK about the colour")).to_be_visible()
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_have_count(0)
        assert "status=waiting_for_user" in page.url
        page.reload()
        expect(page.get_by_label("Status")).to_have_value("waiting_for_user")
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_have_count(0)
        page.get_by_role("button", name="Clear filters").click()
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_be_visible()


def test_words_of_the_task_find_a_run_and_nonsense_finds_none(studio: Open) -> None:
    with studio("/studio/runs") as page:
        search = page.get_by_role("searchbox", name="Search")
        search.fill("harbour")
        expect(page.get_by_role("link", name="FAIL politely")).to_have_count(0)
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_be_visible()
        search.fill("nothing has these words")
        expect(page.get_by_role("heading", name="No run fits")).to_be_visible()


def test_a_new_run_appears_by_itself_and_its_state_follows(studio: Open, service: Service) -> None:
    with studio("/studio/runs") as page:
        expect(page.get_by_role("link", name="Say hello to the harbour")).to_be_visible()
        TALKER.go.clear()
        begin(service, "HOLD the line")
        row = page.get_by_role("row").filter(has_text="HOLD the line")
        expect(row).to_contain_text("Running")
        TALKER.go.set()
        expect(row).to_contain_text("Completed")


def test_j_k_and_enter_walk_the_list_and_open_a_run(studio: Open) -> None:
    with studio("/studio/runs?status=completed") as page:
        links = page.locator("a[data-run]")
        expect(links.nth(1)).to_be_visible()
        page.keyboard.press("j")
        expect(links.nth(0)).to_be_focused()
        page.keyboard.press("j")
        expect(links.nth(1)).to_be_focused()
        page.keyboard.press("k")
        expect(links.nth(0)).to_be_focused()
        task = links.nth(0).inner_text()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(task)


def test_what_is_no_run_is_refused_and_the_reason_is_shown(studio: Open, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("run/readme.txt", "not a run")
    (tmp_path / "no-run.zip").write_bytes(archive.getvalue())
    with studio("/studio/runs") as page:
        page.get_by_role("button", name="Import").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Archive of a run").set_input_files(tmp_path / "no-run.zip")
        dialog.get_by_role("button", name="Import").click()
        expect(dialog.get_by_role("alert")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Import")).to_be_focused()


def test_an_exported_run_is_imported_elsewhere(
    studio: Open, service: Service, browser: Browser, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with studio("/studio/runs?status=completed") as page:
        page.get_by_role("link", name="Say hello to the harbour").click()
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name="Run directory").click()
        download.value.save_as(tmp_path / "run.tar.gz")
    with talking(tmp_path_factory.mktemp("elsewhere"), Talker()) as other, opened(browser, other) as page:
        expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
        expect(page.get_by_role("link", name="See the offline demo")).to_have_attribute("href", "/studio/welcome")
        expect(page.get_by_text("skills-runtime run")).to_be_visible()
        page.get_by_role("button", name="Import").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Archive of a run").set_input_files(tmp_path / "run.tar.gz")
        dialog.get_by_role("button", name="Import").click()
        dialog.get_by_role("button", name="Open the run").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Say hello to the harbour")
        expect(page.get_by_role("main").get_by_text("Imported", exact=True)).to_be_visible()
