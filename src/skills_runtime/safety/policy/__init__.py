"""The policy: what the rules say of a call, and where rules come from."""

from skills_runtime.safety.policy.decide import Explanation, Part, decide, explain
from skills_runtime.safety.policy.loading import load_rules
from skills_runtime.safety.policy.rule import (
    END,
    Allow,
    Ask,
    Deny,
    Example,
    Rule,
    Rules,
    SafetyMode,
    Verdict,
    approval_key,
)
from skills_runtime.safety.policy.rule_files import add_rule, rule_text

__all__ = [
    "END",
    "Allow",
    "Ask",
    "Deny",
    "Example",
    "Explanation",
    "Part",
    "Rule",
    "Rules",
    "SafetyMode",
    "Verdict",
    "add_rule",
    "approval_key",
    "decide",
    "explain",
    "load_rules",
    "rule_text",
]
