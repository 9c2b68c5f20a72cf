"""The bars of a run, and what is told about the one that is selected."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.looking import EVERYTHING, SLOW, done, looking


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with looking(tmp_path_factory.mktemp("timeline")) as found:
        yield found


@pytest.fixture(scope="module")
def slow(service: Service) -> str:
    return done(service, *SLOW, task="Take your time.")


@pytest.fixture(scope="module")
def rich(service: Service) -> str:
    return done(service, *EVERYTHING)


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
        place = page.get_by_role("button", name=re.compile("^shell_command: .*, done$")).bounding_box()
        assert name
        assert place
        assert name["y"] < place["y"]
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
        page.get_by_role("button", name=re.compile("Load the whole output")).click()
        expect(page.get_by_role("region", name="stdout")).to_contain_text("onerror=alert(1)")


def test_details_tell_of_the_fence_and_the_exit_code(studio: Open, rich: str) -> None:
    with studio(f"/studio/runs/{rich}/timeline") as page:
        page.get_by_role("button", name=re.compile("^shell_command: .*, failed$")).click()
        page.get_by_role("tab", name="Output").click()
        expect(page.get_by_text("Exit code 3")).to_be_visible()
        expect(page.get_by_role("region", name="stderr")).to_contain_text("to stderr")
        page.get_by_role("tab", name="Sandbox").click()
        expect(page.get_by_text("bubblewrap").first).to_be_visible()
        expect(page.get_by_text("New rights")).to_be_visible()
        page.get_by_role("tab", name="Raw").click()
        expect(page.get_by_text('"tool_call_started"')).to_be_visible()
        expect(page.get_by_role("tab", name="Policy")).to_have_count(0)
