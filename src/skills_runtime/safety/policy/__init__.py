"""The policy: rules, their sources and their decisions on a call."""

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
    PolicyDecision,
    Rule,
    RuleEffect,
    Rules,
    SafetyMode,
    approval_key,
)
from skills_runtime.safety.policy.rule_files import add_rule, render_rule

if TYPE_CHECKING:
    from skills_runtime.safety.policy.rule_files import LoadedRules, load_active_rules, user_rule_file

__getattr__ = lazy_names(
    __name__,
    {
        "rule_files": "LoadedRules load_active_rules user_rule_file",
    },
)

__all__ = [
    "END",
    "Allow",
    "Ask",
    "Deny",
    "Example",
    "Explanation",
    "LoadedRules",
    "Part",
    "PolicyDecision",
    "Rule",
    "RuleEffect",
    "Rules",
    "SafetyMode",
    "add_rule",
    "approval_key",
    "decide",
    "explain",
    "load_active_rules",
    "load_rules",
    "render_rule",
    "user_rule_file",
]
