"""What no tool touches: the runtime's own state, whoever allows it; and what no tool changes unasked.

Looks at names only. The fence keeps processes away from these places; this keeps a call from being made at all.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import chain, pairwise

from skills_runtime.protected_names import ENV_FILE_PREFIX, RUN_CONFIG_FILES
from skills_runtime.safety.guard.facts import Facts, SimpleCommand
from skills_runtime.safety.policy.commands import base_name, is_elsewhere, places_of, seen_from
from skills_runtime.safety.policy.patterns import (
    Anchor,
    Parts,
    absolute_parts,
    has_glob,
    place_of,
    tokens_of,
    written_words,
)
from skills_runtime.safety.policy.rule import Rules
from skills_runtime.text import fold_name

STATE_DIRECTORY = ".skills_runtime_sdk"

_WILD = re.compile(r"\[[^\]]*\]|[*?]")
_FIRST_WILD = re.compile(r"[*?\[]")
_MIN_LITERAL = 3
"""How many characters of its own a pattern needs to be taken for the name of the state directory."""
_MIN_BEGINNING = 2
"""Or how many that it begins with."""
_INSIDE = ("runs", "bundles", "keys")
"""What the state directory holds."""


def glob_of_control(token: str, places: tuple[Parts, ...], base: Anchor, *, bare: bool = False) -> bool:
    """Whether a pattern may stand for one of our places or for something in it.

    With `bare`, names that are nothing but a pattern count too where more names follow.
    """
    names = tuple(map(fold_name, filter(None, token.split("/"))))
    if any(_is_state(names, index, bare=bare) for index in range(len(names))):
        return True
    parts = absolute_parts(token, base) or ()
    return any(
        len(parts) >= len(place)
        and all(map(_may_be, place, parts))
        and (not _is_bare(parts[len(place) - 1]) or (bare and len(parts) > len(place)))
        for place in places
    )


def _is_state(names: Parts, index: int, *, bare: bool) -> bool:
    name = names[index]
    if not has_glob(name) or not _may_be(STATE_DIRECTORY, name):
        return False
    if len(_WILD.sub("", name)) >= _MIN_LITERAL or len(_FIRST_WILD.split(name, 1)[0]) >= _MIN_BEGINNING:
        return True
    following = names[index + 1] if index + 1 < len(names) else ""
    return bare and not _is_bare(following) and any(_may_be(inner, following) for inner in _INSIDE)


def _may_be(name: str, pattern: str) -> bool:
    """Whether a shell may put the name in the place of the pattern; a leading dot must be written."""
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return name == pattern or fnmatchcase(name, pattern)


def _is_bare(pattern: str) -> bool:
    return not _WILD.sub("", pattern).strip(".")


PROJECT_CONFIGURATION = (*RUN_CONFIG_FILES, ENV_FILE_PREFIX)
"""The files of a workspace that the next run in it obeys."""
PROGRAMS = frozenset({"skills-runtime", "skills-runtime-sdk", "kgent"})
"""The names of our own program."""
DECIDING = frozenset({"approvals", "answer", "review", "accept", "confirm"})
"""Its commands that speak for a person."""

_CONTROL = re.compile(
    r"\.skills_runtime_sdk"
    r"|(?<![\w.-])skills_runtime/(?:keys|rules\.yaml|config\.yaml|ledger\.\w+)(?![\w.-])"
    r"|\.config/skills_runtime(?![\w.-])"
    r"|\.local/state/skills_runtime(?![\w.-])"
    r"|skills_runtime_sdk_keys_dir"
    r"|xdg_(?:state|config)_home\W{0,3}/skills_runtime"
)
_USUAL = ("~/.config/skills_runtime", "~/.local/state/skills_runtime")
_CONFIGURATION_NAMES = frozenset(map(base_name, PROJECT_CONFIGURATION))
_DETOUR = re.compile(r"/(?:\.?/)+")


def control_state(facts: Facts, rules: Rules) -> str:
    """The part of a call that names the runtime's own state; empty when none does."""
    written = (text for command in facts.commands for text in (command.text, *filter(None, command.words)))
    for text in chain(_paths(facts), written):
        if _CONTROL.search(_DETOUR.sub("/", fold_name(text))):
            return text
    base = Anchor(rules.root, rules.home)
    places = _control_places(rules, base)
    for token, path in _seen(facts, chain(_paths(facts), _word_tokens(facts))):
        if _is_control(path, places, base) or (path != token and _CONTROL.search(fold_name(path))):
            return token
    return ""


