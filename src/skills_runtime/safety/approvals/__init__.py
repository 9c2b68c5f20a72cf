"""Approvals: asking somebody about a call so that the answer may come from anywhere, and counts only for that call."""

from skills_runtime.safety.approvals.asking import ApprovalContext, Asking, ask, explain_late_decision, stray_decisions
from skills_runtime.safety.approvals.providers import (
    ApprovalRule,
    CallbackApprovals,
    InboxApprovals,
    RuleBasedApprovalProvider,
)
from skills_runtime.safety.approvals.request import (
    RuleScope,
    approval_request_of,
    build_request,
    propose_rule,
    rule_record,
)

__all__ = [
    "ApprovalContext",
    "ApprovalRule",
    "Asking",
    "CallbackApprovals",
    "InboxApprovals",
    "RuleBasedApprovalProvider",
    "RuleScope",
    "approval_request_of",
    "ask",
    "build_request",
    "explain_late_decision",
    "propose_rule",
    "rule_record",
    "stray_decisions",
]
