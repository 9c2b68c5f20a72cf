"""Requests for approval: every way to decide, by mouse and keys, who else decides, and what is told afterwards."""

import json
import re
from collections.abc import Generator
from itertools import product

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.browsers import DESK, PHONE, choose, keep_screenshot
from tests.e2e.studio.conftest import Open
from tests.e2e.studio.services import HARMLESS, card_of, decision_in, events_of, scripted, start_calls, wait_for_end

INBOX = "/studio/approvals"
PATCH = """*** Begin Patch
*** Update File: notes.txt
@@
-before
+after <img src=x onerror=alert(1)>
*** End Patch
"""
WORDS = {
    "en-GB": ("Approvals", "Approve once", "Reject", "Reject and stop the run", "Rejected, and the run stopped"),
    "zh-CN": ("审批", "仅批准这一次", "拒绝", "拒绝并停止运行", "已拒绝，运行已停止"),
}
LONG = "echo " + "a-very-long-word-without-any-space-" * 12


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("approvals")
    home.joinpath(".env").write_text("TOKEN=1\n")
    home.joinpath(".mcp.json").write_text("{}")
    with scripted(home, mode="ask") as running:
        yield running


@pytest.fixture(autouse=True)
def empty_inbox(service: Service) -> Generator[None]:
    """Each test leaves an empty inbox to the next one."""
    yield
    with service.client(token=True) as client:
        for run in client.get("/api/v1/runs", params={"status": "waiting_for_user"}).json()["runs"]:
            client.post(f"/api/v1/runs/{run['run_id']}/cancel", json={})
            wait_for_end(service, run["run_id"])


def test_a_card_says_what_would_be_done_and_approving_it_does_it(studio: Open, service: Service) -> None:
    run_id = start_calls(
        service, ("shell_command", {"command": "echo one two", "justification": "to say it"}), task="Talk."
    )
    with studio(INBOX) as page:
        card = card_of(page, "echo one two")
        expect(card.get_by_role("heading", name="shell_command wants to run")).to_be_visible()
        for text in ("safety.mode: ask", "to say it", "bubblewrap", "Low risk", "Expires in", "Talk."):
            expect(card.get_by_text(text).first).to_be_visible()
        expect(card.get_by_text("writes only in the workspace")).to_be_visible()
        keep_screenshot(page, "approvals-one")
        card.get_by_role("button", name="Approve once").click()
        expect(card_of(page, "echo one two").get_by_text("by owner")).to_be_visible()
        expect(card.get_by_role("button", name="Approve once")).to_have_count(0)
    events = events_of(service, run_id)
    assert decision_in(events)["decision"] == "approved"
    assert "one two" in events[-1]["payload"]["final_output"]


def test_the_reason_of_a_rejection_reaches_the_model_and_stays(studio: Open, service: Service) -> None:
    run_id = start_calls(service, ("shell_command", {"command": "echo three"}))
    with studio(INBOX) as page:
        card = card_of(page, "echo three")
        expect(card.get_by_label("Reason")).to_have_count(0)
        card.get_by_role("button", name="Reject", exact=True).click()
        expect(card.get_by_label("Reason")).to_be_focused()
        card.get_by_label("Reason").fill("Use the number four instead.")
        card.get_by_role("button", name="Reject the call").click()
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
    run_id = start_calls(service, ("shell_command", {"command": "echo five"}))
    with studio(INBOX) as page:
        card_of(page, "echo five").get_by_role("button", name="Reject", exact=True).click()
        card_of(page, "echo five").get_by_role("button", name="Reject and stop the run").click()
        expect(card_of(page, "echo five").get_by_text("Rejected, and the run stopped")).to_be_visible()
    assert events_of(service, run_id)[-1]["type"] in ("run_failed", "run_cancelled")


