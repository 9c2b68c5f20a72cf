"""Paths that no rule can open: the runtime's own state; and files that cannot change without approval.

Checks names only. The sandbox blocks access by processes; this check denies the call itself.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import chain, pairwise

from skills_runtime.protected_names import ENV_FILE_PREFIX, RUN_CONFIG_FILES
from skills_runtime.safety.guard.facts import Facts, SimpleCommand
from skills_runtime.safety.policy.commands import base_name, expand_path, find_directories, may_leave_root
from skills_runtime.safety.policy.patterns import (
    Anchor,
    Parts,
    absolute_parts,
    has_glob,
    literal_words,
    normalize_path,
    path_tokens,
)
from skills_runtime.safety.policy.rule import Rules
from skills_runtime.text import fold_name

STATE_DIRECTORY = ".skills_runtime_sdk"

_WILD = re.compile(r"\[[^\]]*\]|[*?]")
_FIRST_WILD = re.compile(r"[*?\[]")
_MIN_LITERAL = 3
"""Literal characters that a pattern needs to count as the name of the state directory."""
_MIN_PREFIX = 2
"""Or the number of literal characters at its start."""
_STATE_SUBDIRECTORIES = ("runs", "bundles", "keys")
"""The content of the state directory."""


def glob_may_match_control(token: str, control_paths: tuple[Parts, ...], base: Anchor, *, bare: bool = False) -> bool:
    """Return whether a pattern may match a protected path or something in it.

    With `bare`, names that consist of a wildcard only count too if more names follow.
    """
    names = tuple(map(fold_name, filter(None, token.split("/"))))
    if any(_may_be_state_directory(names, index, bare=bare) for index in range(len(names))):
        return True
    parts = absolute_parts(token, base) or ()
    return any(
        len(parts) >= len(control_path)
        and all(map(_glob_matches, control_path, parts))
        and (not _is_only_wildcards(parts[len(control_path) - 1]) or (bare and len(parts) > len(control_path)))
        for control_path in control_paths
    )


def _may_be_state_directory(names: Parts, index: int, *, bare: bool) -> bool:
    name = names[index]
    if not has_glob(name) or not _glob_matches(STATE_DIRECTORY, name):
        return False
    if len(_WILD.sub("", name)) >= _MIN_LITERAL or len(_FIRST_WILD.split(name, 1)[0]) >= _MIN_PREFIX:
        return True
    following = names[index + 1] if index + 1 < len(names) else ""
    return (
        bare
        and not _is_only_wildcards(following)
        and any(_glob_matches(inner, following) for inner in _STATE_SUBDIRECTORIES)
    )


def _glob_matches(name: str, pattern: str) -> bool:
    """Return whether a shell may expand the pattern to the name; a leading dot must be literal."""
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return name == pattern or fnmatchcase(name, pattern)


def _is_only_wildcards(pattern: str) -> bool:
    return not _WILD.sub("", pattern).strip(".")


PROJECT_CONFIGURATION = (*RUN_CONFIG_FILES, ENV_FILE_PREFIX)
"""Files of a workspace that configure the next run in it."""
PROGRAMS = frozenset({"skills-runtime", "skills-runtime-sdk", "kgent"})
"""The names of our own program."""
DECISION_COMMANDS = frozenset({"approvals", "answer", "review", "accept", "confirm", "delete", "prune"})
"""Its commands that decide in the user's name, or delete records."""

_CONTROL = re.compile(
    r"\.skills_runtime_sdk"
    r"|(?<![\w.-])skills_runtime/(?:keys|rules\.yaml|config\.yaml|ledger\.\w+)(?![\w.-])"
    r"|\.config/skills_runtime(?![\w.-])"
    r"|\.local/state/skills_runtime(?![\w.-])"
    r"|skills_runtime_sdk_keys_dir"
    r"|xdg_(?:state|config)_home\W{0,3}/skills_runtime"
)
_DEFAULT_CONTROL_PATHS = ("~/.config/skills_runtime", "~/.local/state/skills_runtime")
_CONFIGURATION_NAMES = frozenset(map(base_name, PROJECT_CONFIGURATION))
_DETOUR = re.compile(r"/(?:\.?/)+")


