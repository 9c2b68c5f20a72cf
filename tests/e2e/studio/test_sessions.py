"""Sessions as threads: what was said, what came of it, and how to go on."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.asking import asking, begin, card_of, events_of
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open

SESSIONS = "/studio/sessions"


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with asking(tmp_path_factory.mktemp("sessions")) as found:
        yield found


def go_on(page: Page, message: str) -> None:
    page.get_by_label("Go on with this session").fill(message)
    page.get_by_role("button", name="Send").click()


def test_a_session_is_opened_used_and_deleted(studio: Open, service: Service) -> None:
    with studio(SESSIONS) as page:
        page.get_by_role("button", name="New session").click()
        page.get_by_role("dialog").get_by_label("Name").fill("Gardening <b>now</b>")
        page.get_by_role("dialog").get_by_role("button", name="Open", exact=True).click()
        expect(page.get_by_role("heading", name="Gardening <b>now</b>")).to_be_visible()
        expect(page.get_by_text("Nothing was said here yet")).to_be_visible()
        go_on(page, "Say hello.")
        thread = page.get_by_role("list", name="Conversation")
        expect(thread.get_by_text("Say hello.")).to_be_visible()
        expect(thread.get_by_text("Completed")).to_be_visible()
        expect(thread.get_by_text("Done.")).to_be_visible()
        expect(page.get_by_label("Go on with this session")).to_have_value("")
        page.get_by_role("link", name="All sessions").click()
        expect(page.get_by_role("link", name="Gardening <b>now</b>")).to_be_visible()
        page.get_by_role("link", name="Gardening <b>now</b>").click()
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("button", name="Keep it")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Delete")).to_be_focused()
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Delete the session").click()
        expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="Gardening <b>now</b>")).to_have_count(0)


def test_the_next_run_knows_what_was_said_and_its_request_is_decided_in_the_thread(
    studio: Open, service: Service
) -> None:
    first = begin(service, task="Remember the word heliotrope.")
    events_of(service, first)
    with studio(SESSIONS) as page:
        page.get_by_role("link", name="Remember the word heliotrope.").click()
        go_on(page, 'Now use it. CALLS [["shell_command", {"command": "echo heliotrope"}]]')
        thread = page.get_by_role("list", name="Conversation")
        expect(thread.get_by_text("Waiting for you")).to_be_visible()
        keep_screenshot(page, "session-waiting")
        card_of(page, "echo heliotrope").get_by_role("button", name="Approve once").click()
        expect(thread.get_by_text("Completed")).to_have_count(2)
        keep_screenshot(page, "session")
        thread.get_by_role("link", name="Open the run").last.click()
        expect(page).not_to_have_url(f"{service.url}/studio/runs/{first}")
        second = page.url.split("/runs/")[1].split("/")[0].split("?")[0]
    with service.client(token=True) as client:
        runs = [client.get(f"/api/v1/runs/{one}").json() for one in (first, second)]
    assert runs[0]["session_id"] == runs[1]["session_id"]


@pytest.mark.parametrize(("language", "theme", "title"), [("en-GB", "light", "Sessions"), ("zh-CN", "dark", "会话")])
def test_the_list_fits_a_phone_in_both_languages(
    studio: Open, service: Service, language: str, theme: str, title: str
) -> None:
    begin(service, task=f"{language} " + "with a name that is much longer than any window is wide " * 4)
    size = {"width": 360, "height": 740}
    with studio(SESSIONS, locale=language, color_scheme=theme, viewport=size) as page:
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        page.get_by_role("link", name=f"{language} with a name").wait_for()
        keep_screenshot(page, f"sessions-{language}-360-{theme}")
        page.get_by_role("link", name=f"{language} with a name").click()
        expect(page.get_by_role("textbox")).to_be_visible()
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, "the page is wider than the window"
        keep_screenshot(page, f"session-{language}-360-{theme}")
