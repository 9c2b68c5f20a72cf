"""The policy gate: what a call would do, whether it may, and who decides."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.safety.approvals import ApprovalRule, CallbackApprovals, InboxApprovals, RuleBasedApprovalProvider
from skills_runtime.safety.gate import Gate, never_sandboxed
from skills_runtime.safety.policy import Allow, Ask, Deny, Rules, SafetyMode, approval_key, decide
from skills_runtime.safety.sanitize import sanitize

if TYPE_CHECKING:
    from skills_runtime.safety.approvals import InvalidDecision
    from skills_runtime.safety.checked_files import restrict_files
    from skills_runtime.safety.gate import Abort, Assessment, DecisionCache
    from skills_runtime.safety.policy_preview import PlannedCall, PolicyPreview, preview_call, preview_command
    from skills_runtime.safety.sanitize import PLAIN_FINGERPRINT, Fingerprint, conceal

__getattr__ = lazy_names(
    __name__,
    {
        "approvals": "InvalidDecision",
        "checked_files": "restrict_files",
        "gate": "Abort Assessment DecisionCache",
        "policy_preview": "PlannedCall PolicyPreview preview_call preview_command",
        "sanitize": "Fingerprint PLAIN_FINGERPRINT conceal",
    },
)

__all__ = [
    "PLAIN_FINGERPRINT",
    "Abort",
    "Allow",
    "ApprovalRule",
    "Ask",
    "Assessment",
    "CallbackApprovals",
    "DecisionCache",
    "Deny",
    "Fingerprint",
    "Gate",
    "InboxApprovals",
    "InvalidDecision",
    "PlannedCall",
    "PolicyPreview",
    "RuleBasedApprovalProvider",
    "Rules",
    "SafetyMode",
    "approval_key",
    "conceal",
    "decide",
    "never_sandboxed",
    "preview_call",
    "preview_command",
    "restrict_files",
    "sanitize",
]
