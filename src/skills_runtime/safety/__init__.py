"""The gate: what a call would do, whether it may, and who decides."""

from skills_runtime.safety.approvals import ApprovalRule, CallbackApprovals, InboxApprovals, RuleBasedApprovalProvider
from skills_runtime.safety.gate import Gate
from skills_runtime.safety.policy import Allow, Ask, Deny, Rules, SafetyMode, approval_key, decide
from skills_runtime.safety.sanitize import sanitize

__all__ = [
    "Allow",
    "ApprovalRule",
    "Ask",
    "CallbackApprovals",
    "Deny",
    "Gate",
    "InboxApprovals",
    "RuleBasedApprovalProvider",
    "Rules",
    "SafetyMode",
    "approval_key",
    "decide",
    "sanitize",
]
