"""What a run leaves behind is looked at without letting it do anything."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import complaining, keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.looking import DRAWING, EVERYTHING, HOSTILE_PAGE, done, listening, looking


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with looking(tmp_path_factory.mktemp("files")) as found:
        yield found


@pytest.fixture(scope="module")
def run_id(service: Service) -> str:
    return done(service, *EVERYTHING)


@pytest.mark.parametrize(("name", "text"), [("page.html", "Quarterly report"), ("drawing.svg", "")])
def test_a_hostile_page_stays_inert(browser: Browser, service: Service, name: str, text: str) -> None:
    with listening() as elsewhere:
        content = {"page.html": HOSTILE_PAGE, "drawing.svg": DRAWING}[name].replace("AWAY", elsewhere.url)
        made = done(service, ("file_write", {"path": f"deliverables/{name}", "content": content}), task="Report.")
        with complaining(browser, service, f"/studio/runs/{made}/files") as page:
            with page.expect_response(lambda answer: "preview=1" in answer.url) as shown:
                page.get_by_role("button", name=re.compile(name)).first.click()
            assert shown.value.headers["content-security-policy"].startswith("sandbox;")
            element = page.locator(f"iframe[title$='{name}']")
            expect(element).to_have_attribute("sandbox", "")
            handle = element.element_handle()
            assert handle is not None
            frame = handle.content_frame()
            assert frame is not None
            frame.wait_for_url(re.compile("preview=1"))
            if text:
                expect(page.frame_locator(f"iframe[title$='{name}']").get_by_text(text)).to_be_visible()
            assert frame.evaluate("self.origin") == "null"
            assert frame.evaluate("document.body?.dataset.ran ?? null") is None
            assert page.title().startswith("Report."), "the frame has reached the page around it"
            keep_screenshot(page, f"files-hostile-{name.partition('.')[2]}")
    assert elsewhere.heard == []


def test_files_are_listed_with_size_and_hash_and_shown_by_their_kind(studio: Open, run_id: str) -> None:
    with studio(f"/studio/runs/{run_id}/files") as page:
        expect(page.get_by_role("heading", name=re.compile("Deliverables"))).to_be_visible()
        page.get_by_role("button", name=re.compile("report.md")).click()
        preview = page.get_by_role("region", name="Preview of deliverables/report.md")
        expect(preview.get_by_role("heading", name="Report", exact=True)).to_be_visible()
        expect(preview.get_by_text("SHA-256")).to_be_visible()
        expect(preview.locator("script")).to_have_count(0)
        page.get_by_role("button", name=re.compile("table.csv")).click()
        expect(page.get_by_role("cell", name="well, <b>yes</b>")).to_be_visible()
        keep_screenshot(page, "files-table")
        page.get_by_role("button", name=re.compile("data.json")).click()
        expect(page.get_by_text("42")).to_be_visible()
        page.get_by_role("button", name=re.compile("archive.zip")).click()
        expect(page.get_by_text("can only be downloaded")).to_be_visible()
        with page.expect_download() as saving:
            page.get_by_role("link", name="Download deliverables/archive.zip").click()
        assert saving.value.suggested_filename == "archive.zip"


def test_the_chosen_file_is_in_the_address(studio: Open, run_id: str) -> None:
    with studio(f"/studio/runs/{run_id}/files?file=deliverables/data.json") as page:
        expect(page.get_by_role("region", name="Preview of deliverables/data.json")).to_be_visible()


def test_files_at_phone_width_in_chinese(studio: Open, run_id: str) -> None:
    path = f"/studio/runs/{run_id}/files?file=deliverables/report.md"
    with studio(path, viewport={"width": 360, "height": 780}, locale="zh-CN", color_scheme="dark") as page:
        expect(page.get_by_role("heading", name=re.compile("交付物"))).to_be_visible()
        expect(page.get_by_role("heading", name="Report", exact=True)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        keep_screenshot(page, "files-360-zh-dark")
