"""A scanned text file: its kind, lines and regions, and the patterns that detectors search in it.

Pure. A mark is a rule code with a position and a severity; `scan` weighs its context and makes it a finding.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from skills_runtime.skills.scan.files import ScannedFile
from skills_runtime.skills.scan.rules import SCAN_RULES, FindingSeverity

TextKind = Literal["markdown", "python", "script", "shell", "config", "plain", "binary"]
RegionKind = Literal["front", "prose", "fence", "comment"]

_SUFFIXES: dict[str, TextKind] = {
    ".md": "markdown",
    ".mdx": "markdown",
    ".markdown": "markdown",
    ".mdc": "markdown",
    ".rst": "markdown",
    ".py": "python",
    ".pyw": "python",
    ".pyi": "python",
    ".js": "script",
    ".mjs": "script",
    ".cjs": "script",
    ".ts": "script",
    ".tsx": "script",
    ".jsx": "script",
    ".rb": "script",
    ".pl": "script",
    ".php": "script",
    ".lua": "script",
    ".go": "script",
    ".rs": "script",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".fish": "shell",
    ".command": "shell",
    ".ksh": "shell",
    ".ps1": "shell",
    ".psm1": "shell",
    ".bat": "shell",
    ".cmd": "shell",
    ".vbs": "shell",
    ".applescript": "shell",
    ".json": "config",
    ".yaml": "config",
    ".yml": "config",
    ".toml": "config",
    ".ini": "config",
    ".plist": "config",
    ".xml": "config",
    ".html": "config",
    ".svg": "config",
    ".service": "config",
}
_SHEBANG = re.compile(rb"^#!\s*\S*?(python|node|deno|bun|perl|ruby|bash|zsh|sh|env\s+(?:-S\s+)?\w+)")
_FENCE = re.compile(r"^[ \t>]{0,12}(?:[-*+] |\d+[.)] )?(`{3,}|~{3,})[ \t]*([\w+-]*)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.{0,200})")
_CHUNK = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Region(msgspec.Struct, frozen=True):
    """A section of a text of one kind."""

    start: int
    end: int
    kind: RegionKind
    language: str = ""
    headings: tuple[str, ...] = ()


class Text:
    """A text file."""

    def __init__(self, name: str, kind: TextKind, body: str) -> None:
        self.name = name
        self.kind: TextKind = kind
        self.body = body

    @cached_property
    def folded(self) -> str:
        """The lower-case text, with the same length as the text."""
        lower = self.body.lower()
        return lower if len(lower) == len(self.body) else self.body

    @cached_property
    def starts(self) -> list[int]:
        """Offset of each line."""
        return [0, *(match.end() for match in re.finditer("\n", self.body))]

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The regions of a Markdown file; any other file is one code region."""
        if self.kind != "markdown":
            return (Region(0, len(self.body), "fence", self.kind),)
        return tuple(_regions(self))

    @cached_property
    def _region_starts(self) -> list[int]:
        return [region.start for region in self.regions]

    def line_number_at(self, offset: int) -> int:
        """Return the line number at an offset, from one."""
        return bisect_right(self.starts, offset)

    def line(self, number: int) -> str:
        """Return the line with a number, or an empty string."""
        if not 1 <= number <= len(self.starts):
            return ""
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.body)
        return self.body[self.starts[number - 1] : end]

    def region_at(self, offset: int) -> Region:
        """Return the region at an offset."""
        index = bisect_right(self._region_starts, offset)
        return self.regions[max(0, index - 1)]


def detect_text_kind(member: ScannedFile) -> TextKind:
    """Detect the kind of a file by its name and its first bytes."""
    if looks_binary(member.data):
        return "binary"
    suffix = PurePosixPath(member.name).suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    shebang = _SHEBANG.match(member.data[:80])
    if shebang is None:
        stem = PurePosixPath(member.name).name.lower()
        return "shell" if stem in ("makefile", "dockerfile", "justfile", "install", "setup") else "plain"
    program = shebang[1].decode().split()[-1]
    if program.startswith("python"):
        return "python"
    return "script" if program in ("node", "deno", "bun", "perl", "ruby") else "shell"


def looks_binary(data: bytes) -> bool:
    """Return whether the bytes are binary, by their control characters."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    sample = data[:8192]
    return b"\0" in sample or len(_CHUNK.findall(sample)) > max(4, len(sample) // 50)


def decode_text(member: ScannedFile) -> str:
    """Decode a file, replacing invalid bytes and removing a byte order mark."""
    data = member.data
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


class _RegionReader:
    """Splits the lines of a Markdown file into regions."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.kind: RegionKind = "prose"
        self.language = ""
        self.start = 0
        self.headings: dict[int, str] = {}

    def start_region(self, offset: int, kind: RegionKind, language: str = "") -> None:
        """End the current region and start another."""
        if offset > self.start:
            headings = tuple(self.headings[level] for level in sorted(self.headings))
            self.regions.append(Region(self.start, offset, self.kind, self.language, headings))
        self.start, self.kind, self.language = offset, kind, language

    def heading(self, match: re.Match[str]) -> None:
        """Add a heading and drop those of the same or a lower level."""
        level = len(match[1])
        self.headings = {depth: text for depth, text in self.headings.items() if depth < level}
        self.headings[level] = match[2]


