"""Reads out of what a command wrote that an operation on a path failed, whichever program says so.

Pure. Programs differ in the words around a path, not in those of the operating system, so the latter are looked for.
"""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

Cause = Literal["read_only", "refused", "forbidden", "missing", "busy", "exists", "full"]

CAUSES: tuple[tuple[Cause, str], ...] = (
    ("read_only", r"read-only file ?system"),
    ("refused", r"permission denied|access is denied"),
    ("forbidden", r"operation not permitted"),
    ("missing", r"no such file or directory|directory nonexistent|no such file\b|cannot find the path"),
    ("busy", r"device or resource busy"),
    ("exists", r"file exists|already exists"),
    ("full", r"no space left on device"),
)
WRITING = re.compile(
    r"\b(creat\w*|mkdir|touch|writ\w*|remov\w*|delet\w*|unlink|rename|mov\w*|link|lock\w*|sav\w*|install\w*|chang\w*|"
    r"set\w*|output|truncat\w*|append\w*|mktemp|template|copy\w*|clon\w*|rmdir|chmod|leading directories)\b",
    re.IGNORECASE,
)
"""Words that say that something was to be changed."""

MAX_LINES = 400
MAX_LINE = 2000
MAX_COMPLAINTS = 50
MAX_WORDS = 10_000
LINES_BEFORE = 6
"""How far above its reason some programs name the path."""

_REASON = re.compile("|".join(f"(?P<{name}>{words})" for name, words in CAUSES), re.IGNORECASE)
_QUOTED = re.compile(r"(?<!\w)'([^']+)'|‘([^’]+)’|\"([^\"]+)\"|`([^`']+)[`']")
_SPEAKER = re.compile(r"^[^\s:]+: (?:line \d+: |\d+: )?")
"""The program that complains, whose own path is not what it complains about."""
_BARE = re.compile(r"(?<![\w.~/'\"`‘-])((?:\.{0,2}/)[^\s'\"`‘’,;()\[\]<>|]+)")
_LAST_PART = re.compile(r"(?:^|:\s|\s)([^\s:'\"]+)\s*(?:\((?:os error \d+)?\)?\s*)?:?\s*(?:Cannot \w+: )?$")


class Complaint(msgspec.Struct, frozen=True):
    """One line that names a reason, and the paths it may be about, the likeliest first."""

    cause: Cause
    paths: tuple[str, ...]
    line: str
    writing: bool


def complaints(text: str, argv: tuple[str, ...] = ()) -> Iterator[Complaint]:
    """Everything the text complains about, the last first, for the last is what a command gave up at.

    The command's own words say what its shell does not: whether a path was to be read or written.
    """
    lines = [line[:MAX_LINE] for line in text.splitlines()[-MAX_LINES:]]
    words = " ".join(argv)[:MAX_WORDS]
    seen: set[tuple[Cause, tuple[str, ...]]] = set()
    for number in range(len(lines) - 1, -1, -1):
        found = _REASON.search(lines[number])
        if found is None or found.lastgroup is None:
            continue
        cause: Cause = next(name for name, _ in CAUSES if name == found.lastgroup)
        above = lines[max(0, number - LINES_BEFORE) : number]
        paths = _near(lines[number], found) or _above(above)
        if (cause, paths) in seen or len(seen) >= MAX_COMPLAINTS:
            continue
        seen.add((cause, paths))
        written = _without_paths(lines[number], paths) if paths else " ".join((*above[-2:], lines[number]))
        writing = WRITING.search(written) is not None or any(_is_output(path, words) for path in paths)
        yield Complaint(cause, paths, lines[number], writing)


def _near(line: str, reason: "re.Match[str]") -> tuple[str, ...]:
    """Python, Node and Ruby name the path behind the reason; all others before it, and last what it is about."""
    after = _named(line[reason.end() :])
    if after:
        return after
    before = _SPEAKER.sub("", line[: reason.start()])
    named = tuple(reversed(_named(before)))
    part = _LAST_PART.search(before)
    plain = (part[1],) if part and _looks_like_path(part[1]) else ()
    return tuple(dict.fromkeys((*plain, *named)))


def _above(lines: list[str]) -> tuple[str, ...]:
    for line in reversed(lines):
        if named := _named(line):
            return named
    return ()


def _named(text: str) -> tuple[str, ...]:
    found = [(match.start(), next(group for group in match.groups() if group)) for match in _QUOTED.finditer(text)]
    found += [(match.start(), match[1].rstrip(":.")) for match in _BARE.finditer(text)]
    return tuple(dict.fromkeys(path for _, path in sorted(found) if _looks_like_path(path)))


def _looks_like_path(text: str) -> bool:
    return bool(text) and "\0" not in text and not text.isdigit() and "://" not in text and "*" not in text


def _is_output(path: str, words: str) -> bool:
    """Whether the command's own words say that it writes there: a redirection, an option, or a call."""
    if path not in words:
        return False
    output = rf"(?:>\|?|\bof=|(?:^|\s)(?:-o|-O|--output|--prefix|tee(?: -a)?)[ =]?)\s*['\"]?{re.escape(path)}"
    call = rf"(?:mkdir|makedirs|touch|unlink|rename|symlink|writeFile\w*)\w*\(\s*['\"]{re.escape(path)}"
    opened = rf"open\(\s*['\"]{re.escape(path)}['\"]\s*,\s*['\"][wax+]"
    return re.search(f"{output}|{call}|{opened}", words) is not None


def _without_paths(line: str, paths: tuple[str, ...]) -> str:
    """The line without its paths, whose names may be words as well."""
    for path in paths:
        line = line.replace(path, " ")
    return line
