"""Takes shell text apart into whole commands, with the tricks undone that keep words from being recognised."""

import re
from collections.abc import Iterator

import msgspec

MAX_LINE = 4_000
MAX_VARIABLES = 60

_SPLIT_WORD = re.compile(r"(?<=\w)(?:''|\"\")(?=\w)")
_BACKSLASH = re.compile(r"\\(?=[A-Za-z])")
_ASSIGN = re.compile(
    r"^\s*(?:export\s+|local\s+|readonly\s+|declare\s+)?([A-Za-z_]\w{0,40})=(\"[^\"\n]{0,500}\""
    r"|'[^'\n]{0,500}'|[^\s;&|]{1,500})"
)
_USE = re.compile(r"\$(?:\{([A-Za-z_]\w{0,40})\}|([A-Za-z_]\w{0,40}))")
_ANSI = re.compile(r"\$'((?:\\x[0-9a-fA-F]{2}|\\[0-7]{3}|[^'\\]){1,400})'")
_HEX = re.compile(r"\\x([0-9a-fA-F]{2})|\\([0-7]{3})")
_FIELD = re.compile(r"\$\{?IFS\}?")
_ADJACENT = re.compile(r"(?<=[\w\"'])\"\"?'?(?=\w)|(?<=\w)'\"?(?=\w)")
_PROMPT = re.compile(r"^\s*(?:[$#%>]\s+|PS [A-Z]:\\[^>]{0,80}>\s*|[\w.-]{1,30}@[\w.-]{1,40}:[^$#]{0,60}[$#]\s+)")


class Command(msgspec.Struct, frozen=True):
    """A whole command, where it is in the file, and how it reads once it is put straight."""

    start: int
    end: int
    straight: str
    was_disguised: bool = False


def commands(body: str, start: int, end: int) -> Iterator[Command]:
    """The commands between two places of a text, one to a line, with continued lines joined."""
    variables: dict[str, str] = {}
    place = start
    while place < end:
        stop, joined = _whole_line(body, place, end)
        for offset in range(0, max(1, len(joined)), MAX_LINE):
            yield _straightened(place, stop, joined[offset : offset + MAX_LINE + 200], variables)
        place = stop + 1


def _whole_line(body: str, place: int, end: int) -> tuple[int, str]:
    pieces: list[str] = []
    while True:
        stop = body.find("\n", place, end)
        stop = end if stop < 0 else stop
        line = body[place:stop]
        if line.endswith(("\\", "|", "&&")) and stop < end and len(pieces) < 30:
            pieces.append(line.removesuffix("\\"))
            place = stop + 1
            continue
        pieces.append(line)
        return stop, " ".join(pieces) if len(pieces) > 1 else line


def _straightened(start: int, end: int, line: str, variables: dict[str, str]) -> Command:
    plain = _PROMPT.sub("", line, count=1)
    assigned = _ASSIGN.match(plain)
    undone = _undone(plain) if _may_be_disguised(plain) else plain
    expanded = _USE.sub(lambda use: variables.get(use[1] or use[2], use[0]), undone) if variables else undone
    if assigned and len(variables) < MAX_VARIABLES:
        value = _USE.sub(lambda use: variables.get(use[1] or use[2], use[0]), assigned[2].strip("\"'"))
        variables[assigned[1]] = value[:500]
    return Command(start, end, expanded[: MAX_LINE + 400], undone != plain)


def _may_be_disguised(line: str) -> bool:
    return "''" in line or '""' in line or "\\" in line or "$'" in line or "IFS" in line


def _undone(line: str) -> str:
    line = _ANSI.sub(lambda match: _HEX.sub(_character, match[1]), line)
    line = _SPLIT_WORD.sub("", line)
    line = _FIELD.sub(" ", line)
    return line if ":\\" in line else _BACKSLASH.sub("", line)


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2], 8)
    return chr(code % 256)
