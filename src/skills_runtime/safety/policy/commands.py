"""Match commands with patterns, and find every directory that a line may have changed to.

Matching is strict where it allows a command, and loose where it denies one.
"""

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from skills_runtime.safety.guard.facts import Facts, SimpleCommand
from skills_runtime.safety.guard.known_programs import program_name
from skills_runtime.safety.policy.patterns import literal_words, resolve_proc_aliases
from skills_runtime.safety.policy.rule import ANY_WORDS, END, ONE_WORD

MAX_DIRECTORIES = 128
"""A line that may reach more directories needs an approval."""
MAX_PATH_CHECKS = 8_000
"""So does a line with more combinations of words and directories."""

_CD_PROGRAMS = frozenset({"cd", "chdir", "pushd"})
_DIRECTORY_OPTIONS = (
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
# Programs accept abbreviated long options; shorter ones than this are ambiguous.
_MIN_OPTION_CHARS = 4
_SHORT_DIRECTORY_OPTION = re.compile(r"-[A-Za-z]*?C(.*)", re.DOTALL)
_SHORT_OPTION_BY_PROGRAM = {"sudo": "-D", "nsenter": "-w", "unshare": "-w", "docker": "-w", "podman": "-w"}
_ARCHIVERS = frozenset({"tar", "bsdtar", "gtar"})
_START = frozenset({"", ".", "./"})


def find_directories(facts: Facts) -> tuple[str, ...]:
    """Return every directory that relative paths of a call may start from.

    Steps are not checked for being skipped, undone or made in a subshell: each may follow every earlier one. A
    directory given by an option applies to that program and what it runs. With too many steps only the start is
    returned.
    """
    directories, too_many = _follow_directories(facts.directory, facts.commands)
    return directories[:1] if too_many else directories


def reaches_too_many_directories(facts: Facts) -> bool:
    """Return whether a line reaches more directories than can be checked."""
    return _follow_directories(facts.directory, facts.commands)[1]


@lru_cache(maxsize=4)
def _follow_directories(directory: str, commands: tuple[SimpleCommand, ...]) -> tuple[tuple[str, ...], bool]:
    """Return the working directories of the commands, and whether there are too many to follow."""
    current = {"." if directory in _START else directory: None}
    reachable = dict(current)
    scopes: list[tuple[int, dict[str, None]]] = []
    for command in commands:
        while scopes and scopes[-1][0] >= command.depth:
            scopes.pop()
        outer = scopes[-1][1] if scopes else current
        _add_directories(outer, _cd_targets(command))
        inside = dict(outer)
        _add_directories(inside, option_directories(command))
        if len(inside) > len(outer):
            scopes.append((command.depth, inside))
        reachable |= inside
        if len(reachable) > MAX_DIRECTORIES:
            return tuple(reachable), True
    words = sum(len(command.words) for command in commands)
    return tuple(reachable), len(reachable) > 1 and len(reachable) * words > MAX_PATH_CHECKS


def _add_directories(directories: dict[str, None], targets: Iterable[str]) -> None:
    """Add the targets of these steps from every directory."""
    for target in targets:
        for name in (target, *resolve_proc_aliases(target)):
            for directory in list(directories):
                directories[join_path(directory, name)] = None
        if len(directories) > MAX_DIRECTORIES:
            return


def join_path(directory: str, path: str) -> str:
    """Join a path to a directory."""
    joined = path if path.startswith(("/", "~")) else posixpath.join(directory, path)
    return joined if joined.startswith("~") else posixpath.normpath(joined)


def expand_path(directories: tuple[str, ...], path: str) -> Iterator[str]:
    """Yield a path as seen from each directory, under each of its names."""
    for name in (path, *resolve_proc_aliases(path)):
        yield name
        if not name.startswith(("/", "~")):
            yield from (join_path(directory, name) for directory in directories if directory != ".")


def _cd_targets(command: SimpleCommand) -> Iterator[str]:
    """Return the targets of a command that changes directory for all later ones."""
    words = command.words
    if _program(command) not in _CD_PROGRAMS:
        return
    if None in words:  # a pattern, or a variable: at least a part of it is written
        yield from literal_words(command.text)[1:]
    yield from (word for word in words[1:] if word is not None and not word.startswith("-"))
    if len(words) == 1:
        yield "~"


def option_directories(command: SimpleCommand) -> Iterator[str]:
    """Return the directories that a command's own options change to."""
    program, words = _program(command), command.words
    for index, word in enumerate(words[1:], 1):
        following = words[index + 1] if index + 1 < len(words) else None
        if word is None:
            continue
        if index == 1 and program in _ARCHIVERS and word.isalpha() and "C" in word:
            yield from filter(None, words[2:5])
        elif word.startswith("-") and (
            value := _option_directory(word, following, _SHORT_OPTION_BY_PROGRAM.get(program, "-C"))
        ):
            yield value


def _program(command: SimpleCommand) -> str:
    return (command.words[0] or "").rpartition("/")[2] if command.words else ""


def _option_directory(word: str, following: str | None, short: str) -> str | None:
    """Return the directory that an option names, after it or joined to it."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        is_directory_option = len(name) >= _MIN_OPTION_CHARS and any(
            option.startswith(name) for option in _DIRECTORY_OPTIONS
        )
        return (value if equals else following) if is_directory_option else None
    if word.startswith(short):
        return word[len(short) :] or following
    match = _SHORT_DIRECTORY_OPTION.fullmatch(word)
    return (match[1] or following) if match else None


_DIRECTORY_CHANGERS = frozenset(
    {"cd", "chdir", "pushd", "popd", "ssh", "chroot", "unshare", "nsenter", "sudo", "doas", "su"}
)
_DIRECTORY_CHANGING_OPTIONS = (
    "-C",
    "-D",
    "--chdir",
    "--directory",
    "--working-directory",
    "--cwd",
    "--cd",
    "--wd",
    "--work-tree",
)

_ESCAPED_END = re.compile(r"\\+\$")
_LIKE_END = re.compile(r"\\*\$")

Words = Sequence[str | None]


@lru_cache(maxsize=4096)
def split_words(entry: str) -> tuple[str, ...]:
    """Split a list entry or pattern into words as a shell would."""
    try:
        return tuple(shlex.split(entry))
    except ValueError:  # an unclosed quote
        return tuple(entry.split())


def base_name(program: str) -> str:
    """Return the last part of a program's path."""
    return program.rpartition("/")[2]


def may_change_directory(command: SimpleCommand) -> bool:
    """Return whether relative paths may mean something else after this command."""
    program = command.words[0] if command.words else None
    return (
        program is None
        or base_name(program) in _DIRECTORY_CHANGERS
        or any((word or "").startswith(_DIRECTORY_CHANGING_OPTIONS) for word in command.words[1:])
        or any(option_directories(command))
    )


def may_leave_root(facts: Facts) -> bool:
    """Return whether relative paths of a call may not start at the top of the workspace."""
    return facts.directory not in (".", "./", "") or any(map(may_change_directory, facts.commands))


def entry_covers(entry: str, words: Words, *, settled: bool = False) -> bool:
    """Return whether an allowlist entry is a prefix of a command."""
    pattern = split_words(entry)
    if pattern and pattern[-1] == ANY_WORDS:
        return _starts_with(pattern[:-1], words, open_end=True)
    return any(_starts_with(pattern, form, open_end=settled) for form in _equivalent_commands(words))


def pattern_covers(pattern: Sequence[str], words: Words, *, settled: bool = False) -> bool:
    """Return whether a command certainly matches a pattern.

    An unknown word may be any option of the program, so it matches only a pattern that ends in `**`, unless the
    command is settled: then the word only names what the command reads.
    """
    if pattern and pattern[-1] == ANY_WORDS:
        return _starts_with(pattern[:-1], words, wild=True, open_end=True)
    if pattern and pattern[-1] == END:
        return len(words) == len(pattern) - 1 and _starts_with(pattern[:-1], words, wild=True)
    plain = unescape_end(pattern)
    return any(_starts_with(plain, form, wild=True, open_end=settled) for form in _equivalent_commands(words))


_GIT_DISPLAY_OPTIONS = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs"}
)


