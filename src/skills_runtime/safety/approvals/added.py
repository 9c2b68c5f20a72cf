"""Rules that approvers added for one run: its log holds them, and nothing else does."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.safety.policy import Rule, Rules, load_rules

ORIGIN = "added for this run"


def with_added(rules: Rules, added: Sequence[Mapping[str, Any]]) -> Rules:
    """The rules with those of the run behind them."""
    if not added:
        return rules
    more = tuple(rule for one in added for rule in _read(str(one.get("text", ""))))
    return msgspec.structs.replace(rules, rules=(*rules.rules, *more))


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[Rule, ...]:
    """The rules of a text; one that cannot be read allows nothing."""
    try:
        return load_rules(text, origin=ORIGIN)
    except SkillsRuntimeError:
        return ()
