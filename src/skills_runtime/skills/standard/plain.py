"""Reads a `SKILL.md` about which nothing is to be said, as nearly all are, at a fraction of the whole reader's cost.

Pure. It takes only what the lenient reader takes without a warning, and with the same result; all else it leaves to it.
"""

import re
from typing import Any

import msgspec

from skills_runtime.skills.standard.real_skills import spelled
from skills_runtime.skills.standard.simple import simple_fields
from skills_runtime.skills.standard.specification import DESCRIPTION_CHARS, NAME_CHARS

_OPENING = b"---\n"
_CLOSING = b"\n---"
_NAME = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")


class Plain(msgspec.Struct, frozen=True):
    """What a search keeps of a skill."""

    name: str
    description: str
    other: dict[str, Any]
    """Every field but `name` and `description`, as it was written."""


def plain_skill(data: bytes, directory_name: str, max_bytes: int) -> Plain | None:
    """The skill in a file, if there is nothing to warn of; remarks on other fields are for whoever validates it."""
    end = data.find(_CLOSING, len(_OPENING) - 1)
    if not data.startswith(_OPENING) or end < 0 or data[end + len(_CLOSING) : end + len(_CLOSING) + 1] != b"\n":
        return None
    front = data[len(_OPENING) : end + 1]
    if len(front) > max_bytes:
        return None
    try:
        fields = simple_fields(front.decode())
    except UnicodeDecodeError:
        return None
    return _plain(fields, directory_name) if fields else None


def _plain(fields: dict[str, Any], directory_name: str) -> Plain | None:
    own, respelled = spelled(fields)
    name, described = own.pop("name", None), own.pop("description", None)
    if respelled or name != directory_name or len(name) > NAME_CHARS or not _NAME.fullmatch(name):
        return None
    if not isinstance(described, str) or len(described) > DESCRIPTION_CHARS:
        return None
    description = described.strip()
    return Plain(name, description, own) if description else None
