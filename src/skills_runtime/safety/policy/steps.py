"""Where a line goes before it names a path: every place it may have reached by then."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from skills_runtime.safety.guard.facts import Facts, SimpleCommand
from skills_runtime.safety.policy.paths import unaliased, written_words

MAX_PLACES = 128
"""A line that may have reached more places than this is asked about."""
MAX_LOOKS = 8_000
"""And so is one with more words than can be looked at from all of them."""

_GOING = frozenset({"cd", "chdir", "pushd"})
_LONG = (
    "--chdir",
    "--directory",
    "--working-directory",
    "--cwd",
    "--cd",
    "--wd",
    "--workdir",
    "--work-tree",
    "--prefix",
)
_MIN_NAME = 4
"""How much of a long option must be written; programs take its beginning for all of it."""
_SHORT = re.compile(r"-[A-Za-z]*?C(.*)", re.DOTALL)
_OTHER_SHORT = {"sudo": "-D", "nsenter": "-w", "unshare": "-w", "docker": "-w", "podman": "-w"}
_ARCHIVERS = frozenset({"tar", "bsdtar", "gtar"})
_START = frozenset({"", ".", "./"})


def places_of(facts: Facts) -> tuple[str, ...]:
    """Where relative paths of a call may begin: where it starts, and wherever its commands may have gone from there.

    Whether a step is taken, undone or made in a shell of its own is not asked: each may follow each that stands before.
    A place that an option names holds for its program and for what that runs. Of a call that wanders it is the start.
    """
    places, lost = _followed(facts.directory, facts.commands)
    return places[:1] if lost else places


def wanders(facts: Facts) -> bool:
    """Whether a line goes to more places than can be looked at."""
    return _followed(facts.directory, facts.commands)[1]


@lru_cache(maxsize=4)
def _followed(directory: str, commands: tuple[SimpleCommand, ...]) -> tuple[tuple[str, ...], bool]:
    """The places, and whether there are too many of them for that many words."""
    going = {"." if directory in _START else directory: None}
    found = dict(going)
    scopes: list[tuple[int, dict[str, None]]] = []
    for command in commands:
        while scopes and scopes[-1][0] >= command.depth:
            scopes.pop()
        here = scopes[-1][1] if scopes else going
        _go(here, _operands(command))
        inside = dict(here)
        _go(inside, option_places(command))
        if len(inside) > len(here):
            scopes.append((command.depth, inside))
        found |= inside
        if len(found) > MAX_PLACES:
            return tuple(found), True
    words = sum(len(command.words) for command in commands)
    return tuple(found), len(found) > 1 and len(found) * words > MAX_LOOKS


def _go(places: dict[str, None], steps: Iterable[str]) -> None:
    """Add where these steps lead from every place."""
    for step in steps:
        for name in (step, *unaliased(step)):
            for place in list(places):
                places[joined(place, name)] = None
        if len(places) > MAX_PLACES:
            return


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


def _operands(command: SimpleCommand) -> Iterator[str]:
    """Where a command goes for all that follow."""
    words = command.words
    if _program(command) not in _GOING:
        return
    if None in words:  # a pattern, or a variable: at least a part of it is written
        yield from written_words(command.text)[1:]
    yield from (word for word in words[1:] if word is not None and not word.startswith("-"))
    if len(words) == 1:
        yield "~"


def option_places(command: SimpleCommand) -> Iterator[str]:
    """Where a command goes by its own options."""
    program, words = _program(command), command.words
    for index, word in enumerate(words[1:], 1):
        following = words[index + 1] if index + 1 < len(words) else None
        if word is None:
            continue
        if index == 1 and program in _ARCHIVERS and word.isalpha() and "C" in word:
            yield from filter(None, words[2:5])
        elif word.startswith("-") and (value := _value(word, following, _OTHER_SHORT.get(program, "-C"))):
            yield value


def _program(command: SimpleCommand) -> str:
    return (command.words[0] or "").rpartition("/")[2] if command.words else ""


def _value(word: str, following: str | None, short: str) -> str | None:
    """The place that an option names, behind it or glued to it."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        known = len(name) >= _MIN_NAME and any(one.startswith(name) for one in _LONG)
        return (value if equals else following) if known else None
    if word.startswith(short):
        return word[len(short) :] or following
    match = _SHORT.fullmatch(word)
    return (match[1] or following) if match else None