def test_edited_arguments_are_checked_compared_and_used(studio: Open, service: Service) -> None:
    run_id = start_calls(service, ("shell_command", {"command": "echo six"}))
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
        expect(card.get_by_text("Arguments must be an object")).to_be_visible()
        expect(approve).to_be_disabled()
        editor.fill(json.dumps({"command": "echo seven"}))
        changes = card.get_by_role("region", name="Requested and edited")
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
    run_id = start_calls(service, call, call)
    with studio(INBOX) as page:
        card = card_of(page, "echo eight")
        card.get_by_role("button", name="Always").click()
        offer = card.get_by_role("region", name="Rule to add").first
        expect(offer.get_by_role("button", name="Allow `echo eight` in every run")).to_be_visible()
        expect(offer.get_by_text("folder:")).to_have_count(0)
        card.get_by_role("button", name="This folder").click()
        expect(offer.get_by_text("command: echo eight $")).to_be_visible()
        expect(offer.get_by_text("folder:")).to_be_visible()
        expect(offer.get_by_text("rules.yaml")).to_be_visible()
        keep_screenshot(page, "approvals-rule")
        offer.get_by_role("button", name="Allow `echo eight` in this folder").click()
        expect(card_of(page, "echo eight").get_by_text("and a rule was added")).to_be_visible()
    events = events_of(service, run_id)
    assert decision_in(events)["rule"]["scope"] == "folder"
    assert len([event for event in events if event["type"] == "tool_call_finished"]) == 2


def test_an_approval_for_the_session_lets_the_same_call_pass(studio: Open, service: Service) -> None:
    call = ("shell_command", {"command": "echo nine"})
    run_id = start_calls(service, call, call)
    with studio(INBOX) as page:
        card_of(page, "echo nine").get_by_role("button", name="This session").click()
        expect(card_of(page, "echo nine").get_by_text("Approved for this session")).to_be_visible()
    events = events_of(service, run_id)
    assert len([event for event in events if event["type"] == "approval_requested"]) == 1
    assert len([event for event in events if event["type"] == "tool_call_finished"]) == 2


def test_a_change_of_a_file_is_shown_as_a_diff_and_hostile_text_stays_text(studio: Open, service: Service) -> None:
    (service.skills.parent / "notes.txt").write_text("before\nlast\n")
    run_id = start_calls(service, ("apply_patch", {"input": PATCH}))
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
    run_id = start_calls(service, ("shell_command", {"command": "rm -rf /tmp/nothing-of-the-kind"}))
    with studio(INBOX) as page:
        card = card_of(page, "rm -rf")
        expect(card.get_by_text("High risk", exact=True)).to_be_visible()
        expect(card.get_by_text("No rule available for this call")).to_be_visible()
        expect(card.get_by_role("button", name="Always")).to_have_count(0)
        card.get_by_role("button", name="Reject", exact=True).click()
        card.get_by_role("button", name="Reject the call").click()
        expect(card_of(page, "rm -rf").get_by_text("Rejected")).to_be_visible()
    events_of(service, run_id)


def begin_in_turn(page: Page, service: Service, *commands: str) -> list[str]:
    """Runs that ask one after another, so that their order is known."""
    run_ids: list[str] = []
    for command in commands:
        run_ids.append(start_calls(service, ("shell_command", {"command": command})))
        expect(card_of(page, command)).to_be_visible()
    return run_ids


def test_a_request_is_decided_with_keys_alone_and_the_next_gets_the_focus(studio: Open, service: Service) -> None:
    with studio(INBOX) as page:
        first, second, third = begin_in_turn(page, service, "echo a1", "echo a2", "echo a3")
        page.keyboard.press("a")  # no card has the focus yet: the key only moves there
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
        expect(page.get_by_text("No pending requests").first).to_be_focused()
    assert decision_in(events_of(service, first))["decision"] == "approved"
    assert decision_in(events_of(service, second))["note"] == "a reason with jk and a"
    assert decision_in(events_of(service, third))["arguments_blob"]