def find_control_path(facts: Facts, rules: Rules) -> str:
    """Return the part of a call that names the runtime's own state; empty when none does."""
    command_texts = (text for command in facts.commands for text in (command.text, *filter(None, command.words)))
    for text in chain(_explicit_paths(facts), command_texts):
        if _CONTROL.search(_DETOUR.sub("/", fold_name(text))):
            return text
    base = Anchor(rules.root, rules.home)
    control_paths = _list_control_paths(rules, base)
    for token, path in _expand_tokens(facts, chain(_explicit_paths(facts), _word_tokens(facts))):
        if _is_control(path, control_paths, base) or (path != token and _CONTROL.search(fold_name(path))):
            return token
    return ""


def find_possible_control_glob(facts: Facts, rules: Rules) -> str:
    """Return the part of a call with a glob that could match the runtime's own state; empty when none does."""
    tokens = list(filter(has_glob, chain(_explicit_paths(facts), _word_tokens(facts))))
    if not tokens:
        return ""
    base = Anchor(rules.root, rules.home)
    control_paths = _list_control_paths(rules, base)
    candidates = _expand_tokens(facts, tokens)
    return next(
        (token for token, path in candidates if glob_may_match_control(path, control_paths, base, bare=True)), ""
    )


def _list_control_paths(rules: Rules, base: Anchor) -> tuple[Parts, ...]:
    paths = (*rules.control, *(_DEFAULT_CONTROL_PATHS if rules.home else ()))
    return tuple(filter(None, (absolute_parts(path, base) for path in paths)))


def _expand_tokens(facts: Facts, tokens: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each token with every path that it may mean."""
    directories = find_directories(facts)
    for token in tokens:
        yield from ((token, path) for path in expand_path(directories, token))


def find_impersonation(facts: Facts) -> str:
    """Return the command that would decide in the user's name; empty when there is none."""
    return next(
        (
            command.text
            for command in facts.commands
            if _runs_own_program(command) and (None in command.words or not DECISION_COMMANDS.isdisjoint(command.words))
        ),
        "",
    )


def find_configuration_change(facts: Facts, rules: Rules) -> str:
    """Return the part of a call that could loosen the settings of the next run; empty when there is none."""
    for command in facts.commands:
        if _runs_own_program(command):
            return command.text
    changed_paths = [touch.path for touch in facts.files if touch.touch not in ("read", "list")]
    tokens = (*changed_paths, *filter(None, facts.writes), *_word_tokens(facts))
    if not tokens:
        return ""
    base = Anchor(rules.root, rules.home)
    files = {absolute_parts(path, base) or path for path in (*PROJECT_CONFIGURATION, *rules.consent)}
    leaves_root = may_leave_root(facts)
    for token, path in _expand_tokens(facts, tokens):
        if (absolute_parts(path, base) or fold_name(posixpath.normpath(path))) in files:
            return token
        if leaves_root and fold_name(base_name(token)) in _CONFIGURATION_NAMES:
            return token
    return ""


def _is_control(token: str, control_paths: tuple[tuple[str, ...], ...], base: Anchor) -> bool:
    parts = absolute_parts(token, base)
    if parts is not None and any(parts[: len(control_path)] == control_path for control_path in control_paths):
        return True
    if has_glob(token):
        return glob_may_match_control(token, control_paths, base)
    if ".." not in token:
        return False
    normalized = normalize_path(token, base)  # `skills_runtime/x/../keys` is found only without its detour
    return normalized is not None and _CONTROL.search(fold_name("/".join(normalized.parts))) is not None


def _explicit_paths(facts: Facts) -> Iterator[str]:
    """Yield what a call certainly names as a path."""
    yield facts.directory
    yield from (touch.path for touch in facts.files)
    yield from filter(None, facts.writes)
    yield from filter(None, facts.reads)


def _word_tokens(facts: Facts) -> Iterator[str]:
    for command in facts.commands:
        for word in filter(None, command.words):
            yield from path_tokens(word)
        if None in command.words:  # what is not known is at least written somehow
            for part in literal_words(command.text):
                yield from path_tokens(part)


def _runs_own_program(command: SimpleCommand) -> bool:
    words = command.words
    if words and words[0] is not None and base_name(words[0]).casefold() in PROGRAMS:
        return True
    return any(
        option == "-m" and (value or "").partition(".")[0] in ("skills_runtime", "kgent")
        for option, value in pairwise(words)
    )
