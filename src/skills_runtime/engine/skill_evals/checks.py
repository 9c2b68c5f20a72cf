"""What must hold of a result: checks a program can decide, and sentences that a model has to judge.

Pure. A sentence is what both public schemas hold; a mapping with a `type` is decided without a model.
"""

from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.storage.nofollow import relative_parts

CheckType = Literal[
    "contains", "not_contains", "equals", "regex", "not_regex", "file_exists", "file_missing", "json_equals", "judged"
]

_NEEDS: Mapping[CheckType, str] = {
    "contains": "value",
    "not_contains": "value",
    "equals": "value",
    "regex": "pattern",
    "not_regex": "pattern",
    "file_exists": "path",
    "file_missing": "path",
    "json_equals": "value",
    "judged": "text",
}
_FIELDS = frozenset({"type", "value", "pattern", "path", "pointer", "ignore_case", "text", "name", "id", "weight"})
_SENTENCES = ("text", "check", "assertion", "expectation", "description")
"""Where mappings without a type keep their sentence."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that must hold; without a path it is about the answer."""

    type: CheckType
    text: str
    """How people read it."""
    value: Any = None
    pattern: str = ""
    path: str = ""
    pointer: str = ""
    """Which part of a JSON document is meant, as in `/items/0/name`."""
    ignore_case: bool = False


def check_of(given: Any, place: str) -> Check:
    """The check that a sentence or a mapping stands for; `place` is where it was found."""
    if isinstance(given, str) and given.strip():
        return Check(type="judged", text=given.strip())
    if not isinstance(given, dict):
        raise _unusable(place, "it must be a sentence, or a mapping with a `type`")
    fields = cast("dict[str, Any]", given)
    if "type" not in fields:
        return _sentence(fields, place)
    kind = fields["type"]
    if kind not in _NEEDS:
        raise _unusable(place, f"there is no type {str(kind)[:40]!a}", hint=f"use one of: {', '.join(_NEEDS)}")
    unknown = sorted(fields.keys() - _FIELDS)
    if unknown:
        raise _unusable(place, f"it has no field {unknown[0][:40]!a}")
    return _typed(kind, fields, place)


def _sentence(fields: Mapping[str, Any], place: str) -> Check:
    found = next((fields[name] for name in _SENTENCES if isinstance(fields.get(name), str)), "")
    if not found.strip():
        raise _unusable(place, "it has neither a `type` nor a `text`")
    return Check(type="judged", text=found.strip())


def _typed(kind: CheckType, fields: Mapping[str, Any], place: str) -> Check:
    needed = _NEEDS[kind]
    value = fields.get(needed)
    anything = kind == "json_equals"
    if needed not in fields or (not anything and not (isinstance(value, str) and value)):
        raise _unusable(place, f"a check of the type `{kind}` needs a `{needed}`")
    for name in ("path", "pointer", "text", "pattern"):
        if not isinstance(fields.get(name, ""), str):
            raise _unusable(place, f"its `{name}` must be a text")
    if fields.get("path") and relative_parts(fields["path"]) is None:
        raise _unusable(place, "its `path` leads out of the working directory")
    _check_pattern(fields.get("pattern", ""), place)
    return Check(
        type=kind,
        text=fields.get("text") or _described(kind, fields),
        value=fields.get("value"),
        pattern=fields.get("pattern", ""),
        path=fields.get("path", ""),
        pointer=fields.get("pointer", ""),
        ignore_case=fields.get("ignore_case") is True,
    )


def compiled(pattern: str) -> Any:
    """The pattern in an engine that takes no longer than the text is long."""
    import re2

    options = cast("Any", re2).Options()
    options.log_errors = False
    return cast("Any", re2).compile(f"(?m){pattern}", options)


def _check_pattern(pattern: str, place: str) -> None:
    import re2

    try:
        compiled(pattern)
    except cast("Any", re2).error as error:
        raise _unusable(place, f"its `pattern` is not a regular expression: {_words(error)}") from error


def _words(error: BaseException) -> str:
    said = error.args[0] if error.args else "it cannot be read"
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)


def _described(kind: CheckType, fields: Mapping[str, Any]) -> str:
    where = f"`{fields['path']}`" if fields.get("path") else "the answer"
    value = str(fields.get("value", fields.get("pattern", "")))[:80]
    return {
        "contains": f"{where} contains {value!r}",
        "not_contains": f"{where} does not contain {value!r}",
        "equals": f"{where} is {value!r}",
        "regex": f"{where} matches {value!r}",
        "not_regex": f"{where} does not match {value!r}",
        "file_exists": f"{where} exists",
        "file_missing": f"{where} does not exist",
        "json_equals": f"{where}{' at ' + fields['pointer'] if fields.get('pointer') else ''} is the JSON {value}",
        "judged": value,
    }[kind]


def _unusable(place: str, why: str, *, hint: str = "") -> ValidationFailed:
    return ValidationFailed(f"the assertion {place} cannot be used: {why}", hint=hint or "see how-to/evaluate-skills")
