"""Decide one call: deny beats allow beats ask, and what cannot be understood is asked about.

Pure. What decides is named; `explain` tells the same with every part of the call.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal

import msgspec

from skills_runtime.safety.guard.facts import LEVELS, Facts, SimpleCommand
from skills_runtime.safety.policy.automatic import (
    BUILT_IN,
    BUILT_IN_SKILL,
    READS_WORKSPACE,
    RUNS_IN_SANDBOX,
    RUNTIME_TOOL,
    SKILL_PROGRAM,
    WRITES_WORKSPACE,
    contains_unclear,
    name_command_rule,
    why_command_asks,
    why_file_asks,
    why_not_contained,
    why_write_asks,
)
from skills_runtime.safety.policy.commands import (
    entry_covers,
    entry_may_match,
    expand_path,
    find_directories,
    may_change_directory,
    may_leave_root,
    needs_no_rule,
    pattern_covers,
    pattern_may_match,
    reaches_too_many_directories,
)
from skills_runtime.safety.policy.patterns import (
    Anchor,
    has_glob,
    matches_host,
    matches_name,
    matches_tool,
    path_matches,
    path_may_match,
    path_tokens,
    tool_aliases,
)
from skills_runtime.safety.policy.protected_state import (
    find_configuration_change,
    find_control_path,
    find_impersonation,
    find_possible_control_glob,
)
from skills_runtime.safety.policy.rule import END, Allow, Ask, Deny, PolicyDecision, Rule, Rules


def may_apply(rule: Rule, facts: Facts, base: Anchor) -> bool:
    """Whether a deny or ask rule is about the call, or about something the call could turn out to be."""
    if not _conditions_may_match(rule, facts) or (
        rule.host and not any(matches_host(rule.host, host) for host in facts.hosts)
    ):
        return False
    if not rule.path or None in facts.writes:
        return True
    return any(path_may_match(pattern, path, base) for path in _mentioned_paths(facts) for pattern in rule.path)


def cannot_be_excluded(rule: Rule, facts: Facts) -> bool:
    """Return whether only unknown words leave open whether the rule matches the call."""
    unknown = None in facts.reads or any(None in command.words for command in facts.commands)
    return unknown and bool(rule.path or rule.host) and _conditions_may_match(rule, facts)


def _conditions_may_match(rule: Rule, facts: Facts) -> bool:
    return (
        (not rule.tool or matches_tool(rule.tool, facts.tool))
        and (rule.risk is None or LEVELS.index(facts.risk.level) >= LEVELS.index(rule.risk))
        and (not rule.skill or matches_name(rule.skill, facts.skill))
        and (
            not rule.command
            or any(
                any(pattern_may_match(pattern, command.words) for pattern in rule.command) for command in facts.commands
            )
        )
    )


def _mentioned_paths(facts: Facts) -> Iterator[str]:
    """Every path a call names, from the top and from wherever it goes; arguments are taken for paths too."""
    sources = (
        (facts.directory,),
        (touch.path for touch in facts.files),
        filter(None, facts.writes),
        (path for path in facts.reads if path is not None and not has_glob(path)),
        (
            token
            for command in facts.commands
            for word in filter(None, command.words[1:])
            for token in path_tokens(word)
        ),
    )
    directories = find_directories(facts)
    for path in chain.from_iterable(sources):
        yield from expand_path(directories, path)


def covers_whole_calls(rule: Rule) -> bool:
    """Return whether an allow rule covers all calls of a tool or a skill."""
    return bool(rule.tool or rule.skill) and not (rule.command or rule.path or rule.host)


def may_allow(rule: Rule, facts: Facts, *, sandboxed: bool) -> bool:
    """Whether an allow rule is about calls of this tool, this skill and this risk at all.

    A rule for the content of a skill holds for any input of its program, so only in an active sandbox.
    """
    return (
        rule.effect == "allow"
        and (not rule.tool or matches_tool(rule.tool, facts.tool))
        and (not rule.skill or (bool(facts.skill) and matches_name(rule.skill, facts.skill)))
        and (not rule.digest or (sandboxed and facts.skill_digest in rule.digest))
        and LEVELS.index(facts.risk.level) <= LEVELS.index(rule.risk or "medium")
    )


def covers_command(rule: Rule, command: SimpleCommand, facts: Facts, base: Anchor) -> bool:
    """Whether an allow rule allows one command of a call."""
    if not rule.command:
        return covers_whole_calls(rule)
    return (
        _covers_command(rule, command, facts)
        and (not rule.path or _covers_all_paths(rule, facts, base))
        and (not rule.host or _covers_all_hosts(rule, facts))
    )


def covers_path(rule: Rule, path: str | None, facts: Facts, base: Anchor) -> bool:
    """Whether an allow rule allows a file of a call to be touched."""
    if not rule.path:
        return covers_whole_calls(rule)
    return (
        _covers_path(rule, path, facts, base)
        and (not rule.command or _covers_all_commands(rule, facts))
        and (not rule.host or _covers_all_hosts(rule, facts))
    )


def covers_host(rule: Rule, host: str, facts: Facts, base: Anchor) -> bool:
    """Whether an allow rule allows a call to reach a host."""
    if not rule.host:
        return covers_whole_calls(rule)
    return (
        matches_host(rule.host, host)
        and (not rule.command or _covers_all_commands(rule, facts))
        and (not rule.path or _covers_all_paths(rule, facts, base))
    )


def _covers_command(rule: Rule, command: SimpleCommand, facts: Facts) -> bool:
    """Whether a command fits; a pattern that says how it ends means the command as it is, from the top of the tree."""
    other_directory = facts.directory not in ("", ".", "./") or any(
        may_change_directory(other) for other in facts.commands if other is not command
    )
    altered = bool(facts.variables) or other_directory
    patterns = (pattern for pattern in rule.command if not (altered and pattern[-1:] == (END,)))
    return any(pattern_covers(pattern, command.words, settled=command.settled) for pattern in patterns)


def _covers_path(rule: Rule, path: str | None, facts: Facts, base: Anchor) -> bool:
    if path is None or (not path.startswith("/") and may_leave_root(facts)):
        return False
    return any(path_matches(pattern, path, base) for pattern in rule.path)


def _covers_all_commands(rule: Rule, facts: Facts) -> bool:
    return bool(facts.commands) and all(_covers_command(rule, command, facts) for command in facts.commands)


def _covers_all_paths(rule: Rule, facts: Facts, base: Anchor) -> bool:
    paths = (*(touch.path for touch in facts.files), *facts.writes)
    return bool(paths) and all(_covers_path(rule, path, facts, base) for path in paths)


def _covers_all_hosts(rule: Rule, facts: Facts) -> bool:
    return bool(facts.hosts) and all(matches_host(rule.host, host) for host in facts.hosts)


PartKind = Literal["command", "write", "file", "host", "call"]

DISCARDING_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"})
"""Redirections there change nothing."""
BY_MODE = "safety.mode: ask"
BY_AUTO = "safety.mode: auto"
MODES_THAT_ASK = frozenset({BY_MODE, BY_AUTO})
"""Decisions of a mode alone, which an active skill that lists the call answers."""
OWN_FUNCTION = f"{BUILT_IN}: function of this program"
TOOL_ASKS = 'the tool itself (approval="ask")'
MAX_SHOWN = 200


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a call, and what allows it."""

    kind: PartKind
    text: str
    allowed_by: str = ""
    """Empty when nothing does."""
    justification: str = ""
    objection: str = ""
    """Why no built-in rule allows it in mode `auto`."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A decision, and how each part of the call was seen."""

    verdict: PolicyDecision
    parts: tuple[Part, ...]


