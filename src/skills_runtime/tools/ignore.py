"""Which files a project wants left alone: its `.gitignore` files, and patterns of the same kind.

Matching takes time linear in the path whatever the pattern, for patterns come from projects that nobody has vetted.
"""

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from skills_runtime.errors import LogError, SkillsRuntimeError
from skills_runtime.ports import DirectoryListing, FileKind, Files

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

RULES_FILE = ".gitignore"
MAX_RULES_BYTES = 256 * 1024
MAX_RULES = 2000
MAX_PATTERN_CHARS = 500
MAX_ALTERNATIVES = 64

_BRACES = re.compile(r"\{([^{}]*)\}")


class IgnoreRules:
    """The rules of the directories entered so far; the nearest directory that says anything decides."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._rules: dict[str, GitIgnoreSpec] = {}

    def enter(self, directory: str, listing: DirectoryListing) -> None:
        """Read the rules of a directory, if it has any."""
        if any(entry.name == RULES_FILE and entry.kind == "file" for entry in listing.entries):
            path = RULES_FILE if directory == "." else f"{directory}/{RULES_FILE}"
            try:
                data = self._files.read(path, limit=MAX_RULES_BYTES)
            except LogError:
                raise
            except SkillsRuntimeError:
                return
            self._rules[directory] = _compiled(_whole_directories(data.decode(errors="replace").split("\n")))

    def forget(self) -> None:
        """Drop every rule read so far."""
        self._rules.clear()

    def covers(self, path: str, kind: FileKind) -> bool:
        """Whether the entry shall be left alone, given that the directories above it are not."""
        spelled = f"{path}/" if kind == "directory" else path
        for directory in _above(path):
            rules = self._rules.get(directory)
            below = spelled if directory == "." else spelled[len(directory) + 1 :]
            verdict = rules.check_file(below).include if rules is not None else None
            if verdict is not None:
                return verdict
        return False


class NamePattern:
    """A pattern for paths such as `*.py`, `src/**/*.{js,ts}` or, for all others, `!*.md`."""

    def __init__(self, pattern: str) -> None:
        self._negated = pattern.startswith("!")
        self._rules = _compiled(_alternatives(pattern.removeprefix("!")))
        self.is_empty = len(self._rules) == 0

    def matches(self, path: str) -> bool:
        """Whether the path is one of those meant."""
        return self._rules.match_file(path) is not self._negated


def _above(path: str) -> Iterator[str]:
    """The directories above a path, the nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path or "/"
    yield "."


def _whole_directories(lines: Iterable[str]) -> Iterator[str]:
    """The rules in a form that never takes `below/**` to mean the directory itself, which could then not be entered."""
    for line in lines:
        rule = line.removesuffix("\r")
        bare = rule.rstrip().removesuffix("/")
        yield f"{bare}/*{'/' * rule.rstrip().endswith('/')}" if bare.endswith("/**") else rule


def _compiled(lines: Iterable[str]) -> "GitIgnoreSpec":
    """The rules that are any; others are passed over, as git does."""
    from pathspec import GitIgnoreSpec

    usable = [line for line in _first(lines) if _is_usable(line)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return GitIgnoreSpec.from_lines(usable, backend="re2")


def _is_usable(line: str) -> bool:
    import re2
    from pathspec import GitIgnoreSpec

    engine = cast("Any", re2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            GitIgnoreSpec.from_lines([line], backend="re2")
    except (ValueError, re.error, engine.error):
        return False
    return True


def _first(lines: Iterable[str]) -> Iterator[str]:
    rules = (line for line in lines if line.strip() and not line.startswith("#") and len(line) <= MAX_PATTERN_CHARS)
    for _, line in zip(range(MAX_RULES), rules, strict=False):
        yield line


def _alternatives(pattern: str) -> list[str]:
    """The pattern with each `{a,b}` written out, innermost first."""
    pending, done = [pattern], list[str]()
    while pending and len(pending) + len(done) <= MAX_ALTERNATIVES:
        one = pending.pop()
        braces = _BRACES.search(one)
        if braces is None:
            done.append(one)
        else:
            pending += [one[: braces.start()] + word + one[braces.end() :] for word in braces[1].split(",")]
    return done