def test_keys_decide_nothing_while_a_reason_is_typed_or_when_they_are_off(studio: Open, service: Service) -> None:
    with studio(INBOX) as page:
        [run_id] = begin_in_turn(page, service, "echo b1")
        card = card_of(page, "echo b1")
        card.get_by_role("button", name="Reject", exact=True).click()
        page.keyboard.type("aaa rrr eee ddd jjj kkk")
        expect(card.get_by_label("Reason")).to_have_value("aaa rrr eee ddd jjj kkk")
        expect(card.get_by_label("Reason")).to_be_focused()
        expect(card.get_by_role("button", name="Approve once")).to_be_visible()
        page.get_by_role("button", name="Keys").click()
        expect(page.get_by_role("dialog").get_by_text("Reject with a reason")).to_be_visible()
        page.get_by_label("Use single keys").uncheck()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Keys")).to_be_focused()
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
        card_of(page, "echo c1").get_by_role("button", name="Reject", exact=True).click()
        with service.client(token=True) as client:
            [approval] = client.get(f"/api/v1/runs/{first}/approvals").json()["approvals"]
            body = {"decision": "denied", "approval_key": approval["approval_key"]}
            assert client.post(f"/api/v1/approvals/{approval['approval_id']}", json=body).status_code == 202
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


@pytest.mark.parametrize("language", WORDS)
def test_the_inbox_fits_and_is_translated(studio: Open, service: Service, language: str) -> None:
    title, approve, reject, stop, stopped = WORDS[language]
    start_calls(service, ("shell_command", {"command": LONG, "justification": "\x1b[31mred\u202e text <b>bold</b>"}))
    start_calls(service, ("file_write", {"path": "notes.txt", "content": "one\n" * 8}), task="写下八行。")
    with studio(INBOX, locale=language) as page:
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        expect(page.get_by_role("button", name=approve)).to_have_count(2)
        for button in page.get_by_role("button", name=reject, exact=True).all():
            button.click()
        expect(page.get_by_role("button", name=stop)).to_have_count(2)
        expect(page.get_by_text("‹U+202E›").first).to_be_visible()
        for size, theme in product((PHONE, DESK), ("light", "dark")):
            page.set_viewport_size(size)
            choose(page, theme=theme)
            wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wider <= 0, "the page is wider than the window"
            keep_screenshot(page, f"approvals-{language}-{size['width']}-{theme}")
        card = page.get_by_role("article").filter(has_text="a-very-long-word")
        card.get_by_role("button", name=stop).click()
        expect(card.get_by_text(stopped)).to_be_visible()


def freeze(page: Page, service: Service) -> None:
    """Freeze the list of approvals that a page receives."""
    with service.client(token=True) as client:
        approvals = client.get("/api/v1/approvals").json()

    def answer(route: Route) -> None:
        if route.request.method == "GET":
            route.fulfill(json=approvals)
        else:
            route.continue_()

    page.route("**/api/v1/approvals", answer)


def test_the_other_tab_is_told_at_once(studio: Open, service: Service) -> None:
    run_id = start_calls(service, ("shell_command", {"command": "echo first"}))
    with studio(INBOX) as page:
        other = page.context.new_page()
        other.goto(page.url)
        expect(card_of(other, "echo first").get_by_role("button", name="Approve once")).to_be_visible()
        card_of(page, "echo first").get_by_role("button", name="Approve once").click()
        expect(other.get_by_text("A request from shell_command was decided elsewhere").first).to_be_visible()
        card = card_of(other, "echo first")
        expect(card.get_by_text("Approved")).to_be_visible()
        expect(card.get_by_text("by owner")).to_be_visible()
        expect(card.get_by_role("button")).to_have_count(0)
        expect(page.get_by_text("decided elsewhere")).to_have_count(0)
        keep_screenshot(other, "approvals-other-tab")
    assert decision_in(events_of(service, run_id))["decision"] == "approved"


