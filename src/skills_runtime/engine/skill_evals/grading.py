"""Decides the checks that need no model: text, patterns, files and JSON."""

import os
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.engine.skill_evals.checks import Check, compiled
from skills_runtime.storage.nofollow import open_directory, read_below, relative_parts

MAX_BYTES = 8 << 20
_SHOWN = 200


class Graded(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a check holds, and what shows it; nothing where nobody could tell."""

    text: str
    passed: bool | None
    evidence: str = ""


def grade(check: Check, answer: str, outputs: Path) -> Graded:
    """Decide one check by the answer and the files that are left."""
    if check.type in ("file_exists", "file_missing"):
        there = os.path.lexists(outputs.joinpath(*check.path.split("/")))
        evidence = f"`{check.path}` is there" if there else f"there is no `{check.path}`"
        return Graded(text=check.text, passed=there is (check.type == "file_exists"), evidence=evidence)
    text = content_of(outputs, check.path) if check.path else answer
    if text is None:
        return Graded(text=check.text, passed=False, evidence=f"`{check.path}` cannot be read as text")
    if check.type == "json_equals":
        return _same_json(check, text)
    return _about_text(check, text)


def content_of(outputs: Path, path: str) -> str | None:
    """The text of a file below the outputs; no link leads out of them."""
    parts = relative_parts(path)
    if parts is None:
        return None
    try:
        with open_directory(outputs.resolve()) as top:
            return read_below(top, parts, limit=MAX_BYTES).decode(errors="replace")
    except OSError:
        return None


def _about_text(check: Check, text: str) -> Graded:
    if check.type in ("regex", "not_regex"):
        pattern = f"(?i){check.pattern}" if check.ignore_case else check.pattern
        found = compiled(pattern).search(text)
        evidence = f"found {found.group(0)[:_SHOWN]!r}" if found else "no match"
        return Graded(text=check.text, passed=(found is not None) is (check.type == "regex"), evidence=evidence)
    value = str(check.value)
    here, wanted = (text.casefold(), value.casefold()) if check.ignore_case else (text, value)
    if check.type == "equals":
        return Graded(text=check.text, passed=here.strip() == wanted.strip(), evidence=f"it is {text[:_SHOWN]!r}")
    at = here.find(wanted)
    evidence = f"found at character {at}" if at >= 0 else "not found"
    return Graded(text=check.text, passed=(at >= 0) is (check.type == "contains"), evidence=evidence)


def _same_json(check: Check, text: str) -> Graded:
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return Graded(text=check.text, passed=False, evidence=f"not JSON: {error}")
    found, value = _part(document, check.pointer)
    if not found:
        return Graded(text=check.text, passed=False, evidence=f"there is nothing at `{check.pointer}`")
    return Graded(text=check.text, passed=_equal(value, check.value), evidence=f"it is {str(value)[:_SHOWN]}")


def _part(document: Any, pointer: str) -> tuple[bool, Any]:
    here = document
    for step in pointer.split("/")[1:] if pointer else ():
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and name in here:
            here = cast("dict[str, Any]", here)[name]
        elif isinstance(here, list) and name.isdigit() and int(name) < len(cast("list[Any]", here)):
            here = cast("list[Any]", here)[int(name)]
        else:
            return False, None
    return True, here


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: `true` is not `1`, and `1` is `1.0`."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(one, list) and isinstance(other, list):
        first, second = cast("list[Any]", one), cast("list[Any]", other)
        return len(first) == len(second) and all(map(_equal, first, second))
    return bool(one == other)
