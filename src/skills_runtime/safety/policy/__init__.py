"""The policy: what the rules say of a call, and where rules come from."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
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

if TYPE_CHECKING:
    from skills_runtime.safety.policy.rule_files import RulesRead, read_rules, user_rule_file

__getattr__ = lazy_names(
    __name__,
    {
        "rule_files": "RulesRead read_rules user_rule_file",
    },
)

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
    "RulesRead",
    "SafetyMode",
    "Verdict",
    "add_rule",
    "approval_key",
    "decide",
    "explain",
    "load_rules",
    "read_rules",
    "rule_text",
    "user_rule_file",
]
