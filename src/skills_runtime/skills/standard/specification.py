"""The rules of the Agent Skills specification for each front matter field.

Pure. Every scalar is text; a final line break of a block scalar is ignored. The last part has the requirements for
skills of any source.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import is_name
from skills_runtime.text import one_line

FIELDS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
"""The standard fields; all others belong below `metadata`."""
NAME_CHARS = 64
DESCRIPTION_CHARS = 1024
COMPATIBILITY_CHARS = 500

_PLAIN = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")
"""Fast path for ordinary names."""
_SHOWN_CHARS = 80
_SHOWN_FIELDS = 10

Breach = tuple[str, str, str]
"""Diagnostic code, field and message."""


def breaches(fields: Mapping[str, Any], directory_name: str | None) -> Iterator[Breach]:
    """Yield every violation of the specification in front matter."""
    unexpected = sorted(fields.keys() - FIELDS)
    if unexpected:
        yield "unexpected_fields", unexpected[0], f"Unexpected fields in frontmatter: {_join_names(unexpected)}"
    yield from _name(fields.get("name"), directory_name)
    yield from _description(fields.get("description"))
    if not isinstance(fields.get("license", ""), str):
        yield "license_type", "license", "`license` must be a text"
    if "compatibility" in fields:
        yield from _compatibility(fields["compatibility"])
    if "metadata" in fields:
        yield from _metadata(fields["metadata"])
    if "allowed-tools" in fields:
        yield from _tools(fields["allowed-tools"])


def name_breaches(text: str) -> Iterator[Breach]:
    """Yield every violation of the rules for names."""
    if len(text) <= NAME_CHARS and _PLAIN.fullmatch(text):
        return
    name = normalize_name(text)
    label = quote(name)
    if len(name) > NAME_CHARS:
        message = f"the name {label} exceeds the {NAME_CHARS} character limit ({len(name)} characters)"
        yield "name_too_long", "name", message
    if name != name.lower():
        yield "name_not_lowercase", "name", f"the name {label} must be lowercase"
    if name.startswith("-") or name.endswith("-"):
        yield "name_hyphen_at_edge", "name", f"the name {label} cannot start or end with a hyphen"
    if "--" in name:
        yield "name_consecutive_hyphens", "name", f"the name {label} cannot contain consecutive hyphens"
    if not all(char.isalnum() or char == "-" for char in name):
        message = f"the name {label} has invalid characters: only letters, digits and hyphens are allowed"
        yield "name_invalid_characters", "name", message


def normalize_name(name: str) -> str:
    """Normalize a name for comparison."""
    return name.rstrip("\n") if name.isascii() else unicodedata.normalize("NFKC", name.rstrip("\n"))


def quote(text: str) -> str:
    """Quote untrusted text for a message."""
    shown = text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
    return f"'{shown}'" if shown.isprintable() else ascii(shown)


def _name(value: Any, directory_name: str | None) -> Iterator[Breach]:
    if value is None or value == "":
        yield "name_missing", "name", "Missing required field in frontmatter: name"
    elif not isinstance(value, str):
        yield "name_type", "name", "`name` must be a text"
    else:
        yield from name_breaches(value)
        yield from directory_mismatch(value, directory_name)


def directory_mismatch(name: str, directory_name: str | None) -> Iterator[Breach]:
    """Yield a violation if the directory has a different name."""
    if directory_name is not None and normalize_name(name) != normalize_name(directory_name):
        message = f"the directory name {quote(directory_name)} must match skill name {quote(name)}"
        yield "name_directory_mismatch", "name", message


def _description(value: Any) -> Iterator[Breach]:
    if value is None or (isinstance(value, str) and not value.strip()):
        yield "description_missing", "description", "Missing required field in frontmatter: description"
    elif not isinstance(value, str):
        yield "description_type", "description", "`description` must be a text"
    elif (size := _size(value)) > DESCRIPTION_CHARS:
        message = f"the description exceeds the {DESCRIPTION_CHARS} character limit ({size} characters)"
        yield "description_too_long", "description", message


def _compatibility(value: Any) -> Iterator[Breach]:
    if not isinstance(value, str):
        yield "compatibility_type", "compatibility", "`compatibility` must be a text"
    elif not value.strip():
        yield "compatibility_empty", "compatibility", "`compatibility` is there but empty"
    elif (size := _size(value)) > COMPATIBILITY_CHARS:
        message = f"the compatibility exceeds the {COMPATIBILITY_CHARS} character limit ({size} characters)"
        yield "compatibility_too_long", "compatibility", message


def _metadata(value: Any) -> Iterator[Breach]:
    if not isinstance(value, dict):
        yield "metadata_type", "metadata", "`metadata` must map names to texts"
        return
    pairs = cast("dict[str, Any]", value)
    odd = [key for key, item in pairs.items() if not isinstance(item, str)]
    if odd:
        yield "metadata_value_type", "metadata", f"values in `metadata` must be texts: {_join_names(odd)}"


def _tools(value: Any) -> Iterator[Breach]:
    if not isinstance(value, str):
        yield "allowed_tools_type", "allowed-tools", "`allowed-tools` must be one text with spaces between the tools"
    elif "," in _outside_parentheses(value):
        yield "allowed_tools_commas", "allowed-tools", "`allowed-tools` has commas between the tools"


def _outside_parentheses(text: str) -> str:
    outside: list[str] = []
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")" and depth > 0)
        if not depth:
            outside.append(char)
    return "".join(outside)


def _size(text: str) -> int:
    return len(text.rstrip("\n"))


def _join_names(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN_FIELDS} more" if len(names) > _SHOWN_FIELDS else ""
    return ", ".join(quote(name) for name in names[:_SHOWN_FIELDS]) + more


_TOOL = re.compile(r"(?:[^\s,()]|\((?:[^()]|\([^()]*\))*+\)|[()])+")
"""A tool name with its patterns; spaces and commas in parentheses belong to the pattern."""


def allowed_tools(value: Any) -> tuple[str, ...]:
    """Parse the field `allowed-tools` into tools without duplicates."""
    if isinstance(value, list):
        texts = [item.strip() for item in cast("list[Any]", value) if isinstance(item, str)]
        return tuple(dict.fromkeys(tool for text in texts for tool in _split(text)))
    return tuple(dict.fromkeys(_split(value))) if isinstance(value, str) else ()


def _split(text: str) -> list[str]:
    return _TOOL.findall(text)


_NAME_SHOWN = 80


class FrontMatter(msgspec.Struct, frozen=True):
    """The front matter fields that every skill must have."""

    name: str
    description: str
    metadata: Mapping[str, Any]


def check_fields(name: Any, description: Any, metadata: Mapping[str, Any]) -> FrontMatter | Problem:
    """Validate the required fields and return them normalized."""
    if not isinstance(name, str) or not name:
        return invalid("it has no `name`", hint="give it one in its front matter")
    if not is_name(name):
        rule = "use 2 to 64 small letters, digits, `-` and `_`, with a letter or digit at both ends"
        return invalid(f"{name[:_NAME_SHOWN]!a} is not a name for a skill", hint=rule)
    text = one_line(description) if isinstance(description, str) else ""
    if not text:
        return invalid("it has no `description`", hint="say in one sentence what it does and when to use it")
    return FrontMatter(name, text, dict(metadata))


def invalid(reason: str, *, hint: str) -> Problem:
    """Build the problem for invalid front matter."""
    return Problem(code="SKILL_SCAN_METADATA_INVALID", message=f"the skill cannot be used: {reason}", hint=hint)
