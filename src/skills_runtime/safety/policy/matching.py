"""Whether a rule is about a call: what stops a call needs one part that may fit, what allows it every part."""

from collections.abc import Iterator

from skills_runtime.safety.guard.facts import LEVELS, Facts, SimpleCommand
from skills_runtime.safety.policy.commands import is_elsewhere, pattern_covers, pattern_may_match
from skills_runtime.safety.policy.names import is_host, is_tool, named
from skills_runtime.safety.policy.paths import Anchor, fits, has_glob, may_fit, tokens_of
from skills_runtime.safety.policy.rule import END, Rule
from skills_runtime.safety.policy.steps import places_of, seen_from


def stops(rule: Rule, facts: Facts, base: Anchor) -> bool:
    """Whether a deny or ask rule is about the call, or about something the call could turn out to be."""
    return (
        _is_of_concern(rule, facts)
        and (not rule.path or _touches(rule, facts, base))
        and (not rule.host or any(is_host(rule.host, host) for host in facts.hosts))
    )


def could_stop(rule: Rule, facts: Facts) -> bool:
    """Whether only words that nobody knows keep us from telling whether the rule is about the call."""
    unknown = None in facts.reads or any(None in command.words for command in facts.commands)
    return unknown and bool(rule.path or rule.host) and _is_of_concern(rule, facts)


def _is_of_concern(rule: Rule, facts: Facts) -> bool:
    return (
        (not rule.tool or is_tool(rule.tool, facts.tool))
        and (rule.risk is None or LEVELS.index(facts.risk.level) >= LEVELS.index(rule.risk))
        and (not rule.skill or named(rule.skill, facts.skill))
        and (not rule.command or any(_may_be(rule, command) for command in facts.commands))
    )


def _may_be(rule: Rule, command: SimpleCommand) -> bool:
    return any(pattern_may_match(pattern, command.words) for pattern in rule.command)


def _touches(rule: Rule, facts: Facts, base: Anchor) -> bool:
    if None in facts.writes:
        return True
    return any(may_fit(pattern, path, base) for path in _paths(facts) for pattern in rule.path)


def _paths(facts: Facts) -> Iterator[str]:
    """Every path a call names, from the top and from wherever it goes; arguments are taken for paths too."""
    places = places_of(facts)
    for path in _named_paths(facts):
        yield from seen_from(places, path)


def _named_paths(facts: Facts) -> Iterator[str]:
    yield facts.directory
    yield from (touch.path for touch in facts.files)
    yield from filter(None, facts.writes)
    yield from (path for path in facts.reads if path is not None and not has_glob(path))
    for command in facts.commands:
        for word in filter(None, command.words[1:]):
            yield from tokens_of(word)


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
    changed = bool(facts.variables) or facts.directory not in ("", ".", "./")
    patterns = (pattern for pattern in rule.command if not (changed and pattern[-1:] == (END,)))
    return any(pattern_covers(pattern, command.words) for pattern in patterns)


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
