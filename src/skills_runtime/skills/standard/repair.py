"""Reads front matter that is not YAML the way whoever wrote it meant it: as fields with a text each.

Pure. Field by field: what is YAML by itself stays what it is, and only the rest is taken as the text it looks like.
"""

import re
import textwrap
from typing import Any

import msgspec

from skills_runtime.skills.plain_yaml import Unusable, parse_text

MAX_FIELDS = 500
MAX_LEVELS = 3

_KEY = re.compile(r"""(?P<key>[A-Za-z_$][\w.$/-]{0,99}|"[^"\n]{1,99}"|'[^'\n]{1,99}')[ ]*:(?P<rest>[ \t].*|)""")
_CLOSE_KEY = re.compile(r"(?P<key>name|description|license|compatibility|version|allowed-tools):(?P<rest>\S.*)")
"""A field without a space behind its colon."""
_BLOCK = re.compile(r"[|>][-+0-9]{0,3}(?:[ ]+#.*)?")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


class Repaired(msgspec.Struct, frozen=True):
    """Fields, and those of them that were not YAML, with their lines from one."""

    fields: dict[str, Any]
    taken_as_text: tuple[tuple[str, int], ...]


class _Field(msgspec.Struct):
    """The lines that belong to a field."""

    key: str
    rest: str
    line: int
    more: list[str]


def repaired(text: str) -> Repaired | None:
    """The fields of a front matter, or nothing where it has none."""
    lines = _INDENT.sub(lambda match: match[0].replace("\t", "  "), _CONTROL.sub(" ", text))
    return _read(textwrap.dedent(lines), 1, MAX_LEVELS)


def _read(text: str, first_line: int, levels: int) -> Repaired | None:
    fields = _fields(text, first_line)
    if not fields or len(fields) > MAX_FIELDS:
        return None
    values: dict[str, Any] = {}
    changed: list[tuple[str, int]] = []
    for field in fields:
        try:
            values.update(parse_text(_written(field)).value)
        except Unusable:
            inner = _inner(field, levels)
            values[field.key] = inner.fields if inner else _plain(field)
            changed += inner.taken_as_text if inner else [(field.key, field.line)]
    return Repaired(values, tuple(changed))


def _fields(text: str, first_line: int) -> list[_Field]:
    """The lines of a text by the field they belong to; nothing where text comes before the first field."""
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


def _written(field: _Field) -> str:
    """The field as YAML; a quoted key is safe where a plain one may not be."""
    return "\n".join([f'"{field.key}": {field.rest}', *field.more])


def _inner(field: _Field, levels: int) -> Repaired | None:
    """The fields below a field."""
    if field.rest or levels <= 1:
        return None
    return _read(textwrap.dedent("\n".join(field.more)), field.line + 1, levels - 1)


def _plain(field: _Field) -> str:
    """Everything a field has, as one text."""
    more = [line.strip() for line in field.more]
    if _BLOCK.fullmatch(field.rest):
        return ("\n" if field.rest[0] == "|" else " ").join(more).strip()
    whole = " ".join(part for part in (field.rest, *more) if part and not part.startswith("# "))
    return whole[1:-1] if _is_quoted(whole) else whole


def _is_quoted(text: str) -> bool:
    """Whether the quotes around a text belong together, although there are more of them inside."""
    if len(text) < 2 or text[0] not in "\"'" or text[0] != text[-1]:
        return False
    inner = text.find(text[0], 1, -1)
    closes = inner > 0 and not text[inner - 1].isspace() and not text[inner + 1].isalnum()
    return not closes
