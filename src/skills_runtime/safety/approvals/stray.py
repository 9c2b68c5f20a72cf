"""Decisions that were sent and count for nothing: each is refused, and the log says so.

Pure.
"""

from typing import get_args

from skills_runtime.events.payloads import ApprovalRefused
from skills_runtime.ports import DecisionKind
from skills_runtime.projections.approvals import Approvals, PendingApproval, SentDecision


def stray_decisions(approvals: Approvals, run_id: str) -> list[ApprovalRefused]:
    """What to record about the decisions that do not count."""
    found = [(sent, _problem(sent, approvals, run_id)) for sent in approvals.sent.values()]
    return [
        ApprovalRefused(
            reason=problem[0],
            message=problem[1],
            approval_id=sent.said("approval_id"),
            approval_key=sent.said("approval_key"),
            message_id=sent.message_id,
        )
        for sent, problem in found
        if problem is not None
    ]


def lateness(asked: PendingApproval, sent_at: str) -> str:
    """What is said to a decision that comes after the request has expired, or nothing."""
    late = asked.expires_at and sent_at > asked.expires_at
    return f"the request could be decided until {asked.expires_at}" if late else ""


def _problem(sent: SentDecision, approvals: Approvals, run_id: str) -> tuple[str, str] | None:
    """Why a decision does not count: one word and one sentence, or nothing."""
    asked = approvals.open.get(sent.said("approval_id"))
    if sent.said("run_id") != run_id:
        return "elsewhere", "the decision is about another run"
    if asked is None:
        return "unknown", "no such request is open; it may have been decided already"
    if sent.said("approval_key") != asked.approval_key:
        return "changed", "the decision is about another request than the one that is open"
    if late := lateness(asked, sent.said("decided_at") or sent.sent_at):
        return "expired", late
    if sent.body.get("decision") not in get_args(DecisionKind):
        return "malformed", "the decision is none of those there are"
    return None
