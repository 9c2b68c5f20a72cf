"""Approvals: asking somebody about a call so that the answer may come from anywhere, and counts only for that call."""

from skills_runtime.safety.approvals.asking import Asking, Room, ask
from skills_runtime.safety.approvals.providers import (
    ApprovalRule,
    CallbackApprovals,
    InboxApprovals,
    RuleBasedApprovalProvider,
)
from skills_runtime.safety.approvals.request import request_of
from skills_runtime.safety.approvals.stray import stray_decisions

__all__ = [
    "ApprovalRule",
    "Asking",
    "CallbackApprovals",
    "InboxApprovals",
    "Room",
    "RuleBasedApprovalProvider",
    "ask",
    "request_of",
    "stray_decisions",
]