def decide(facts: Facts, rules: Rules) -> PolicyDecision:
    """Decide a call by the rules."""
    decision = _find_denial(facts, rules) or _find_mandatory_ask(facts, rules) or _find_allowance(facts, rules)
    if decision is not None:
        return decision
    if rule := _first_applying_rule("ask", facts, rules):
        return Ask(rule.label, rule.justification)
    if facts.approval is not None:
        return Allow(OWN_FUNCTION) if facts.approval == "pass" else Ask(TOOL_ASKS)
    return _decide_by_mode(facts, rules)


def _decide_by_mode(facts: Facts, rules: Rules) -> PolicyDecision:
    """Decide what no rule of the user decides."""
    if rules.mode == "allow":
        return Allow("safety.mode: allow")
    if facts.effect == "read":
        return Allow(READS_WORKSPACE if rules.mode == "auto" else "safety.mode: ask lets tools read")
    if rules.mode != "auto":
        return Ask(BY_MODE)
    if reason := why_not_contained(facts, rules):
        return Ask(BY_AUTO, reason)
    parts = tuple(_automatic_parts(facts, rules))
    if part := next((part for part in parts if not part.allowed_by), None):
        return Ask(BY_AUTO, f"`{_truncate(part.text)}` {part.objection}")
    names = dict.fromkeys(part.allowed_by for part in parts if part.allowed_by != BUILT_IN)
    return Allow(" + ".join(names) or RUNS_IN_SANDBOX)


