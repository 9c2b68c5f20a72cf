"""The details of a call tell what the rules said, who decided, and what its fence let it read and write."""

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.service.servers import Service
from tests.e2e.studio.asking import HARMLESS, asking, begin, card_of, events_of
from tests.e2e.studio.browsers import keep_screenshot
from tests.e2e.studio.conftest import Open


@pytest.fixture(scope="module")
def service(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home = tmp_path_factory.mktemp("policy")
    home.joinpath(".env").write_text("TOKEN=1\n")
    with asking(home) as running:
        yield running


def _details(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Details of the selected event")


def _seq_of(service: Service, run_id: str, kind: str) -> int:
    return next(event["seq"] for event in events_of(service, run_id) if event["type"] == kind)


def _decide(service: Service, run_id: str, **decision: str) -> None:
    with service.client(token=True) as client:
        asked: list[dict[str, str]] = []
        while not asked:
            asked = client.get(f"/api/v1/runs/{run_id}/approvals").json()["approvals"]
        body = {"approval_key": asked[0]["approval_key"], "run_id": run_id, **decision}
        answer = client.post(f"/api/v1/approvals/{asked[0]['approval_id']}", json=body)
        assert answer.status_code == 202, answer.text


def test_the_card_tells_what_the_fence_lets_be_read_and_written(studio: Open, service: Service) -> None:
    begin(service, HARMLESS, task="Look around.")
    with studio("/studio/approvals") as page:
        card = card_of(page, "uname -s").first
        expect(card.get_by_text("the workspace", exact=True)).to_be_visible()
        expect(card.get_by_text("its own /tmp, gone afterwards")).to_be_visible()
        expect(card.get_by_text("programs of the system")).to_be_visible()
        expect(card.get_by_text("./.env", exact=True)).to_have_count(0)
        card.get_by_role("button", name=re.compile("protected · .* hidden")).click()
        expect(card.get_by_text("./.env", exact=True)).to_be_visible()
        expect(card.get_by_text("./.git", exact=True)).to_be_visible()
        expect(card.get_by_text("/usr", exact=True)).to_be_visible()
        keep_screenshot(page, "approval-fence")


def test_the_card_tells_it_in_chinese_at_phone_width(studio: Open, service: Service) -> None:
    begin(service, HARMLESS, task="Look around again.")
    look = {"viewport": {"width": 360, "height": 1600}, "locale": "zh-CN", "color_scheme": "dark"}
    with studio("/studio/approvals", **look) as page:
        card = card_of(page, "uname -s").first
        expect(card.get_by_text("工作区", exact=True)).to_be_visible()
        card.get_by_role("button", name=re.compile("受保护")).click()
        expect(card.get_by_text("./.env", exact=True)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        keep_screenshot(page, "approval-fence-360-zh-dark")


def test_a_decision_is_told_with_its_rule_its_risk_and_who_made_it(studio: Open, service: Service) -> None:
    run_id = begin(service, HARMLESS)
    _decide(service, run_id, decision="denied", note="not <b>here</b>")
    asked = _seq_of(service, run_id, "approval_requested")
    with studio(f"/studio/runs/{run_id}?event={asked}") as page:
        details = _details(page)
        expect(details.get_by_role("tab", name="Policy")).to_have_attribute("aria-selected", "true")
        policy = details.get_by_role("tabpanel", name="Policy")
        expect(policy.get_by_text("Denied", exact=True)).to_be_visible()
        expect(policy).to_contain_text("uname -s")
        expect(policy.get_by_text("not <b>here</b>")).to_be_visible()
        for name in ("Asked about", "Rule that asked", "Risk", "Who decided", "Why"):
            expect(policy.get_by_role("term").filter(has_text=re.compile(f"^{name}$"))).to_be_visible()
        keep_screenshot(page, "policy-denied")


def test_an_added_rule_is_shown_as_it_was_written(studio: Open, service: Service) -> None:
    run_id = begin(service, HARMLESS)
    _decide(service, run_id, decision="approved", rule="run")
    decided = _seq_of(service, run_id, "approval_decided")
    with studio(f"/studio/runs/{run_id}?event={decided}") as page:
        policy = _details(page).get_by_role("tabpanel", name="Policy")
        expect(policy.get_by_text("Approved once", exact=True)).to_be_visible()
        expect(policy.get_by_text("Rule added")).to_be_visible()
        expect(policy).to_contain_text("uname")


def test_the_evidence_of_the_fence_names_the_places(studio: Open, service: Service) -> None:
    run_id = begin(service, HARMLESS)
    _decide(service, run_id, decision="approved")
    ended = _seq_of(service, run_id, "tool_call_finished")
    with studio(f"/studio/runs/{run_id}?event={ended}") as page:
        details = _details(page)
        details.get_by_role("tab", name="Sandbox").click()
        evidence = details.get_by_role("tabpanel", name="Sandbox")
        expect(evidence.get_by_text("Active", exact=True)).to_be_visible()
        expect(evidence.get_by_text("the workspace", exact=True)).to_be_visible()
        evidence.get_by_role("button", name=re.compile("protected · .* hidden")).click()
        expect(evidence.get_by_text("./.env", exact=True)).to_be_visible()
        keep_screenshot(page, "sandbox-evidence")
    [finished] = [one for one in events_of(service, run_id) if one["type"] == "tool_call_finished"]
    assert "file_access" not in finished["payload"]["result"]["data"]["sandbox"]


def test_what_nobody_was_asked_about_has_no_policy_tab(studio: Open, service: Service) -> None:
    run_id = begin(service)
    answered = _seq_of(service, run_id, "llm_response_finished")
    with studio(f"/studio/runs/{run_id}?event={answered}") as page:
        expect(_details(page).get_by_role("tab", name="Raw")).to_be_visible()
        expect(_details(page).get_by_role("tab", name="Policy")).to_have_count(0)
