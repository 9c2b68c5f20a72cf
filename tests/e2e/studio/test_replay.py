"""A run as it stood at any of its events."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.looking import SLOW, done, looking
from tests.e2e.studio.talking import log_of


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with looking(tmp_path_factory.mktemp("replay")) as found:
        yield found


@pytest.fixture(scope="module")
def run_id(service: Service) -> str:
    return done(service, *SLOW, task="Take your time.")


def test_home_and_end_show_the_beginning_and_the_end(studio: Open, service: Service, run_id: str) -> None:
    count = len(log_of(service, run_id))
    with studio(f"/studio/runs/{run_id}?at={count - 1}") as page:
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


def test_it_plays_to_the_end_and_stops(studio: Open, service: Service, run_id: str) -> None:
    count = len(log_of(service, run_id))
    with studio(f"/studio/runs/{run_id}?at=0", reduced_motion="no-preference") as page:
        page.get_by_label("Speed").select_option("16")
        page.get_by_role("button", name="Play", exact=True).click()
        expect(page.get_by_text(f"Event {count} of {count}")).to_be_visible()
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_the_position_can_be_left_where_it_is(studio: Open, service: Service, run_id: str) -> None:
    with studio(f"/studio/runs/{run_id}?at=0") as page:
        page.get_by_label("Speed").select_option("1")
        page.get_by_role("button", name="Play", exact=True).click()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        page.get_by_role("button", name="To the end").click()
        expect(page.get_by_text("Completed", exact=True).first).to_be_visible()
        page.get_by_role("button", name="To the start").click()
        expect(page.get_by_text("Pending", exact=True)).to_be_visible()


def test_the_timeline_shows_only_what_had_happened(studio: Open, service: Service, run_id: str) -> None:
    started = next(one["seq"] for one in log_of(service, run_id) if one["type"] == "tool_call_started")
    with studio(f"/studio/runs/{run_id}/timeline?at={started - 1}") as page:
        expect(page.get_by_role("button", name=re.compile("^Model talker"))).to_have_count(1)
        expect(page.get_by_role("button", name=re.compile("^shell_command"))).to_have_count(0)
