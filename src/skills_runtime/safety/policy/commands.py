"""Whether a command fits a pattern, and every directory that a line may have reached before it names a path.

A pattern fits strictly where that allows a command, and loosely where that stops it.
"""

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from skills_runtime.safety.guard.facts import Facts, SimpleCommand
from skills_runtime.safety.guard.known_programs import program_name
from skills_runtime.safety.policy.patterns import unaliased, written_words
from skills_runtime.safety.policy.rule import ANY_WORDS, END, ONE_WORD

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


def changes_directory(facts: Facts) -> bool:
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


_MOVING = frozenset({"cd", "chdir", "pushd", "popd", "ssh", "chroot", "unshare", "nsenter", "sudo", "doas", "su"})
_MOVING_OPTIONS = ("-C", "-D", "--chdir", "--directory", "--working-directory", "--cwd", "--cd", "--wd", "--work-tree")

_MARKED = re.compile(r"\\+\$")
_LIKE_END = re.compile(r"\\*\$")

Words = Sequence[str | None]


@lru_cache(maxsize=4096)
def words_of(entry: str) -> tuple[str, ...]:
    """The words of a list entry or pattern, as a shell would take them apart."""
    try:
        return tuple(shlex.split(entry))
    except ValueError:  # a quote that nobody closed
        return tuple(entry.split())


def base_name(program: str) -> str:
    """The last part of a program's path."""
    return program.rpartition("/")[2]


def moves(command: SimpleCommand) -> bool:
    """Whether relative paths may mean something else behind this command."""
    program = command.words[0] if command.words else None
    return (
        program is None
        or base_name(program) in _MOVING
        or any((word or "").startswith(_MOVING_OPTIONS) for word in command.words[1:])
        or any(option_places(command))
    )


def is_elsewhere(facts: Facts) -> bool:
    """Whether relative paths of a call may mean something else than from the top of the workspace."""
    return facts.directory not in (".", "./", "") or any(map(moves, facts.commands))


def entry_covers(entry: str, words: Words, *, settled: bool = False) -> bool:
    """Whether an entry of the allowlist is the beginning of a command."""
    wanted = words_of(entry)
    if wanted and wanted[-1] == ANY_WORDS:
        return _begins(wanted[:-1], words, open_end=True)
    return any(_begins(wanted, form, open_end=settled) for form in _forms(words))


def pattern_covers(pattern: Sequence[str], words: Words, *, settled: bool = False) -> bool:
    """Whether a command surely fits a pattern.

    A word that nobody knows may be any option of the program, so it fits only a pattern that ends in `**`, unless the
    command is settled: then it only names what the command looks at.
    """
    if pattern and pattern[-1] == ANY_WORDS:
        return _begins(pattern[:-1], words, wild=True, open_end=True)
    if pattern and pattern[-1] == END:
        return len(words) == len(pattern) - 1 and _begins(pattern[:-1], words, wild=True)
    wanted = plain_pattern(pattern)
    return any(_begins(wanted, form, wild=True, open_end=settled) for form in _forms(words))


_SHOWING = frozenset({"--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"})


def _forms(words: Words) -> Iterator[Words]:
    """A command as it is, and without options before its verb that change nothing but how or where it looks."""
    yield words
    if not words or words[0] is None or program_name(words[0]) != "git":
        return
    index = 1
    while index < len(words):
        if words[index] in _SHOWING:
            index += 1
        elif words[index] == "-C" and index + 1 < len(words) and stays_inside(words[index + 1]):
            index += 2
        else:
            break
    if index > 1:
        yield (words[0], *words[index:])


def stays_inside(path: str | None) -> bool:
    """Whether a path is one below where it is seen from, by its name."""
    return bool(path) and not path.startswith(("/", "~", "-")) and ".." not in path.split("/")


_BUILT_IN = frozenset({"cd", "echo", "printf", "true", "false", ":", "test", "[", "pwd", "break", "continue", "exit"})


def needs_no_rule(command: SimpleCommand, facts: Facts) -> bool:
    """Whether a command of the shell itself does nothing but help those around it to look at something.

    It prints, tests, or goes to a directory below; in a line that could do any harm it is a part like all others.
    """
    if facts.risk.level != "low" or not command.words or command.words[0] not in _BUILT_IN:
        return False
    if command.words[0] != "cd":
        return command.settled
    return len(command.words) == 2 and stays_inside(command.words[1]) and stays_inside(facts.directory or ".")


def plain_pattern(pattern: Sequence[str]) -> Sequence[str]:
    """The pattern with its last word as it is in a command, where it had to be told from the mark of the end."""
    return (*pattern[:-1], pattern[-1][1:]) if pattern and _MARKED.fullmatch(pattern[-1]) else pattern


def marked_pattern(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a beginning as a pattern: a last word that looks like the mark of the end is told from it."""
    return (*words[:-1], f"\\{words[-1]}") if words and _LIKE_END.fullmatch(words[-1]) else tuple(words)


def _begins(wanted: Sequence[str], words: Words, *, wild: bool = False, open_end: bool = False) -> bool:
    if not wanted or len(words) < len(wanted) or (None in words and not open_end):
        return False
    # A plain name means the program of the system; a path means itself and nothing else.
    program, meant = words[0], wanted[0]
    if not program or not meant or meant == ONE_WORD:
        return False
    if program != meant and ("/" in meant or program_name(program) != meant):
        return False
    return all(
        word is not None and (word == want or (wild and want == ONE_WORD))
        for word, want in zip(words[1:], wanted[1:], strict=False)
    )


def entry_may_match(entry: str, words: Words) -> bool:
    """Whether a command is, or could turn out to be, one that an entry of the denylist means."""
    return _may_begin(words_of(entry), words)


def pattern_may_match(pattern: Sequence[str], words: Words) -> bool:
    """Whether a command fits, or could turn out to fit, a pattern; options between its words do not hide it."""
    if pattern and pattern[-1] == END:
        return _may_begin(pattern[:-1], words, wild=True, whole=True)
    fixed = pattern[:-1] if pattern and pattern[-1] == ANY_WORDS else plain_pattern(pattern)
    return _may_begin(fixed, words, wild=True)


def _may_begin(wanted: Sequence[str], words: Words, *, wild: bool = False, whole: bool = False) -> bool:
    if not wanted or not words or not _may_be_program(words[0], wanted[0], wild=wild):
        return False
    if words[0] is None:
        return True
    places = {1}
    for want in wanted[1:]:
        reached = _past_options(places, words)
        if any(words[place] is None for place in reached):
            return True
        places = {place + 1 for place in reached if words[place] == want or (wild and want == ONE_WORD)}
        if not places:
            return False
    return not whole or any(all(word is None for word in words[place:]) for place in places)


def _past_options(places: set[int], words: Words) -> set[int]:
    """Where the next word of a pattern may stand: here, or behind options and what belongs to them."""
    reached: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place >= len(words) or place in reached:
            continue
        reached.add(place)
        if (words[place] or "").startswith("-"):
            waiting += [place + 1, place + 2]
    return reached


def _may_be_program(word: str | None, wanted: str, *, wild: bool) -> bool:
    if word is None or (wild and wanted == ONE_WORD):
        return True
    given, meant = word.casefold(), wanted.casefold()
    return meant in (given, base_name(given)) or (
        "/" in meant and "/" in given and posixpath.normpath(given) == posixpath.normpath(meant)
    )
