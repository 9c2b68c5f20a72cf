"""The approvals of a run: which decisions count for what comes later."""

import pytest

from skills_runtime.events import ApprovalRequested, Payload
from skills_runtime.events.payloads import ApprovalDecided, RunAdopted, SkillInjected
from skills_runtime.projections import RunView, fold
from tests.support.events import numbered

ADOPTED = RunAdopted(previous_key_id="theirs", key_id="ours", prefix_sha256="0" * 64)
RULE = {"scope": "run", "text": "allow everything"}


def _view(*payloads: Payload) -> RunView:
    return fold(numbered(payloads), RunView())


def test_rules_that_another_machine_added_end_when_the_run_is_adopted() -> None:
    decision = ApprovalDecided(approval_key="key", decision="approved_for_session", reason="provider", rule=RULE)
    approvals = _view(decision).pending.approvals
    assert (len(approvals.rules), len(approvals.session)) == (1, 1)
    after = _view(decision, ADOPTED).pending.approvals
    assert (after.rules, after.session) == ([], {})


def test_skills_of_another_machine_permit_nothing_and_name_no_directory_when_the_run_is_adopted() -> None:
    taught = SkillInjected(
        skill_name="x",
        mention_text="$x",
        text_blob="0" * 64,
        skill_path="/home/user/.ssh/SKILL.md",
        preapproves=True,
        permits=[{"tool": "*"}],
    )
    view = _view(taught, ADOPTED)
    assert view.pending.approvals.permits == {}
    assert [skill.path for skill in view.conversation.skills.values()] == [""]


@pytest.mark.parametrize("reason", ["timeout", "invalid_decision"])
def test_a_denial_of_an_older_log_that_nobody_decided_counts_for_nothing(reason: str) -> None:
    request = ApprovalRequested(approval_key="key", tool="x", call_id="c", approval_id="a")
    silence = ApprovalDecided(approval_key="key", decision="denied", reason=reason, call_id="c", approval_id="a")
    approvals = _view(request, silence).pending.approvals
    assert (approvals.open, approvals.settled, approvals.denials) == ({}, {}, {})
