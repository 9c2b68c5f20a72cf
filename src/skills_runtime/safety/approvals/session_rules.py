"""Rules that approvers and active skills added for one run: its log holds them, and nothing else does."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.projections.approvals import Approvals
from skills_runtime.safety.guard.facts import Facts
from skills_runtime.safety.policy import Allow, Ask, Deny, Rule, Rules, Verdict, decide, load_rules
from skills_runtime.safety.policy.decide import BY_MODE, is_listed

ORIGIN = "added for this run"
NEVER_CONFINED = frozenset(
    {
        "activate_skill", "unload_skill", "search_skills", "read_skill_file", "skill_ref_read", "update_plan",
        "ask_human", "request_user_input",
    }
)  # fmt: skip
"""Tools by which a model finds out what to do, and ends what confines it."""


def with_added(rules: Rules, added: Sequence[Mapping[str, Any]]) -> Rules:
    """The rules with those of the run behind them."""
    if not added:
        return rules
    more = tuple(rule for one in added for rule in _read(str(one.get("text", ""))))
    return msgspec.structs.replace(rules, rules=(*rules.rules, *more))


def permitted(facts: Facts, rules: Rules, approvals: Approvals, verdict: Verdict) -> Verdict:
    """The verdict, unless nobody but the mode wants to be asked and an active skill lists the call."""
    if not approvals.permits or not isinstance(verdict, Ask) or verdict.rule != BY_MODE:
        return verdict
    listed = [rule for permits in approvals.permits.values() for rule in permits]
    said = decide(facts, with_added(Rules(root=rules.root, home=rules.home), listed))
    return said if isinstance(said, Allow) else verdict


def confined(facts: Facts, rules: Rules, approvals: Approvals) -> Deny | None:
    """The refusal of a call that an active skill does not list, where skills confine a run to what they list."""
    if not approvals.confining or facts.tool in NEVER_CONFINED:
        return None
    listed = [rule for permitted in approvals.confining.values() for rule in permitted]
    alone = with_added(Rules(root=rules.root, home=rules.home), listed)
    if is_listed(facts, alone):
        return None
    names = ", ".join(f"`{skill}`" for skill in approvals.confining)
    return Deny("safety.skill_tools: enforce", f"{names} does not list it in `allowed-tools`; unload the skill first")


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[Rule, ...]:
    """The rules of a text; one that cannot be read allows nothing."""
    try:
        return load_rules(text, origin=ORIGIN)
    except SkillsRuntimeError:
        return ()
