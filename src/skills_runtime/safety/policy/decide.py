"""The decision on one call: deny beats allow beats ask, and what nobody understands is asked.

Pure. What decides is named; `explain` tells the same with every part of the call.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal

import msgspec

from skills_runtime.safety.guard.facts import LEVELS, Facts, SimpleCommand
from skills_runtime.safety.policy.commands import (
    changes_directory,
    entry_covers,
    entry_may_match,
    is_elsewhere,
    moves,
    needs_no_rule,
    pattern_covers,
    pattern_may_match,
    places_of,
    seen_from,
)
from skills_runtime.safety.policy.patterns import (
    Anchor,
    fits,
    has_glob,
    is_host,
    is_tool,
    may_fit,
    named,
    names_of_tool,
    tokens_of,
)
from skills_runtime.safety.policy.protected_state import control_state, impersonates_user, may_be_control, needs_consent
from skills_runtime.safety.policy.rule import END, Allow, Ask, Deny, Rule, Rules, Verdict


def stops(rule: Rule, facts: Facts, base: Anchor) -> bool:
    """Whether a deny or ask rule is about the call, or about something the call could turn out to be."""
    if not _is_of_concern(rule, facts) or (rule.host and not any(is_host(rule.host, host) for host in facts.hosts)):
        return False
    if not rule.path or None in facts.writes:
        return True
    return any(may_fit(pattern, path, base) for path in _named_paths(facts) for pattern in rule.path)


def could_stop(rule: Rule, facts: Facts) -> bool:
    """Whether only words that nobody knows keep us from telling whether the rule is about the call."""
    unknown = None in facts.reads or any(None in command.words for command in facts.commands)
    return unknown and bool(rule.path or rule.host) and _is_of_concern(rule, facts)


def _is_of_concern(rule: Rule, facts: Facts) -> bool:
    return (
        (not rule.tool or is_tool(rule.tool, facts.tool))
        and (rule.risk is None or LEVELS.index(facts.risk.level) >= LEVELS.index(rule.risk))
        and (not rule.skill or named(rule.skill, facts.skill))
        and (
            not rule.command
            or any(
                any(pattern_may_match(pattern, command.words) for pattern in rule.command) for command in facts.commands
            )
        )
    )


def _named_paths(facts: Facts) -> Iterator[str]:
    """Every path a call names, from the top and from wherever it goes; arguments are taken for paths too."""
    named = (
        (facts.directory,),
        (touch.path for touch in facts.files),
        filter(None, facts.writes),
        (path for path in facts.reads if path is not None and not has_glob(path)),
        (token for command in facts.commands for word in filter(None, command.words[1:]) for token in tokens_of(word)),
    )
    places = places_of(facts)
    for path in chain.from_iterable(named):
        yield from seen_from(places, path)


def speaks_of_everything(rule: Rule) -> bool:
    """Whether an allow rule is about whole calls of a tool or a skill, whatever they do."""
    return bool(rule.tool or rule.skill) and not (rule.command or rule.path or rule.host)


def may_allow(rule: Rule, facts: Facts) -> bool:
    """Whether an allow rule is about calls of this tool, this skill and this risk at all."""
    return (
        rule.effect == "allow"
        and (not rule.tool or is_tool(rule.tool, facts.tool))
        and (not rule.skill or (bool(facts.skill) and named(rule.skill, facts.skill)))
        and LEVELS.index(facts.risk.level) <= LEVELS.index(rule.risk or "medium")
    )


def covers_command(rule: Rule, command: SimpleCommand, facts: Facts, base: Anchor) -> bool:
    """Whether an allow rule allows one command of a call."""
    if not rule.command:
        return speaks_of_everything(rule)
    return (
        _is_command(rule, command, facts)
        and (not rule.path or _all_paths(rule, facts, base))
        and (not rule.host or _all_hosts(rule, facts))
    )


def covers_path(rule: Rule, path: str | None, facts: Facts, base: Anchor) -> bool:
    """Whether an allow rule allows a file of a call to be touched."""
    if not rule.path:
        return speaks_of_everything(rule)
    return (
        _is_path(rule, path, facts, base)
        and (not rule.command or _all_commands(rule, facts))
        and (not rule.host or _all_hosts(rule, facts))
    )


def covers_host(rule: Rule, host: str, facts: Facts, base: Anchor) -> bool:
    """Whether an allow rule allows a call to reach a host."""
    if not rule.host:
        return speaks_of_everything(rule)
    return (
        is_host(rule.host, host)
        and (not rule.command or _all_commands(rule, facts))
        and (not rule.path or _all_paths(rule, facts, base))
    )


def _is_command(rule: Rule, command: SimpleCommand, facts: Facts) -> bool:
    """Whether a command fits; a pattern that says how it ends means the command as it is, from the top of the tree."""
    elsewhere = facts.directory not in ("", ".", "./") or any(
        moves(one) for one in facts.commands if one is not command
    )
    changed = bool(facts.variables) or elsewhere
    patterns = (pattern for pattern in rule.command if not (changed and pattern[-1:] == (END,)))
    return any(pattern_covers(pattern, command.words, settled=command.settled) for pattern in patterns)


def _is_path(rule: Rule, path: str | None, facts: Facts, base: Anchor) -> bool:
    if path is None or (not path.startswith("/") and is_elsewhere(facts)):
        return False
    return any(fits(pattern, path, base) for pattern in rule.path)


def _all_commands(rule: Rule, facts: Facts) -> bool:
    return bool(facts.commands) and all(_is_command(rule, command, facts) for command in facts.commands)


def _all_paths(rule: Rule, facts: Facts, base: Anchor) -> bool:
    paths = (*(touch.path for touch in facts.files), *facts.writes)
    return bool(paths) and all(_is_path(rule, path, facts, base) for path in paths)


def _all_hosts(rule: Rule, facts: Facts) -> bool:
    return bool(facts.hosts) and all(is_host(rule.host, host) for host in facts.hosts)


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
    stopped = _denied(facts, rules) or _asked_whatever_allows_it(facts, rules) or _allowed(facts, rules)
    if stopped is not None:
        return stopped
    if rule := _first_that_stops("ask", facts, rules):
        return Ask(rule.label, rule.justification)
    if rules.mode == "allow":
        return Allow("safety.mode: allow")
    return Allow("safety.mode: ask lets tools read") if facts.effect == "read" else Ask(BY_MODE)


def explain(facts: Facts, rules: Rules) -> Explanation:
    """The decision, with every part of the call and what allows it."""
    return Explanation(verdict=decide(facts, rules), parts=tuple(_parts(facts, rules, rules.allowlist, rules.rules)))


def _denied(facts: Facts, rules: Rules) -> Deny | None:
    if part := control_state(facts, rules):
        return Deny(
            f"{BUILT_IN}: the runtime's own state", f"`{_cut(part)}` belongs to the runtime, and no tool touches it"
        )
    if part := impersonates_user(facts):
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
    if unclear := facts.unclear or ("goes to more places than can be followed" if changes_directory(facts) else ""):
        return Ask(f"{BUILT_IN}: not understood", unclear)
    if part := needs_consent(facts, rules):
        return Ask(f"{BUILT_IN}: configuration of the next run", f"`{_cut(part)}` decides what the next run may do")
    if part := may_be_control(facts, rules):
        why = f"`{_cut(part)}` may stand for a place of the runtime"
        return Ask(f"{BUILT_IN}: perhaps the runtime's own state", why)
    for rule in rules.rules:
        if rule.effect == "deny" and could_stop(rule, facts):
            return Ask(f"{rule.label} cannot be ruled out", rule.justification)
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
        covered = (one for one in entries if entry_covers(one, command.words, settled=command.settled))
        entry = next(covered, None)
        listed = "" if entry is None else f"safety.allowlist: {entry}"
        found = part("command", command.text, lambda rule, one=command: covers_command(rule, one, facts, base), listed)
        if not found.allowed_by and needs_no_rule(command, facts):
            found = Part(kind="command", text=command.text, allowed_by=BUILT_IN)
        yield found
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
