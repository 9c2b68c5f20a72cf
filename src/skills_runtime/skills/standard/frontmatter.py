"""Find the front matter of a file, and repair front matter that is not valid YAML.

Pure, for any bytes. Dashes inside or after text do not end it. Repair works field by field: valid YAML stays
unchanged, and only the rest is read as plain text.
"""

import re
import textwrap
from typing import Any

import msgspec

from skills_runtime.skills.standard.diagnostics import Diagnostic, Mode, diagnose
from skills_runtime.skills.standard.yaml import Unusable, parse_text

FENCE_BYTES = 8192
"""Upper bound of the bytes before the front matter plus its two delimiter lines."""

_MARK = b"\xef\xbb\xbf"
_MAX_PREFIX_BYTES = 4096
"""How far into a file the lenient parser searches for the front matter."""
_OPENING = re.compile(rb"---[ \t]{0,16}(?:\r\n|\n|\r)")
_CLOSING = re.compile(rb"^---[ \t]{0,16}(?:\r\n|\n|\r|\Z)", re.MULTILINE)
_OLD_CLOSING = re.compile(rb"\r---[ \t]{0,16}(?:\r|\Z)")
"""The closing line in files with `\\r` line endings."""
_NEARLY_OPENING = re.compile(rb"-{3,16}[ \t]{0,16}(?:\r\n|\n|\r)")
_NEARLY_CLOSING = re.compile(
    rb"^[ \t]{0,3}(?:-{3,16}|\.\.\.)[ \t]{0,16}(?:\r\n|\n|\r|\Z)|^---(?=[^-\r\n])", re.MULTILINE
)
"""Lines that look like mistyped delimiters."""
_SPACE = b" \t\r\n"


class Split(msgspec.Struct, frozen=True):
    """The offsets of the front matter and the body."""

    start: int
    end: int
    body_start: int
    first_line: int = 2
    """Line on which the front matter begins."""
    notes: tuple[Diagnostic, ...] = ()


def split_frontmatter(data: bytes, mode: Mode, *, max_bytes: int) -> Split | Diagnostic:
    """Split a file into front matter and body; `data` may be truncated after `max_bytes`."""
    mark = len(_MARK) if data.startswith(_MARK) else 0
    start = mark if mode == "strict" or data.startswith(b"---", mark) else _find_start(data, mark)
    exactly = _OPENING.match(data, start)
    opening = exactly or (_NEARLY_OPENING.match(data, start) if mode == "lenient" else None)
    if opening is None:
        return diagnose("frontmatter_missing", mode, "`SKILL.md` must start with YAML frontmatter", line=1)
    notes: list[Diagnostic] = []
    if mark:
        notes.append(diagnose("byte_order_mark", mode, "the file begins with a byte order mark", line=1))
    line = 1 + data.count(b"\n", 0, start)
    if exactly is None:
        notes.append(diagnose("frontmatter_fence", mode, "the front matter begins with more than `---`", line=line))
    if start > mark:
        notes.append(diagnose("frontmatter_moved", mode, "something stands before the front matter", line=line))
    closing = _find_closing(data, opening.end(), mode)
    if (closing[0] if closing else len(data)) - opening.end() > max_bytes:
        return diagnose("frontmatter_too_long", mode, f"the front matter is longer than {max_bytes} bytes", line=line)
    if closing is None:
        return diagnose("frontmatter_unclosed", mode, "the frontmatter is not properly closed with `---`", line=line)
    end, body_start, exact = closing
    if not exact:
        closing_line = line + 1 + data.count(b"\n", opening.end(), end)
        notes.append(
            diagnose("frontmatter_fence", mode, "the front matter ends with something like `---`", line=closing_line)
        )
    return Split(opening.end(), end, body_start, line + 1, tuple(notes))


def _find_closing(data: bytes, start: int, mode: Mode) -> tuple[int, int, bool] | None:
    """Find the end of the front matter, the start of the body, and whether the closing line is exact."""
    closing = _CLOSING.search(data, start)
    if closing is not None:
        return closing.start(), closing.end(), True
    old = _OLD_CLOSING.search(data, start - 1)
    if old is not None:
        return max(old.start() + 1, start), old.end(), True
    nearly = _NEARLY_CLOSING.search(data, start) if mode == "lenient" else None
    return (nearly.start(), nearly.end(), False) if nearly is not None else None