def _equivalent_commands(words: Words) -> Iterator[Words]:
    """Yield a command, and its form without options before the subcommand that only change how or where it reads."""
    yield words
    if not words or words[0] is None or program_name(words[0]) != "git":
        return
    index = 1
    while index < len(words):
        if words[index] in _GIT_DISPLAY_OPTIONS:
            index += 1
        elif words[index] == "-C" and index + 1 < len(words) and stays_inside(words[index + 1]):
            index += 2
        else:
            break
    if index > 1:
        yield (words[0], *words[index:])


def stays_inside(path: str | None) -> bool:
    """Return whether a path stays below its base, judged by its text."""
    return bool(path) and not path.startswith(("/", "~", "-")) and ".." not in path.split("/")


_BUILT_IN = frozenset({"cd", "echo", "printf", "true", "false", ":", "test", "[", "pwd", "break", "continue", "exit"})


def needs_no_rule(command: SimpleCommand, facts: Facts) -> bool:
    """Return whether a shell command only helps the commands around it to read something.

    It prints, tests, or changes to a directory below; in a line that could do harm it is a part like all others.
    """
    if facts.risk.level != "low" or not command.words or command.words[0] not in _BUILT_IN:
        return False
    if command.words[0] != "cd":
        return command.settled
    return len(command.words) == 2 and stays_inside(command.words[1]) and stays_inside(facts.directory or ".")


