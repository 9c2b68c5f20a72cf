"""Every way to decide on a request, by clicking."""

import json
from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.asking import asking, begin, card_of, decision_in, events_of
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open

INBOX = "/studio/approvals"
PATCH = """*** Begin Patch
*** Update File: notes.txt
@@
-before
+after <img src=x onerror=alert(1)>
*** End Patch
"""


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with asking(tmp_path_factory.mktemp("approvals")) as found:
        yield found


def test_a_card_says_what_would_be_done_and_approving_it_does_it(studio: Open, service: Service) -> None:
    run_id = begin(service, ("shell_command", {"command": "echo one two", "justification": "to say it"}), task="Talk.")
    with studio(INBOX) as page:
        card = card_of(page, "echo one two")
        expect(card.get_by_role("heading", name="shell_command wants to run")).to_be_visible()
        for told in ("safety.mode: ask", "to say it", "bubblewrap", "Low risk", "Expires in", "Talk."):
            expect(card.get_by_text(told).first).to_be_visible()
        expect(card.get_by_text("writes only in the workspace")).to_be_visible()
        keep_screenshot(page, "approvals-one")
        card.get_by_role("button", name="Approve once").click()
        expect(card_of(page, "echo one two").get_by_text("by owner")).to_be_visible()
        expect(card.get_by_role("button", name="Approve once")).to_have_count(0)
    events = events_of(service, run_id)
    assert decision_in(events)["decision"] == "approved"
    assert "one two" in events[-1]["payload"]["final_output"]


def test_the_reason_of_a_rejection_reaches_the_model_and_stays(studio: Open, service: Service) -> None:
    run_id = begin(service, ("shell_command", {"command": "echo three"}))
    with studio(INBOX) as page:
        card = card_of(page, "echo three")
        card.get_by_label("Reason").fill("Use the number four instead.")
        card.get_by_role("button", name="Reject", exact=True).click()
        settled = card_of(page, "echo three")
        expect(settled.get_by_text("Rejected")).to_be_visible()
        expect(settled.get_by_text("Use the number four instead.")).to_be_visible()
        keep_screenshot(page, "approvals-rejected")
        settled.get_by_role("link", name="Open the run").click()
        expect(page.get_by_role("main").get_by_text("Use the number four instead.").first).to_be_visible()
        keep_screenshot(page, "approvals-rejected-run")
    events = events_of(service, run_id)
    assert decision_in(events) | {"decision": "denied", "note": "Use the number four instead."} == decision_in(events)
    assert "Use the number four instead." in events[-1]["payload"]["final_output"]


def test_rejecting_may_stop_the_run(studio: Open, service: Service) -> None:
    run_id = begin(service, ("shell_command", {"command": "echo five"}))
    with studio(INBOX) as page:
        card_of(page, "echo five").get_by_role("button", name="Reject and stop the run").click()
        expect(card_of(page, "echo five").get_by_text("Rejected, and the run stopped")).to_be_visible()
    assert events_of(service, run_id)[-1]["type"] in ("run_failed", "run_cancelled")


def test_edited_arguments_are_checked_compared_and_used(studio: Open, service: Service) -> None:
    run_id = begin(service, ("shell_command", {"command": "echo six"}))
    with studio(INBOX) as page:
        card = card_of(page, "echo six")
        card.get_by_role("button", name="Edit arguments").click()
        editor = card.get_by_label("Arguments as JSON")
        expect(editor).to_be_focused()
        approve = card.get_by_role("button", name="Approve with these changes")
        expect(approve).to_be_disabled()
        editor.fill('{\n  "command": \n}')
        expect(card.get_by_text("Line 3, column 1")).to_be_visible()
        editor.fill("[1]")
        expect(card.get_by_text("have to be an object")).to_be_visible()
        expect(approve).to_be_disabled()
        editor.fill(json.dumps({"command": "echo seven"}))
        changes = card.get_by_role("region", name="Asked and edited")
        expect(changes.get_by_text("echo six")).to_be_visible()
        expect(changes.get_by_text("echo seven")).to_be_visible()
        keep_screenshot(page, "approvals-edited")
        approve.click()
        expect(card_of(page, "echo six").get_by_text("with changed arguments")).to_be_visible()
    events = events_of(service, run_id)
    assert decision_in(events)["arguments_blob"]
    assert "seven" in events[-1]["payload"]["final_output"]


def test_a_rule_is_shown_before_it_is_added_and_lets_the_next_call_pass(studio: Open, service: Service) -> None:
    call = ("shell_command", {"command": "echo eight"})
    run_id = begin(service, call, call)
    with studio(INBOX) as page:
        card = card_of(page, "echo eight")
        card.get_by_role("button", name="Approve and add a rule").click()
        offer = card.get_by_role("region", name="The rule that would be added").first
        expect(offer.get_by_text("command: echo eight $")).to_be_visible()
        offer.get_by_label("always").check()
        expect(offer.get_by_role("button", name="Allow `echo eight` in every run")).to_be_visible()
        expect(offer.get_by_text("rules.yaml")).to_be_visible()
        offer.get_by_label("in this run").check()
        keep_screenshot(page, "approvals-rule")
        offer.get_by_role("button", name="Allow `echo eight` in this run").click()
        expect(card_of(page, "echo eight").get_by_text("and a rule was added")).to_be_visible()
    events = events_of(service, run_id)
    assert decision_in(events)["rule"]["scope"] == "run"
    assert len([event for event in events if event["type"] == "tool_call_finished"]) == 2


def test_a_change_of_a_file_is_shown_as_a_diff_and_hostile_text_stays_text(studio: Open, service: Service) -> None:
    (service.skills.parent / "notes.txt").write_text("before\nlast\n")
    run_id = begin(service, ("apply_patch", {"input": PATCH}))
    with studio(INBOX) as page:
        card = card_of(page, "notes.txt")
        changes = card.get_by_role("region", name="Changes")
        expect(changes.get_by_text("after <img src=x onerror=alert(1)>")).to_be_visible()
        expect(changes.locator("img")).to_have_count(0)
        card.get_by_role("button", name="Hide the changes").click()
        expect(changes).to_have_count(0)
        card.get_by_role("button", name="Approve once").click()
        expect(card_of(page, "notes.txt").get_by_text("Approved")).to_be_visible()
    events_of(service, run_id)
    assert (service.skills.parent / "notes.txt").read_text().startswith("after <img")


def test_no_rule_is_offered_for_what_is_dangerous_and_the_card_says_why(studio: Open, service: Service) -> None:
    run_id = begin(service, ("shell_command", {"command": "rm -rf /tmp/nothing-of-the-kind"}))
    with studio(INBOX) as page:
        card = card_of(page, "rm -rf")
        expect(card.get_by_text("High risk", exact=True)).to_be_visible()
        expect(card.get_by_text("No rule can be offered")).to_be_visible()
        expect(card.get_by_role("button", name="Approve and add a rule")).to_have_count(0)
        card.get_by_role("button", name="Reject", exact=True).click()
        expect(card_of(page, "rm -rf").get_by_text("Rejected")).to_be_visible()
    events_of(service, run_id)