def _find_start(data: bytes, start: int) -> int:
    """Find the front matter after empty lines, comments and code fences; return `start` if there is none."""
    end = min(len(data), start + _MAX_PREFIX_BYTES)
    offset = start
    while offset < end:
        if data[offset] in _SPACE:
            offset += 1
        elif data.startswith(b"<!--", offset):
            close = data.find(b"-->", offset, end)
            if close < 0:
                return start
            offset = close + 3
        elif data.startswith(b"```", offset) and (line := data.find(b"\n", offset, end)) > 0:
            offset = line + 1
        else:
            break
    begins_line = offset > start and data[offset - 1] in b"\r\n"
    return offset if begins_line and data.startswith(b"---", offset) else start


MAX_FIELDS = 500
MAX_LEVELS = 3

_KEY = re.compile(r"""(?P<key>[A-Za-z_$][\w.$/-]{0,99}|"[^"\n]{1,99}"|'[^'\n]{1,99}')[ ]*:(?P<rest>[ \t].*|)""")
_CLOSE_KEY = re.compile(r"(?P<key>name|description|license|compatibility|version|allowed-tools):(?P<rest>\S.*)")
"""A field without a space after its colon."""
_BLOCK = re.compile(r"[|>][-+0-9]{0,3}(?:[ ]+#.*)?")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


class RepairedFields(msgspec.Struct, frozen=True):
    """The fields, and the lines (from one) of those that were repaired."""

    fields: dict[str, Any]
    taken_as_text: tuple[tuple[str, int], ...]


class _Field(msgspec.Struct):
    """The lines of one field."""

    key: str
    rest: str
    line: int
    more: list[str]


def repair(text: str) -> RepairedFields | None:
    """Parse front matter field by field; return None if it has no fields."""
    lines = _INDENT.sub(lambda match: match[0].replace("\t", "  "), _CONTROL.sub(" ", text))
    return _read(textwrap.dedent(lines), 1, MAX_LEVELS)


def _read(text: str, first_line: int, levels: int) -> RepairedFields | None:
    fields = _fields(text, first_line)
    if not fields or len(fields) > MAX_FIELDS:
        return None
    values: dict[str, Any] = {}
    as_text: list[tuple[str, int]] = []
    for field in fields:
        try:
            # A quoted key is safe where a plain one may not be.
            values.update(parse_text("\n".join([f'"{field.key}": {field.rest}', *field.more])).value)
        except Unusable:
            nested = textwrap.dedent("\n".join(field.more)) if not field.rest and levels > 1 else ""
            inner = _read(nested, field.line + 1, levels - 1) if nested else None
            values[field.key] = inner.fields if inner else _field_text(field)
            as_text += inner.taken_as_text if inner else [(field.key, field.line)]
    return RepairedFields(values, tuple(as_text))


def _fields(text: str, first_line: int) -> list[_Field]:
    """Group lines by field; return nothing if text comes before the first field."""
    fields: list[_Field] = []
    for number, line in enumerate(text.splitlines(), start=first_line):
        match = _KEY.fullmatch(line) or _CLOSE_KEY.fullmatch(line)
        if match is not None:
            fields.append(_Field(match["key"].strip("\"'"), match["rest"].strip(), number, []))
        elif fields:
            fields[-1].more.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            return []
    return fields


def _field_text(field: _Field) -> str:
    """Join the lines of a field."""
    more = [line.strip() for line in field.more]
    if _BLOCK.fullmatch(field.rest):
        return ("\n" if field.rest[0] == "|" else " ").join(more).strip()
    text = " ".join(part for part in (field.rest, *more) if part and not part.startswith("# "))
    return text[1:-1] if _is_quoted(text) else text


def _is_quoted(text: str) -> bool:
    """Return whether the outer quotes form a pair despite further quotes inside."""
    if len(text) < 2 or text[0] not in "\"'" or text[0] != text[-1]:
        return False
    inner = text.find(text[0], 1, -1)
    closes = inner > 0 and not text[inner - 1].isspace() and not text[inner + 1].isalnum()
    return not closes