def unescape_end(pattern: Sequence[str]) -> Sequence[str]:
    """Remove the escape from a last word that looks like the end mark."""
    return (*pattern[:-1], pattern[-1][1:]) if pattern and _ESCAPED_END.fullmatch(pattern[-1]) else pattern


def escape_end(words: Sequence[str]) -> tuple[str, ...]:
    """Turn the first words of a command into a pattern; escape a last word that looks like the end mark."""
    return (*words[:-1], f"\\{words[-1]}") if words and _LIKE_END.fullmatch(words[-1]) else tuple(words)


def _starts_with(pattern: Sequence[str], words: Words, *, wild: bool = False, open_end: bool = False) -> bool:
    if not pattern or len(words) < len(pattern) or (None in words and not open_end):
        return False
    # A plain name means the program of the system; a path means itself and nothing else.
    program, expected = words[0], pattern[0]
    if not program or not expected or expected == ONE_WORD:
        return False
    if program != expected and ("/" in expected or program_name(program) != expected):
        return False
    return all(
        word is not None and (word == expected_word or (wild and expected_word == ONE_WORD))
        for word, expected_word in zip(words[1:], pattern[1:], strict=False)
    )


def entry_may_match(entry: str, words: Words) -> bool:
    """Return whether a command matches, or may match, a denylist entry."""
    return _may_start_with(split_words(entry), words)


def pattern_may_match(pattern: Sequence[str], words: Words) -> bool:
    """Return whether a command matches, or may match, a pattern, whatever options stand between its words."""
    if pattern and pattern[-1] == END:
        return _may_start_with(pattern[:-1], words, wild=True, to_end=True)
    fixed = pattern[:-1] if pattern and pattern[-1] == ANY_WORDS else unescape_end(pattern)
    return _may_start_with(fixed, words, wild=True)


def _may_start_with(pattern: Sequence[str], words: Words, *, wild: bool = False, to_end: bool = False) -> bool:
    if not pattern or not words or not _may_be_program(words[0], pattern[0], wild=wild):
        return False
    if words[0] is None:
        return True
    indexes = {1}
    for expected_word in pattern[1:]:
        reached = _skip_options(indexes, words)
        if any(words[index] is None for index in reached):
            return True
        indexes = {
            index + 1 for index in reached if words[index] == expected_word or (wild and expected_word == ONE_WORD)
        }
        if not indexes:
            return False
    return not to_end or any(all(word is None for word in words[index:]) for index in indexes)


def _skip_options(indexes: set[int], words: Words) -> set[int]:
    """Return where the next word of a pattern may be: here, or after options and their values."""
    reached: set[int] = set()
    pending = list(indexes)
    while pending:
        index = pending.pop()
        if index >= len(words) or index in reached:
            continue
        reached.add(index)
        if (words[index] or "").startswith("-"):
            pending += [index + 1, index + 2]
    return reached


def _may_be_program(word: str | None, expected: str, *, wild: bool) -> bool:
    if word is None or (wild and expected == ONE_WORD):
        return True
    actual_name, expected_name = word.casefold(), expected.casefold()
    return expected_name in (actual_name, base_name(actual_name)) or (
        "/" in expected_name
        and "/" in actual_name
        and posixpath.normpath(actual_name) == posixpath.normpath(expected_name)
    )
