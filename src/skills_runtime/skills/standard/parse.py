"""Parse a `SKILL.md`: strictly by the specification, or leniently as real skills are written.

Pure; invalid bytes never raise but result in diagnostics. The lenient parser accepts a skill wherever its meaning
is clear.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.skills.skill import is_name
from skills_runtime.skills.standard.diagnostics import Diagnostic, Mode, diagnose, is_fatal
from skills_runtime.skills.standard.frontmatter import Split, repair, split_frontmatter
from skills_runtime.skills.standard.specification import (
    DESCRIPTION_CHARS,
    FIELDS,
    NAME_CHARS,
    Breach,
    allowed_tools,
    breaches,
    directory_mismatch,
    name_breaches,
    normalize_name,
    quote,
)
from skills_runtime.skills.standard.yaml import NoMapping, Unusable, parse_text

_SEPARATORS = re.compile(r"[^\w-]+|-{2,}")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NO_PROSE = ("#", "|", "<", "![", "---", "===", "***", "[!")
_BODY_CHARS = 20_000
"""How much of the body is searched for a description."""

_SETTLED_HERE = frozenset({"name_missing", "description_missing"})


class LenientSkill(msgspec.Struct, frozen=True):
    """A leniently parsed skill with its diagnostics."""

    name: str
    description: str
    fields: dict[str, Any]
    """Fields by the names of the specification."""
    breaches: list[Breach]


def interpret(fields: Mapping[str, Any], directory_name: str | None, body: bytes) -> LenientSkill:
    """Interpret front matter leniently; a missing description is taken from the body."""
    own, respelled = normalize_keys(fields)
    name = usable_name(own.get("name"), directory_name)
    violations = [("field_spelling", key, f"{quote(key)} is not how the field is spelled") for key in respelled]
    violations += (breach for breach in breaches(own, None) if breach[0] not in _SETTLED_HERE)
    violations += _name_findings(own.get("name"), name, directory_name)
    description = to_text(own.get("description"))
    if not description:
        description = describe_from_body(body[: 4 * _BODY_CHARS].decode(errors="ignore"))
        code = "description_taken_from_body" if description else "description_missing"
        message = "Missing required field in frontmatter: description"
        violations.append(
            (code, "description", message + ("; the body's beginning is taken for it" if description else ""))
        )
    return LenientSkill(name, description, own, violations)


def _name_findings(value: Any, name: str, directory_name: str | None) -> Iterator[Breach]:
    text = to_text(value)
    if not name:
        reason = f"nothing of {quote(text)} can be used as a name" if text else "there is no other name to take"
        yield "name_missing", "name", f"Missing required field in frontmatter: name; {reason}"
    elif not text:
        message = f"Missing required field in frontmatter: name; the directory gives it the name {quote(name)}"
        yield "name_taken_from_directory", "name", message
    else:
        if name != normalize_name(text):
            yield "name_changed", "name", f"the skill goes by the name {quote(name)} instead of {quote(text)}"
        yield from directory_mismatch(name, directory_name)


def normalize_keys(fields: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields under their standard names, and the keys that were renamed."""
    if fields.keys() <= FIELDS:
        return dict(fields), ()
    odd = {key: other for key in fields if (other := key.strip().lower().replace("_", "-")) in FIELDS and other != key}
    renamed = {key: other for key, other in odd.items() if other not in fields}
    return {renamed.get(key, key): value for key, value in fields.items()}, tuple(renamed)


def usable_name(value: Any, directory_name: str | None) -> str:
    """Return a valid name: the given one, its normalized form, or the directory's; empty if there is none."""
    for text in (value, directory_name):
        if isinstance(text, str) and (name := _legal(text)):
            return name
    return ""


def _legal(text: str) -> str:
    name = normalize_name(text).strip()
    if not name or is_name(name) or not any(name_breaches(name)):
        return name
    plain = _SEPARATORS.sub("-", unicodedata.normalize("NFKC", name).lower())
    cut = plain.strip("-_")[:NAME_CHARS].strip("-_")
    return cut if any(char.isalnum() for char in cut) and cut.isprintable() else ""


def to_text(value: Any) -> str:
    """Convert a text or a list of texts to one text."""
    if isinstance(value, list):
        return " ".join(item for item in cast("list[Any]", value) if isinstance(item, str)).strip()
    return value.strip() if isinstance(value, str) else ""


def describe_from_body(body: str) -> str:
    """Return the first paragraph of a body, or its first heading."""
    heading = ""
    paragraph: list[str] = []
    fence = ""
    for line in _COMMENT.sub("", body[:_BODY_CHARS]).splitlines():
        text = line.strip()
        mark = _FENCE.match(text)
        if mark is not None and (not fence or text.startswith(fence)):
            fence = "" if fence else mark[1]
            text = ""
        elif fence:
            text = ""
        if text.startswith("#") and not heading:
            heading = text.strip("# ")
        if text and not text.startswith(_NO_PROSE):
            paragraph.append(text)
        elif paragraph:
            break
    return (" ".join(paragraph) or heading)[:DESCRIPTION_CHARS].strip()