def explain(facts: Facts, rules: Rules) -> Explanation:
    """Explain the decision, with every part of the call and what allows it."""
    verdict = decide(facts, rules)
    is_automatic = rules.mode == "auto" and facts.approval is None and not why_not_contained(facts, rules)
    parts = (
        _automatic_parts(facts, rules)
        if is_automatic and (isinstance(verdict, Allow) or verdict.rule == BY_AUTO)
        else _call_parts(facts, rules, rules.allowlist, rules.rules)
    )
    return Explanation(verdict=verdict, parts=tuple(parts))


def _find_denial(facts: Facts, rules: Rules) -> Deny | None:
    if part := find_control_path(facts, rules):
        return Deny(
            f"{BUILT_IN}: the runtime's own state",
            f"`{_truncate(part)}` belongs to the runtime, and no tool touches it",
        )
    if part := find_impersonation(facts):
        return Deny(f"{BUILT_IN}: decisions of people", f"`{_truncate(part)}` would decide in a person's place")
    if not tool_aliases(facts.tool).isdisjoint(rules.tool_denylist):
        return Deny("safety.tool_denylist")
    for entry in rules.denylist:
        if any(entry_may_match(entry, command.words) for command in facts.commands):
            return Deny(f"safety.denylist: {entry}")
    if rule := _first_applying_rule("deny", facts, rules):
        return Deny(rule.label, rule.justification)
    return Deny("safety.mode: deny") if rules.mode == "deny" else None


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _find_mandatory_ask(facts: Facts, rules: Rules) -> Ask | Allow | None:
    if facts.escalated:
        return Ask(f"{BUILT_IN}: more than the sandbox allows", "the call asks for more than the sandbox allows")
    unclear = facts.unclear or (
        "goes to more places than can be followed" if reaches_too_many_directories(facts) else ""
    )
    if unclear and not contains_unclear(facts, rules):
        return Ask(f"{BUILT_IN}: not understood", unclear)
    if part := find_configuration_change(facts, rules):
        return Ask(
            f"{BUILT_IN}: configuration of the next run", f"`{_truncate(part)}` decides what the next run may do"
        )
    if part := find_possible_control_glob(facts, rules):
        reason = f"`{_truncate(part)}` may stand for a place of the runtime"
        return Ask(f"{BUILT_IN}: perhaps the runtime's own state", reason)
    for rule in rules.rules:
        if rule.effect == "deny" and cannot_be_excluded(rule, facts):
            return Ask(f"{rule.label} cannot be ruled out", rule.justification)
    if facts.risk.level != "high":
        return None
    for rule in rules.rules:
        if rule.risk == "high" and _is_covered(_call_parts(facts, rules, (), (rule,))):
            return Allow(rule.label, rule.justification)
    return Ask(f"{BUILT_IN}: high risk", facts.risk.reason)


def _find_allowance(facts: Facts, rules: Rules) -> Allow | None:
    if not tool_aliases(facts.tool).isdisjoint(rules.tool_allowlist):
        return Allow("safety.tool_allowlist")
    parts = list(_call_parts(facts, rules, rules.allowlist, rules.rules))
    if not _is_covered(parts):
        return None
    return Allow(
        " + ".join(dict.fromkeys(part.allowed_by for part in parts)),
        "; ".join(dict.fromkeys(part.justification for part in parts if part.justification)),
    )


