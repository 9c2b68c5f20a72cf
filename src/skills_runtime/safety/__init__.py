"""The gate: what a call may show, and whether it may run."""

from skills_runtime.safety.gate import Gate
from skills_runtime.safety.policy import Allow, Ask, Deny, SafetyMode, approval_key, decide
from skills_runtime.safety.rules import ApprovalRule, RuleBasedApprovalProvider
from skills_runtime.safety.sanitize import sanitize

__all__ = [
    "Allow",
    "ApprovalRule",
    "Ask",
    "Deny",
    "Gate",
    "RuleBasedApprovalProvider",
    "SafetyMode",
    "approval_key",
    "decide",
    "sanitize",
]