def test_one_of_two_tabs_decides_and_the_other_names_the_winner(studio: Open, service: Service) -> None:
    run_id = start_calls(service, ("shell_command", {"command": "echo second"}))
    with studio(INBOX) as page:
        other = page.context.new_page()
        other.goto(page.url)
        card_of(other, "echo second").get_by_role("button", name="Reject", exact=True).click()
        late = card_of(other, "echo second").get_by_role("button", name="Reject the call")
        expect(late).to_be_visible()
        freeze(other, service)
        card_of(page, "echo second").get_by_role("button", name="Approve once").click()
        events = events_of(service, run_id)
        late.click()
        card = card_of(other, "echo second")
        expect(card.get_by_text("This request was already decided")).to_be_visible()
        expect(card.get_by_text("Approved")).to_be_visible()
        expect(card.get_by_text("by owner")).to_be_visible()
        expect(card.locator("time")).to_be_visible()
        expect(late).to_have_count(0)
        keep_screenshot(other, "approvals-too-late")
    assert decision_in(events)["decision"] == "approved"


def test_a_decision_made_in_a_terminal_is_stale_here(studio: Open, service: Service) -> None:
    run_id = start_calls(service, ("shell_command", {"command": "echo third"}))
    with studio(INBOX) as page:
        approve = card_of(page, "echo third").get_by_role("button", name="Approve once")
        expect(approve).to_be_visible()
        freeze(page, service)
        with service.client(token=True) as client:
            [approval] = client.get(f"/api/v1/runs/{run_id}/approvals").json()["approvals"]
            body = {"decision": "denied", "approval_key": approval["approval_key"], "note": "no, said the terminal"}
            assert client.post(f"/api/v1/approvals/{approval['approval_id']}", json=body).status_code == 202
        approve.click()
        card = card_of(page, "echo third")
        expect(card.get_by_text("This request was already decided")).to_be_visible()
        expect(card.get_by_text("Rejected")).to_be_visible()
        expect(card.get_by_text("no, said the terminal")).to_be_visible()
    assert decision_in(events_of(service, run_id))["decision"] == "denied"


def test_new_requests_are_seen_on_every_page_and_announced(studio: Open, service: Service) -> None:
    with studio(INBOX) as page:
        expect(page.get_by_role("heading", name="No pending requests")).to_be_visible()
        expect(page).to_have_title("Approvals · Studio")
        keep_screenshot(page, "approvals-none")
        page.goto(f"{service.url}/studio/sessions")
        expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()
        run_id = start_calls(service, ("shell_command", {"command": "echo fourth"}))
        expect(page.get_by_role("link", name="1 waiting for you")).to_be_visible()
        expect(page).to_have_title("(1) Sessions · Studio")
        expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("waiting"))
        expect(page.get_by_role("status").filter(has_text="An approval is waiting for you")).to_have_count(1)
        page.get_by_role("link", name="1 waiting for you").click()
        card_of(page, "echo fourth").get_by_role("button", name="Approve once").click()
        expect(page).to_have_title("Approvals · Studio")
    events_of(service, run_id)


