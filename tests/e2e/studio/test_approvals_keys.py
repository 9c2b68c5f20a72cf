"""Deciding with nothing but the keyboard, and without deciding by accident."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.asking import asking, begin, card_of, decision_in, events_of
from tests.e2e.studio.conftest import Open

INBOX = "/studio/approvals"


@pytest.fixture
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with asking(tmp_path_factory.mktemp("keys")) as found:
        yield found


def begin_in_turn(page: Page, service: Service, *commands: str) -> list[str]:
    """Runs that ask one after another, so that their order is known."""
    begun: list[str] = []
    for command in commands:
        begun.append(begin(service, ("shell_command", {"command": command})))
        expect(card_of(page, command)).to_be_visible()
    return begun


def test_a_request_is_decided_with_keys_alone_and_the_next_gets_the_focus(studio: Open, service: Service) -> None:
    with studio(INBOX) as page:
        first, second, third = begin_in_turn(page, service, "echo a1", "echo a2", "echo a3")
        page.keyboard.press("a")  # nobody has looked yet: it only goes to the first
        expect(card_of(page, "echo a1")).to_be_focused()
        page.keyboard.press("j")
        expect(card_of(page, "echo a2")).to_be_focused()
        page.keyboard.press("k")
        expect(card_of(page, "echo a1")).to_be_focused()
        page.keyboard.press("a")
        expect(card_of(page, "echo a2")).to_be_focused()
        page.keyboard.press("r")
        page.keyboard.type("a reason with jk and a")
        page.keyboard.press("Control+Enter")
        expect(card_of(page, "echo a3")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("e")
        expect(page.get_by_label("Arguments as JSON")).to_be_focused()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text('{"command": "echo a4"}')
        page.keyboard.press("Tab")
        button = page.get_by_role("button", name="Approve with these changes")
        button.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("Nothing waits for you").first).to_be_focused()
    assert decision_in(events_of(service, first))["decision"] == "approved"
    assert decision_in(events_of(service, second))["note"] == "a reason with jk and a"
    assert decision_in(events_of(service, third))["arguments_blob"]


def test_keys_decide_nothing_while_a_reason_is_typed_or_when_they_are_off(studio: Open, service: Service) -> None:
    with studio(INBOX) as page:
        [run_id] = begin_in_turn(page, service, "echo b1")
        card = card_of(page, "echo b1")
        card.get_by_label("Reason").focus()
        page.keyboard.type("aaa rrr eee ddd jjj kkk")
        expect(card.get_by_label("Reason")).to_have_value("aaa rrr eee ddd jjj kkk")
        expect(card.get_by_label("Reason")).to_be_focused()
        expect(card.get_by_role("button", name="Approve once")).to_be_visible()
        page.get_by_role("button", name="Keys").click()
        expect(page.get_by_role("dialog").get_by_text("Reject: write the reason")).to_be_visible()
        page.get_by_label("Use single keys").uncheck()
        page.keyboard.press("Escape")
        card.focus()
        page.keyboard.press("a")
        page.keyboard.press("e")
        expect(card).to_be_focused()
        with service.client(token=True) as client:
            [waiting] = client.get(f"/api/v1/runs/{run_id}/approvals").json()["approvals"]
        assert waiting["decided"] is None


def test_one_key_is_not_enough_for_what_is_dangerous(studio: Open, service: Service) -> None:
    with studio(INBOX) as page:
        [run_id] = begin_in_turn(page, service, "rm -rf /tmp/nothing-of-the-kind")
        card = card_of(page, "rm -rf")
        expect(card.get_by_role("button", name="Approve once")).not_to_be_focused()
        page.keyboard.press("j")
        expect(card).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("a")
        approve = card.get_by_role("button", name="Approve once")
        expect(approve).to_be_focused()
        with service.client(token=True) as client:
            [waiting] = client.get(f"/api/v1/runs/{run_id}/approvals").json()["approvals"]
        assert waiting["decided"] is None
        page.keyboard.press("Enter")
        expect(card_of(page, "rm -rf").get_by_text("Approved")).to_be_visible()
    events_of(service, run_id)


def test_what_is_typed_into_a_card_that_vanishes_decides_nothing_else(studio: Open, service: Service) -> None:
    with studio(INBOX) as page:
        first, second = begin_in_turn(page, service, "echo c1", "echo c2")
        card_of(page, "echo c1").get_by_label("Reason").focus()
        with service.client(token=True) as client:
            [asked] = client.get(f"/api/v1/runs/{first}/approvals").json()["approvals"]
            body = {"decision": "denied", "approval_key": asked["approval_key"]}
            assert client.post(f"/api/v1/approvals/{asked['approval_id']}", json=body).status_code == 202
            expect(card_of(page, "echo c2")).to_be_focused()
            page.keyboard.type("a a a")
            expect(card_of(page, "echo c2")).to_be_focused()
            [waiting] = client.get(f"/api/v1/runs/{second}/approvals").json()["approvals"]
        assert waiting["decided"] is None


def test_a_request_has_an_address_of_its_own(studio: Open, service: Service) -> None:
    with studio(INBOX) as page:
        begin_in_turn(page, service, "echo d1", "echo d2")
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(card_of(page, "echo d2")).to_be_focused()
        page.reload()
        expect(card_of(page, "echo d2")).to_be_focused()
