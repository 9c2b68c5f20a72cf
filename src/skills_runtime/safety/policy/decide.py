"""The decision on one call: deny beats allow beats ask, and what nobody understands is asked.

Pure. What decides is named; `explain` tells the same with every part of the call.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec

from skills_runtime.safety.guard.facts import Facts
from skills_runtime.safety.policy.commands import entry_covers, entry_may_match
from skills_runtime.safety.policy.control import control_state, may_be_control, needs_consent, speaks_for_people
from skills_runtime.safety.policy.matching import (
    could_stop,
    covers_command,
    covers_host,
    covers_path,
    may_allow,
    speaks_of_everything,
    stops,
)
from skills_runtime.safety.policy.names import names_of_tool
from skills_runtime.safety.policy.paths import Anchor
from skills_runtime.safety.policy.rule import Rule, Rules
from skills_runtime.safety.policy.steps import wanders
from skills_runtime.safety.policy.verdict import Allow, Ask, Deny, Verdict

PartKind = Literal["command", "write", "file", "host", "call"]

NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"})
"""Redirections there change nothing."""
BUILT_IN = "built in"
BY_MODE = "safety.mode: ask"
MAX_SHOWN = 200


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a call, and what allows it."""

    kind: PartKind
    text: str
    allowed_by: str = ""
    """Empty when nothing does."""
    justification: str = ""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A decision, and how each part of the call was seen."""

    verdict: Verdict
    parts: tuple[Part, ...]


def decide(facts: Facts, rules: Rules) -> Verdict:
    """What the rules say about a call."""
    return (
        _denied(facts, rules)
        or _asked_whatever_allows_it(facts, rules)
        or _allowed(facts, rules)
        or _asked(facts, rules)
        or _by_mode(facts, rules)
    )


def explain(facts: Facts, rules: Rules) -> Explanation:
    """The decision, with every part of the call and what allows it."""
    return Explanation(verdict=decide(facts, rules), parts=tuple(_parts(facts, rules, rules.allowlist, rules.rules)))


def _denied(facts: Facts, rules: Rules) -> Deny | None:
    if part := control_state(facts, rules):
        return Deny(
            f"{BUILT_IN}: the runtime's own state", f"`{_cut(part)}` belongs to the runtime, and no tool touches it"
        )
    if part := speaks_for_people(facts):
        return Deny(f"{BUILT_IN}: decisions of people", f"`{_cut(part)}` would decide in a person's place")
    if not names_of_tool(facts.tool).isdisjoint(rules.tool_denylist):
        return Deny("safety.tool_denylist")
    for entry in rules.denylist:
        if any(entry_may_match(entry, command.words) for command in facts.commands):
            return Deny(f"safety.denylist: {entry}")
    if rule := _first_that_stops("deny", facts, rules):
        return Deny(rule.label, rule.justification)
    return Deny("safety.mode: deny") if rules.mode == "deny" else None


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _asked_whatever_allows_it(facts: Facts, rules: Rules) -> Ask | Allow | None:
    if facts.escalated:
        return Ask(f"{BUILT_IN}: more than the fence allows", "the call asks for more than the fence allows")
    if unclear := facts.unclear or ("goes to more places than can be followed" if wanders(facts) else ""):
        return Ask(f"{BUILT_IN}: not understood", unclear)
    return _asked_for_what_it_names(facts, rules) or _asked_for_its_risk(facts, rules)


def _asked_for_what_it_names(facts: Facts, rules: Rules) -> Ask | None:
    if part := needs_consent(facts, rules):
        return Ask(f"{BUILT_IN}: configuration of the next run", f"`{_cut(part)}` decides what the next run may do")
    if part := may_be_control(facts, rules):
        why = f"`{_cut(part)}` may stand for a place of the runtime"
        return Ask(f"{BUILT_IN}: perhaps the runtime's own state", why)
    for rule in rules.rules:
        if rule.effect == "deny" and could_stop(rule, facts):
            return Ask(f"{rule.label} cannot be ruled out", rule.justification)
    return None


def _asked_for_its_risk(facts: Facts, rules: Rules) -> Ask | Allow | None:
    if facts.risk.level != "high":
        return None
    for rule in rules.rules:
        if rule.risk == "high" and _is_covered(_parts(facts, rules, (), (rule,))):
            return Allow(rule.label, rule.justification)
    return Ask(f"{BUILT_IN}: high risk", facts.risk.reason)


def _allowed(facts: Facts, rules: Rules) -> Allow | None:
    if not names_of_tool(facts.tool).isdisjoint(rules.tool_allowlist):
        return Allow("safety.tool_allowlist")
    parts = list(_parts(facts, rules, rules.allowlist, rules.rules))
    if not _is_covered(parts):
        return None
    return Allow(
        " + ".join(dict.fromkeys(part.allowed_by for part in parts)),
        "; ".join(dict.fromkeys(part.justification for part in parts if part.justification)),
    )


def _is_covered(parts: Iterable[Part]) -> bool:
    """Whether something of the call is allowed, and nothing of it is not; writing nowhere allows nothing."""
    found = list(parts)
    return all(part.allowed_by for part in found) and any(part.allowed_by != BUILT_IN for part in found)


def is_listed(facts: Facts, rules: Rules) -> bool:
    """Whether rules of these allow all that a call does, whatever the mode lets pass."""
    return _is_covered(_parts(facts, rules, (), rules.rules))


def _asked(facts: Facts, rules: Rules) -> Ask | None:
    rule = _first_that_stops("ask", facts, rules)
    return Ask(rule.label, rule.justification) if rule else None


def _by_mode(facts: Facts, rules: Rules) -> Allow | Ask:
    if rules.mode == "allow":
        return Allow("safety.mode: allow")
    return Allow("safety.mode: ask lets tools read") if facts.effect == "read" else Ask(BY_MODE)


def _first_that_stops(effect: Literal["deny", "ask"], facts: Facts, rules: Rules) -> Rule | None:
    base = Anchor(rules.root, rules.home)
    for rule in rules.rules:
        if rule.effect == effect and (stops(rule, facts, base) or (effect == "ask" and could_stop(rule, facts))):
            return rule
    return None


def _parts(facts: Facts, rules: Rules, allowlist: Iterable[str], given: Iterable[Rule]) -> Iterator[Part]:
    """Everything a call does; hosts that a command names are words of that command."""
    base = Anchor(rules.root, rules.home)
    able = [rule for rule in given if may_allow(rule, facts)]
    entries = tuple(allowlist)

    def part(kind: PartKind, text: str, covers: Callable[[Rule], bool], otherwise: str = "") -> Part:
        rule = next(filter(covers, able), None)
        by, why = (rule.label, rule.justification) if rule else ("", "")
        return Part(kind=kind, text=text, allowed_by=otherwise or by, justification="" if otherwise else why)

    seen = False
    for command in facts.commands:
        entry = next((entry for entry in entries if entry_covers(entry, command.words)), None)
        listed = "" if entry is None else f"safety.allowlist: {entry}"
        yield part("command", command.text, lambda rule, one=command: covers_command(rule, one, facts, base), listed)
        seen = True
    for path in facts.writes:
        nowhere = BUILT_IN if path in NOWHERE else ""
        text = "a file whose name only the running shell knows" if path is None else path
        yield part("write", text, lambda rule, one=path: covers_path(rule, one, facts, base), nowhere)
        seen = True
    for touch in facts.files:
        yield part("file", touch.path, lambda rule, one=touch.path: covers_path(rule, one, facts, base))
        seen = True
    for host in () if facts.commands else facts.hosts:
        yield part("host", host, lambda rule, one=host: covers_host(rule, one, facts, base))
        seen = True
    if not seen:
        yield part("call", facts.skill or facts.tool, speaks_of_everything)
