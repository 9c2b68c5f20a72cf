"""Where a line goes before it names a path: every place it may have reached by then."""

import posixpath
import re
from collections.abc import Iterator

from skills_runtime.safety.guard.facts import Facts, SimpleCommand
from skills_runtime.safety.guard.names import program_name
from skills_runtime.safety.policy.paths import tokens_of, unaliased

MAX_PLACES = 64
"""A line that may have reached more places than this is asked about."""
MAX_LOOKS = 20_000
"""And so is one with more words than can be looked at from all of them."""

_GOING = frozenset({"cd", "chdir", "pushd"})
_LONG = ("--chdir", "--directory", "--working-directory", "--cwd", "--cd", "--wd", "--workdir", "--work-tree", "--prefix")
_SHORT = re.compile(r"-[A-Za-z]*?[CDw](.*)", re.DOTALL)
_ARCHIVERS = frozenset({"tar", "bsdtar", "gtar"})
_START = frozenset({"", ".", "./"})


def places_of(facts: Facts) -> tuple[str, ...]:
    """Where relative paths of a call may begin: where it starts, and wherever its commands may have gone from there.

    Whether a step is taken, undone or made in a shell of its own is not asked: each may follow each that stands before.
    """
    places = {"." if facts.directory in _START else facts.directory: None}
    for command in facts.commands:
        for step in _steps(command):
            for place in list(places):
                places[joined(place, step)] = None
                if len(places) > MAX_PLACES:
                    return tuple(places)
    return tuple(places)


def wanders(facts: Facts) -> bool:
    """Whether a line goes to more places than can be looked at."""
    places = places_of(facts)
    if len(places) == 1:
        return False
    words = sum(len(command.words) for command in facts.commands) + len(facts.reads) + len(facts.writes)
    return len(places) > MAX_PLACES or len(places) * words > MAX_LOOKS


def joined(place: str, path: str) -> str:
    """A path as it is seen from a place."""
    whole = path if path.startswith(("/", "~")) else posixpath.join(place, path)
    return whole if whole.startswith("~") else posixpath.normpath(whole)


def seen_from(places: tuple[str, ...], path: str) -> Iterator[str]:
    """A path from each of the places, and by each of its names."""
    for name in (path, *unaliased(path)):
        yield name
        if not name.startswith(("/", "~")):
            yield from (joined(place, name) for place in places if place != ".")


def _steps(command: SimpleCommand) -> Iterator[str]:
    for step in _named_steps(command):
        yield step
        yield from unaliased(step)


def _named_steps(command: SimpleCommand) -> Iterator[str]:
    words = command.words
    program = program_name(words[0] or "").rpartition("/")[2] if words else ""
    if program in _GOING:
        if None in words:  # a pattern, or a variable that names at least a part of it
            yield from (token for token in tokens_of(command.text) if token != words[0])
        operands = [word for word in words[1:] if word is not None and not word.startswith("-")]
        yield from operands if len(words) > 1 else ("~",)
    for index, word in enumerate(words[1:], 1):
        following = words[index + 1] if index + 1 < len(words) else None
        if word is not None and (value := _value(word, following, first=index == 1 and program in _ARCHIVERS)):
            yield value


def _value(word: str, following: str | None, *, first: bool) -> str | None:
    """The place that an option names, behind it or glued to it."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return (value if equals else following) if name in _LONG else None
    if first and word.isalpha() and "C" in word:
        return following
    match = _SHORT.fullmatch(word)
    return (match[1] or following) if match else None