def _is_covered(parts: Iterable[Part]) -> bool:
    """Whether something of the call is allowed, and nothing of it is not; writing nowhere allows nothing."""
    all_parts = list(parts)
    return all(part.allowed_by for part in all_parts) and any(part.allowed_by != BUILT_IN for part in all_parts)


def is_fully_allowed(facts: Facts, rules: Rules) -> bool:
    """Return whether these rules alone, without the mode, allow everything that a call does."""
    return _is_covered(_call_parts(facts, rules, (), rules.rules))


def _first_applying_rule(effect: Literal["deny", "ask"], facts: Facts, rules: Rules) -> Rule | None:
    base = Anchor(rules.root, rules.home)
    for rule in rules.rules:
        if rule.effect == effect and (
            may_apply(rule, facts, base) or (effect == "ask" and cannot_be_excluded(rule, facts))
        ):
            return rule
    return None


def _call_parts(facts: Facts, rules: Rules, allowlist: Iterable[str], candidates: Iterable[Rule]) -> Iterator[Part]:
    """Everything a call does; hosts that a command names are words of that command."""
    base = Anchor(rules.root, rules.home)
    allow_rules = [rule for rule in candidates if may_allow(rule, facts, sandboxed=rules.sandboxed)]
    entries = tuple(allowlist)

    def build_part(kind: PartKind, text: str, covers: Callable[[Rule], bool], otherwise: str = "") -> Part:
        rule = next(filter(covers, allow_rules), None)
        label, justification = (rule.label, rule.justification) if rule else ("", "")
        return Part(
            kind=kind, text=text, allowed_by=otherwise or label, justification="" if otherwise else justification
        )

    has_parts = False
    for command in facts.commands:
        covered = (item for item in entries if entry_covers(item, command.words, settled=command.settled))
        entry = next(covered, None)
        allowlist_label = "" if entry is None else f"safety.allowlist: {entry}"
        command_part = build_part(
            "command",
            command.text,
            lambda rule, target=command: covers_command(rule, target, facts, base),
            allowlist_label,
        )
        if not command_part.allowed_by and needs_no_rule(command, facts):
            command_part = Part(kind="command", text=command.text, allowed_by=BUILT_IN)
        yield command_part
        has_parts = True
    for path in facts.writes:
        discarded = BUILT_IN if path in DISCARDING_TARGETS else ""
        text = "a file whose name only the running shell knows" if path is None else path
        yield build_part("write", text, lambda rule, target=path: covers_path(rule, target, facts, base), discarded)
        has_parts = True
    for touch in facts.files:
        yield build_part("file", touch.path, lambda rule, target=touch.path: covers_path(rule, target, facts, base))
        has_parts = True
    for host in () if facts.commands else facts.hosts:
        yield build_part("host", host, lambda rule, target=host: covers_host(rule, target, facts, base))
        has_parts = True
    if not has_parts:
        yield build_part("call", facts.skill or facts.tool, covers_whole_calls)


def _automatic_parts(facts: Facts, rules: Rules) -> Iterator[Part]:
    """Return the parts of a call with the rules that allow them, the built-in rules of mode `auto` included."""
    commands, writes, files = iter(facts.commands), iter(facts.writes), iter(facts.files)
    for part in _call_parts(facts, rules, rules.allowlist, rules.rules):
        label, objection = RUNTIME_TOOL, ""
        match part.kind:
            case "command":
                command = next(commands)
                label, objection = name_command_rule(command, facts), why_command_asks(command, facts, rules)
            case "write":
                label, objection = WRITES_WORKSPACE, why_write_asks(next(writes), facts, rules)
            case "file":
                touch = next(files)
                changes = touch.touch not in ("read", "list")
                label = WRITES_WORKSPACE if changes else READS_WORKSPACE
                objection = why_file_asks(touch.path, changes=changes, rules=rules)
            case "host":
                objection = "uses the network"
            case "call":
                label = BUILT_IN_SKILL if facts.is_built_in else RUNTIME_TOOL
                objection = SKILL_PROGRAM if facts.skill and not facts.is_built_in else ""
        if not part.allowed_by:
            part = msgspec.structs.replace(part, allowed_by="" if objection else label, objection=objection)
        yield part