def _details(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Details of the selected event")


def _seq_of(service: Service, run_id: str, kind: str) -> int:
    return next(event["seq"] for event in events_of(service, run_id) if event["type"] == kind)


def _decide(service: Service, run_id: str, **decision: str) -> None:
    with service.client(token=True) as client:
        approvals: list[dict[str, str]] = []
        while not approvals:
            approvals = client.get(f"/api/v1/runs/{run_id}/approvals").json()["approvals"]
        body = {"approval_key": approvals[0]["approval_key"], "run_id": run_id, **decision}
        answer = client.post(f"/api/v1/approvals/{approvals[0]['approval_id']}", json=body)
        assert answer.status_code == 202, answer.text


def test_the_card_tells_what_the_fence_lets_be_read_and_written(studio: Open, service: Service) -> None:
    start_calls(service, HARMLESS, task="Look around.")
    with studio(INBOX) as page:
        card = card_of(page, "uname -s").first
        expect(card.get_by_text("the workspace", exact=True)).to_be_visible()
        expect(card.get_by_text("a private /tmp, deleted afterwards")).to_be_visible()
        expect(card.get_by_text("system programs")).to_be_visible()
        expect(card.get_by_text("./.env", exact=True)).to_have_count(0)
        card.get_by_role("button", name=re.compile("protected · .* hidden")).click()
        expect(card.get_by_text("./.env", exact=True)).to_be_visible()
        expect(card.get_by_text("./.mcp.json", exact=True)).to_be_visible()
        expect(card.get_by_text("/usr", exact=True)).to_be_visible()
        keep_screenshot(page, "approval-fence")


def test_the_card_tells_it_in_chinese_at_phone_width(studio: Open, service: Service) -> None:
    start_calls(service, HARMLESS, task="Look around again.")
    with studio(INBOX, viewport=PHONE, locale="zh-CN", color_scheme="dark") as page:
        card = card_of(page, "uname -s").first
        expect(card.get_by_text("工作区", exact=True)).to_be_visible()
        card.get_by_role("button", name=re.compile("受保护")).click()
        expect(card.get_by_text("./.env", exact=True)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        keep_screenshot(page, "approval-fence-360-zh-dark")


def test_a_decision_is_reported_with_its_rule_its_risk_and_who_made_it(studio: Open, service: Service) -> None:
    run_id = start_calls(service, HARMLESS)
    _decide(service, run_id, decision="denied", note="not <b>here</b>")
    request_seq = _seq_of(service, run_id, "approval_requested")
    with studio(f"/studio/runs/{run_id}?event={request_seq}") as page:
        details = _details(page)
        expect(details.get_by_role("tab", name="Policy")).to_have_attribute("aria-selected", "true")
        policy = details.get_by_role("tabpanel", name="Policy")
        expect(policy.get_by_text("Denied", exact=True)).to_be_visible()
        expect(policy).to_contain_text("uname -s")
        expect(policy.get_by_text("not <b>here</b>")).to_be_visible()
        for name in ("Request", "Matched rule", "Risk", "Decided by", "Reason"):
            expect(policy.get_by_role("term").filter(has_text=re.compile(f"^{name}$"))).to_be_visible()
        keep_screenshot(page, "policy-denied")


def test_an_added_rule_is_shown_as_it_was_written(studio: Open, service: Service) -> None:
    run_id = start_calls(service, HARMLESS)
    _decide(service, run_id, decision="approved", rule="run")
    decision_seq = _seq_of(service, run_id, "approval_decided")
    with studio(f"/studio/runs/{run_id}?event={decision_seq}") as page:
        policy = _details(page).get_by_role("tabpanel", name="Policy")
        expect(policy.get_by_text("Approved once", exact=True)).to_be_visible()
        expect(policy.get_by_text("Rule added")).to_be_visible()
        expect(policy).to_contain_text("uname")


def test_the_evidence_of_the_fence_names_the_places(studio: Open, service: Service) -> None:
    run_id = start_calls(service, HARMLESS)
    _decide(service, run_id, decision="approved")
    result_seq = _seq_of(service, run_id, "tool_call_finished")
    with studio(f"/studio/runs/{run_id}?event={result_seq}") as page:
        details = _details(page)
        details.get_by_role("tab", name="Sandbox").click()
        evidence = details.get_by_role("tabpanel", name="Sandbox")
        expect(evidence.get_by_text("Active", exact=True)).to_be_visible()
        expect(evidence.get_by_text("the workspace", exact=True)).to_be_visible()
        evidence.get_by_role("button", name=re.compile("protected · .* hidden")).click()
        expect(evidence.get_by_text("./.env", exact=True)).to_be_visible()
        keep_screenshot(page, "sandbox-evidence")
    [finished] = [event for event in events_of(service, run_id) if event["type"] == "tool_call_finished"]
    assert "file_access" not in finished["payload"]["result"]["data"]["sandbox"]


def test_a_call_without_a_request_has_no_policy_tab(studio: Open, service: Service) -> None:
    run_id = start_calls(service)
    answered = _seq_of(service, run_id, "llm_response_finished")
    with studio(f"/studio/runs/{run_id}?event={answered}") as page:
        expect(_details(page).get_by_role("tab", name="Raw")).to_be_visible()
        expect(_details(page).get_by_role("tab", name="Policy")).to_have_count(0)
