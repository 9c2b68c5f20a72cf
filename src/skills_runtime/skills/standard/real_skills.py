"""What a lenient reader makes of a front matter: the skill that was meant, wherever that can be told.

Pure.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.skills.mentions import is_name
from skills_runtime.skills.standard.specification import (
    DESCRIPTION_CHARS,
    FIELDS,
    NAME_CHARS,
    Breach,
    breaches,
    mismatch,
    name_breaches,
    normal,
    quoted,
)

_APART = re.compile(r"[^\w-]+|-{2,}")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NO_PROSE = ("#", "|", "<", "![", "---", "===", "***", "[!")
_BODY_CHARS = 20_000
"""How much of a body is searched for a description."""

_SETTLED_HERE = frozenset({"name_missing", "description_missing"})


class Meant(msgspec.Struct, frozen=True):
    """The skill that was meant, and everything that was not as it should be."""

    name: str
    description: str
    fields: dict[str, Any]
    """Under the names that the specification gives them."""
    breaches: list[Breach]


def meant(fields: Mapping[str, Any], directory_name: str | None, body: bytes) -> Meant:
    """The skill that a front matter means; without a description the beginning of its body is one."""
    own, respelled = spelled(fields)
    name = usable_name(own.get("name"), directory_name)
    found = [("field_spelling", key, f"{quoted(key)} is not how the field is spelled") for key in respelled]
    found += (one for one in breaches(own, None) if one[0] not in _SETTLED_HERE)
    found += _about_name(own.get("name"), name, directory_name)
    description = text_of(own.get("description"))
    if not description:
        description = described_by(body[: 4 * _BODY_CHARS].decode(errors="ignore"))
        code = "description_taken_from_body" if description else "description_missing"
        message = "Missing required field in frontmatter: description"
        found.append((code, "description", message + ("; the body's beginning is taken for it" if description else "")))
    return Meant(name, description, own, found)


def _about_name(value: Any, name: str, directory_name: str | None) -> Iterator[Breach]:
    written = text_of(value)
    if not name:
        why = f"nothing of {quoted(written)} can be used as a name" if written else "there is no other name to take"
        yield "name_missing", "name", f"Missing required field in frontmatter: name; {why}"
    elif not written:
        message = f"Missing required field in frontmatter: name; the directory gives it the name {quoted(name)}"
        yield "name_taken_from_directory", "name", message
    else:
        if name != normal(written):
            yield "name_changed", "name", f"the skill goes by the name {quoted(name)} instead of {quoted(written)}"
        yield from mismatch(name, directory_name)


def spelled(fields: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields under their right names, and those that were written otherwise."""
    if fields.keys() <= FIELDS:
        return dict(fields), ()
    odd = {key: other for key in fields if (other := key.strip().lower().replace("_", "-")) in FIELDS and other != key}
    changed = {key: other for key, other in odd.items() if other not in fields}
    return {changed.get(key, key): value for key, value in fields.items()}, tuple(changed)


def usable_name(value: Any, directory_name: str | None) -> str:
    """The name a skill goes by: its own, its own made legal, or that of its directory; empty where there is none."""
    for text in (value, directory_name):
        if isinstance(text, str) and (name := _legal(text)):
            return name
    return ""


def _legal(text: str) -> str:
    name = normal(text).strip()
    if not name or is_name(name) or not any(name_breaches(name)):
        return name
    plain = _APART.sub("-", unicodedata.normalize("NFKC", name).lower())
    cut = plain.strip("-_")[:NAME_CHARS].strip("-_")
    return cut if any(each.isalnum() for each in cut) and cut.isprintable() else ""


def text_of(value: Any) -> str:
    """A text, also where somebody wrote a list of texts."""
    if isinstance(value, list):
        return " ".join(one for one in cast("list[Any]", value) if isinstance(one, str)).strip()
    return value.strip() if isinstance(value, str) else ""


def described_by(body: str) -> str:
    """The first paragraph of a body, or its first heading."""
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
