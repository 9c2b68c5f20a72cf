"""Pictures and documents that a run made are looked at without letting them do anything."""

import re
import struct
import zlib
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Frame, expect

from skills_runtime.events.payloads import RunCompleted
from skills_runtime.runs import finish_run
from tests.e2e.service.servers import Service, serving
from tests.e2e.studio.browsers import complaining, keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.long_runs import open_run
from tests.e2e.studio.looking import HOSTILE_PAGE, Listener, listening

RUN = "run_pictures"
SIZE = (240, 160)


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
    wanted = f"app.launchURL('{away}/script', true); this.submitForm('{away}/form');"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction 6 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> /AA << /O 7 0 R >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /S /JavaScript /JS (%s) >>" % wanted.replace("(", "\\(").replace(")", "\\)").encode(),
        b"<< /S /URI /URI (%s/uri) >>" % away.encode(),
    )
    body, places = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % count + table + trailer


@pytest.fixture(scope="module")
def away() -> Generator[Listener]:
    with listening() as elsewhere:
        yield elsewhere


@pytest.fixture(scope="module")
def service(built: None, away: Listener, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("pictures")
    (home / "skills").mkdir()
    run = open_run(home, RUN)
    made = {
        "slope.png": _picture(),
        "fake.png": HOSTILE_PAGE.replace("AWAY", away.url).encode(),
        "report.pdf": _document(away.url),
    }
    for name, content in made.items():
        (run.paths.deliverables / name).write_bytes(content)
    finish_run(run, RunCompleted(final_output="Here they are."))
    run.close()
    with serving(home, home / "skills") as running:
        yield running


def _is_viewer(frame: Frame) -> bool:
    """Whether it is where the browser's own viewer shows a document: inside a frame of ours."""
    above = frame.parent_frame
    return above is not None and above.parent_frame is not None


def _file(name: str) -> str:
    return f"/studio/runs/{RUN}/files?file=deliverables/{name}"


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
    address = f"/api/v1/runs/{RUN}/artifacts/deliverables/fake.png?preview=1"
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
    with complaining(browser, service, f"/studio/runs/{RUN}/files") as page:
        with page.expect_event("framenavigated", _is_viewer):
            page.get_by_role("button", name=re.compile("report.pdf")).click()
        frame = page.locator("iframe[title$='report.pdf']")
        expect(frame).to_be_visible()
        expect(frame).to_have_attribute("src", re.compile("^data:application/pdf;base64,"))
        expect(frame).to_have_attribute("referrerpolicy", "no-referrer")
        expect(page.get_by_text("Shown by the viewer of the browser.")).to_be_visible()
        assert "stolen" not in page.title()
        assert page.url.endswith("deliverables%2Freport.pdf")
        keep_screenshot(page, "files-document")
    assert away.heard == []
