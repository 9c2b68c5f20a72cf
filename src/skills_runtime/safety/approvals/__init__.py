"""Approvals: durable requests whose decision may come from any process and applies to exactly one call."""

from skills_runtime.safety.approvals.providers import (
    ApprovalFunction,
    ApprovalRule,
    CallbackApprovals,
    InboxApprovals,
    RuleBasedApprovalProvider,
    as_approver,
)
from skills_runtime.safety.approvals.request import (
    RuleScope,
    build_approval_request,
    draft_request,
    propose_rule,
    rule_record,
)
from skills_runtime.safety.approvals.resolve import (
    NETWORK,
    ApprovalContext,
    AskOptions,
    InvalidDecision,
    ask,
    explain_late_decision,
    refuse_stale_decisions,
)

__all__ = [
    "NETWORK",
    "ApprovalContext",
    "ApprovalFunction",
    "ApprovalRule",
    "AskOptions",
    "CallbackApprovals",
    "InboxApprovals",
    "InvalidDecision",
    "RuleBasedApprovalProvider",
    "RuleScope",
    "as_approver",
    "ask",
    "build_approval_request",
    "draft_request",
    "explain_late_decision",
    "propose_rule",
    "refuse_stale_decisions",
    "rule_record",
]