def _regions(text: Text) -> list[Region]:
    reader = _RegionReader()
    mark = ""
    in_front = text.body.startswith("---\n")
    if in_front:
        reader.kind = "front"
    for number in range(1, len(text.starts) + 1):
        line, offset = text.line(number), text.starts[number - 1]
        if in_front:
            if number > 1 and line.rstrip() in ("---", "..."):
                in_front = False
                reader.start_region(offset + len(line), "prose")
            continue
        if reader.kind == "comment":
            if "-->" in line:
                reader.start_region(offset + line.index("-->") + 3, "prose")
            continue
        mark = _read_line(reader, line, offset, mark)
    reader.start_region(len(text.body), "prose")
    return reader.regions or [Region(0, len(text.body), "prose")]


def _read_line(reader: _RegionReader, line: str, offset: int, mark: str) -> str:
    """Read a line outside front matter and comments; return the delimiter of the open fence, if any."""
    fence = _FENCE.match(line)
    if mark:
        if fence and fence[1].startswith(mark) and not fence[2]:
            reader.start_region(offset + len(line), "prose")
            return ""
        return mark
    if fence:
        reader.start_region(offset, "fence", fence[2].lower())
        return fence[1]
    heading = _HEADING.match(line)
    if heading:
        reader.start_region(offset, "prose")
        reader.heading(heading)
    opening = line.find("<!--")
    if opening >= 0:
        reader.start_region(offset + opening, "comment")
        closing = line.find("-->", opening)
        if closing >= 0:
            reader.start_region(offset + closing + 3, "prose")
    return ""


MAX_MATCHES = 20
MAX_LINES = 4_000
REACH = 400
"""How far from its anchor word a pattern can match."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A match of a detector."""

    code: str
    severity: FindingSeverity
    start: int
    """Offset in the text."""
    end: int
    shown: str = ""
    """Text to show instead of the matched text."""
    is_certain: bool = False
    """Whether the context cannot lower its severity."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Name and description of a skill, which affect what counts as suspicious."""

    name: str = ""
    description: str = ""
    words: frozenset[str] = frozenset()
    is_about_security: bool = False


class Pattern(msgspec.Struct, frozen=True):
    """A regular expression with its rule code and the anchor words of a prefilter."""

    code: str
    severity: FindingSeverity
    expression: re.Pattern[str]
    anchors: tuple[str, ...] = ()


def pattern(code: str, expression: str, *anchors: str, severity: FindingSeverity | None = None) -> Pattern:
    """Build a case-insensitive pattern."""
    return Pattern(code, severity or SCAN_RULES[code].severity, re.compile(expression, re.I), anchors)


def find_matches(patterns: tuple[Pattern, ...], text: Text) -> Iterator[Mark]:
    """Find all matches of the patterns in a text."""
    for candidate in patterns:
        if candidate.anchors and not any(anchor in text.folded for anchor in candidate.anchors):
            continue
        for count, match in enumerate(candidate.expression.finditer(text.body)):
            yield Mark(code=candidate.code, severity=candidate.severity, start=match.start(), end=match.end())
            if count >= MAX_MATCHES:
                break


def find_line_matches(patterns: tuple[Pattern, ...], text: Text) -> Iterator[Mark]:
    """Find all matches of the patterns within lines; only lines with an anchor word are searched."""
    for candidate in patterns:
        for count, (start, end) in enumerate(_candidate_lines(text.folded, candidate.anchors)):
            match = candidate.expression.search(text.body[start:end])
            if match:
                yield Mark(
                    code=candidate.code,
                    severity=candidate.severity,
                    start=start + match.start(),
                    end=start + match.end(),
                )
            if count >= MAX_LINES:
                break


def _candidate_lines(folded: str, anchors: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield the spans of lines with an anchor word; long lines are truncated."""
    seen: set[int] = set()
    for anchor in anchors:
        offset = folded.find(anchor)
        while offset >= 0:
            start = max(folded.rfind("\n", 0, offset) + 1, offset - REACH)
            end = folded.find("\n", offset)
            end = min(len(folded) if end < 0 else end, offset + 2 * REACH)
            if start not in seen:
                seen.add(start)
                yield start, end
            offset = folded.find(anchor, max(end, offset + 1))


def mark(code: str, start: int, end: int, severity: FindingSeverity | None = None, *, shown: str = "") -> Mark:
    """Build a mark with the severity of its rule, unless one is given."""
    return Mark(code=code, severity=severity or SCAN_RULES[code].severity, start=start, end=end, shown=shown)
