"""Approvals: asking somebody about a call so that the answer may come from anywhere, and counts only for that call."""

from skills_runtime.safety.approvals.asking import ApprovalContext, Asking, ask, stray_decisions
from skills_runtime.safety.approvals.providers import (
    ApprovalRule,
    CallbackApprovals,
    InboxApprovals,
    RuleBasedApprovalProvider,
)
from skills_runtime.safety.approvals.request import build_request

__all__ = [
    "ApprovalContext",
    "ApprovalRule",
    "Asking",
    "CallbackApprovals",
    "InboxApprovals",
    "RuleBasedApprovalProvider",
    "ask",
    "build_request",
    "stray_decisions",
]