MAX_BYTES = 65_536
"""Default size limit of front matter."""


class Properties(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of a skill."""

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, Any] = {}
    allowed_tools: tuple[str, ...] = ()
    """The tools without duplicates."""
    other: Mapping[str, Any] = {}
    """All fields except `name` and `description`, unchanged."""


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed file: the skill, unless there is an error, and all diagnostics."""

    skill: Properties | None
    diagnostics: tuple[Diagnostic, ...] = ()
    fields: Mapping[str, Any] | None = None
    """The front matter, if it could be parsed."""
    body_start: int = 0
    """Byte offset of the body."""


class _Reading(msgspec.Struct, frozen=True):
    """Parsed front matter."""

    fields: dict[str, Any]
    diagnostics: tuple[Diagnostic, ...] = ()
    is_repaired: bool = False


def parse_skill(data: bytes, *, mode: Mode, directory_name: str | None = None, max_bytes: int = MAX_BYTES) -> Parsed:
    """Parse a skill file; `data` may be truncated after the front matter.

    Without the name of its directory that rule is not checked.
    """
    parts = split_frontmatter(data, mode, max_bytes=max_bytes)
    if isinstance(parts, Diagnostic):
        return Parsed(skill=None, diagnostics=(parts,))
    text, notes = _decode(data, parts, mode)
    if is_fatal(notes):
        return Parsed(skill=None, diagnostics=notes)
    reading = _read(text, parts, mode)
    if isinstance(reading, Diagnostic):
        return Parsed(skill=None, diagnostics=(*notes, reading))
    fields = reading.fields
    if mode == "strict":
        name, description = fields.get("name"), fields.get("description")
        against = list(breaches(fields, directory_name))
        skill = None
        if isinstance(name, str) and isinstance(description, str):
            skill = _properties(normalize_name(name), description.strip(), fields)
    else:
        # Only a front matter that needed no repair may leave its description to the body.
        read = interpret(fields, directory_name, b"" if reading.is_repaired else data[parts.body_start :])
        skill, against = _properties(read.name, read.description, read.fields), read.breaches
    diagnostics = (
        *notes,
        *reading.diagnostics,
        *(_to_diagnostic(breach, mode, text, parts.first_line) for breach in against),
    )
    return Parsed(
        skill=None if is_fatal(diagnostics) else skill,
        diagnostics=diagnostics,
        fields=fields,
        body_start=parts.body_start,
    )


def _decode(data: bytes, parts: Split, mode: Mode) -> tuple[str, tuple[Diagnostic, ...]]:
    """Decode the front matter, replacing invalid bytes."""
    front = data[parts.start : parts.end]
    try:
        return front.decode(), parts.notes
    except UnicodeDecodeError as error:
        line = parts.first_line + front.count(b"\n", 0, error.start)
        fault = diagnose("not_utf8", mode, f"byte {parts.start + error.start} of the file is not UTF-8", line=line)
        return front.decode(errors="replace"), (*parts.notes, fault)


def _to_diagnostic(breach: Breach, mode: Mode, text: str, first_line: int) -> Diagnostic:
    """Build a diagnostic with the line of its field, or the first line if the field is not found."""
    code, field, message = breach
    match = re.search(rf"^[ \t]*[\"']?{re.escape(field)}[\"']?[ \t]*:", text, re.MULTILINE)
    return diagnose(code, mode, message, line=first_line + (text.count("\n", 0, match.start()) if match else 0))


def _read(text: str, parts: Split, mode: Mode) -> _Reading | Diagnostic:
    try:
        document = parse_text(text)
    except Unusable as error:
        again = repair(text) if mode == "lenient" else None
        if again is not None:
            notes = (
                diagnose(
                    "yaml_repaired",
                    mode,
                    f"the value of {quote(key)} is not valid YAML and was taken as plain text",
                    line=parts.first_line + line - 1,
                )
                for key, line in again.taken_as_text
            )
            return _Reading(again.fields, tuple(notes), is_repaired=True)
        line = parts.first_line + error.line - 1 if error.line else parts.first_line
        if isinstance(error, NoMapping):
            return diagnose("not_a_mapping", mode, "the frontmatter must be a YAML mapping", line=line)
        return diagnose(
            "yaml_invalid", mode, f"Invalid YAML in frontmatter: {error.reason}", line=line, column=error.column
        )
    notes = (
        diagnose(
            "duplicate_key", mode, f"{quote(key)} is there twice; the last counts", line=parts.first_line + line - 1
        )
        for key, line in document.repeated
    )
    return _Reading(document.value, tuple(notes))


def _properties(name: str, description: str, fields: Mapping[str, Any]) -> Properties:
    metadata: Any = fields.get("metadata")
    return Properties(
        name=name,
        description=description,
        license=to_text(fields.get("license")) or None,
        compatibility=to_text(fields.get("compatibility")) or None,
        metadata=cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {},
        allowed_tools=allowed_tools(fields.get("allowed-tools")),
        other={key: value for key, value in fields.items() if key not in ("name", "description")},
    )
