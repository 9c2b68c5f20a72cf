"""Requests that somebody else decides too: one wins, the others are told."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.asking import asking, begin, card_of, decision_in, events_of
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open

INBOX = "/studio/approvals"


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with asking(tmp_path_factory.mktemp("shared")) as found:
        yield found


def freeze(page: Page, service: Service) -> None:
    """Let a page go on seeing what waits now, whatever happens."""
    with service.client(token=True) as client:
        seen = client.get("/api/v1/approvals").json()

    def answer(route: Route) -> None:
        if route.request.method == "GET":
            route.fulfill(json=seen)
        else:
            route.continue_()

    page.route("**/api/v1/approvals", answer)


def test_the_other_tab_is_told_at_once(studio: Open, service: Service) -> None:
    run_id = begin(service, ("shell_command", {"command": "echo first"}))
    with studio(INBOX) as page:
        other = page.context.new_page()
        other.goto(page.url)
        expect(card_of(other, "echo first").get_by_role("button", name="Approve once")).to_be_visible()
        card_of(page, "echo first").get_by_role("button", name="Approve once").click()
        expect(other.get_by_text("A request of shell_command was decided elsewhere").first).to_be_visible()
        told = card_of(other, "echo first")
        expect(told.get_by_text("Approved")).to_be_visible()
        expect(told.get_by_text("by owner")).to_be_visible()
        expect(told.get_by_role("button")).to_have_count(0)
        expect(page.get_by_text("decided elsewhere")).to_have_count(0)
        keep_screenshot(other, "approvals-other-tab")
    assert decision_in(events_of(service, run_id))["decision"] == "approved"


def test_of_two_tabs_that_decide_one_wins_and_the_other_is_told_who_did(studio: Open, service: Service) -> None:
    run_id = begin(service, ("shell_command", {"command": "echo second"}))
    with studio(INBOX) as page:
        other = page.context.new_page()
        other.goto(page.url)
        late = card_of(other, "echo second").get_by_role("button", name="Reject", exact=True)
        expect(late).to_be_visible()
        freeze(other, service)
        card_of(page, "echo second").get_by_role("button", name="Approve once").click()
        events = events_of(service, run_id)
        late.click()
        told = card_of(other, "echo second")
        expect(told.get_by_text("Your decision came too late")).to_be_visible()
        expect(told.get_by_text("Approved")).to_be_visible()
        expect(told.get_by_text("by owner")).to_be_visible()
        expect(told.locator("time")).to_be_visible()
        expect(late).to_have_count(0)
        keep_screenshot(other, "approvals-too-late")
    assert decision_in(events)["decision"] == "approved"


def test_a_decision_made_in_a_terminal_is_stale_here(studio: Open, service: Service) -> None:
    run_id = begin(service, ("shell_command", {"command": "echo third"}))
    with studio(INBOX) as page:
        approve = card_of(page, "echo third").get_by_role("button", name="Approve once")
        expect(approve).to_be_visible()
        freeze(page, service)
        with service.client(token=True) as client:
            [asked] = client.get(f"/api/v1/runs/{run_id}/approvals").json()["approvals"]
            body = {"decision": "denied", "approval_key": asked["approval_key"], "note": "no, said the terminal"}
            assert client.post(f"/api/v1/approvals/{asked['approval_id']}", json=body).status_code == 202
        approve.click()
        told = card_of(page, "echo third")
        expect(told.get_by_text("Your decision came too late")).to_be_visible()
        expect(told.get_by_text("Rejected")).to_be_visible()
        expect(told.get_by_text("no, said the terminal")).to_be_visible()
    assert decision_in(events_of(service, run_id))["decision"] == "denied"


def test_new_requests_are_seen_on_every_page_and_announced(studio: Open, service: Service) -> None:
    with studio(INBOX) as page:
        expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
        expect(page).to_have_title("Approvals · Studio")
        keep_screenshot(page, "approvals-none")
        page.goto(f"{service.url}/studio/sessions")
        expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()
        run_id = begin(service, ("shell_command", {"command": "echo fourth"}))
        expect(page.get_by_role("link", name="1 waiting for you")).to_be_visible()
        expect(page).to_have_title("(1) Sessions · Studio")
        expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("waiting"))
        expect(page.get_by_role("status").filter(has_text="An approval waits for you")).to_have_count(1)
        page.get_by_role("link", name="1 waiting for you").click()
        card_of(page, "echo fourth").get_by_role("button", name="Approve once").click()
        expect(page).to_have_title("Approvals · Studio")
    events_of(service, run_id)