def may_be_control(facts: Facts, rules: Rules) -> str:
    """The part of a call that stands for any names, and so perhaps for our own; empty when none does."""
    tokens = list(filter(has_glob, chain(_paths(facts), _word_tokens(facts))))
    if not tokens:
        return ""
    base = Anchor(rules.root, rules.home)
    places = _control_places(rules, base)
    seen = _seen(facts, tokens)
    return next((token for token, path in seen if glob_of_control(path, places, base, bare=True)), "")


def _control_places(rules: Rules, base: Anchor) -> tuple[Parts, ...]:
    given = (*rules.control, *(_USUAL if rules.home else ()))
    return tuple(filter(None, (absolute_parts(place, base) for place in given)))


def _seen(facts: Facts, tokens: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each token with every path that it may mean."""
    places = places_of(facts)
    for token in tokens:
        yield from ((token, path) for path in seen_from(places, token))


def impersonates_user(facts: Facts) -> str:
    """The command that would answer in a person's place; empty when none would."""
    return next(
        (
            one.text
            for one in facts.commands
            if _is_own(one) and (None in one.words or not DECIDING.isdisjoint(one.words))
        ),
        "",
    )


def needs_consent(facts: Facts, rules: Rules) -> str:
    """The part of a call that could loosen the next run; empty when none could."""
    for command in facts.commands:
        if _is_own(command):
            return command.text
    changed = [touch.path for touch in facts.files if touch.touch not in ("read", "list")]
    named = (*changed, *filter(None, facts.writes), *_word_tokens(facts))
    if not named:
        return ""
    base = Anchor(rules.root, rules.home)
    files = {absolute_parts(path, base) or path for path in (*PROJECT_CONFIGURATION, *rules.consent)}
    elsewhere = is_elsewhere(facts)
    for token, path in _seen(facts, named):
        if (absolute_parts(path, base) or fold_name(posixpath.normpath(path))) in files:
            return token
        if elsewhere and fold_name(base_name(token)) in _CONFIGURATION_NAMES:
            return token
    return ""


def _is_control(token: str, places: tuple[tuple[str, ...], ...], base: Anchor) -> bool:
    parts = absolute_parts(token, base)
    if parts is not None and any(parts[: len(place)] == place for place in places):
        return True
    if has_glob(token):
        return glob_of_control(token, places, base)
    if ".." not in token:
        return False
    place = place_of(token, base)  # `skills_runtime/x/../keys` is found only without its detour
    return place is not None and _CONTROL.search(fold_name("/".join(place.parts))) is not None


def _paths(facts: Facts) -> Iterator[str]:
    """What a call surely names as a path."""
    yield facts.directory
    yield from (touch.path for touch in facts.files)
    yield from filter(None, facts.writes)
    yield from filter(None, facts.reads)


def _word_tokens(facts: Facts) -> Iterator[str]:
    for command in facts.commands:
        for word in filter(None, command.words):
            yield from tokens_of(word)
        if None in command.words:  # what is not known is at least written somehow
            for part in written_words(command.text):
                yield from tokens_of(part)


def _is_own(command: SimpleCommand) -> bool:
    words = command.words
    if words and words[0] is not None and base_name(words[0]).casefold() in PROGRAMS:
        return True
    return any(
        one == "-m" and (other or "").partition(".")[0] in ("skills_runtime", "kgent") for one, other in pairwise(words)
    )
