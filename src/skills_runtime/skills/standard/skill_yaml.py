"""Parse the files beside a `SKILL.md`: `skill.yaml` with the action, and the required environment variables.

Pure; never raises for any bytes. `skill.yaml` may be JSON or YAML.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, cast

import msgspec

from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import RunDefinition, is_name
from skills_runtime.skills.standard.diagnostics import Diagnostic, Mode, diagnose, is_fatal
from skills_runtime.skills.standard.specification import invalid, quote
from skills_runtime.skills.standard.yaml import MAX_DEPTH, Unusable, parse_mapping
from skills_runtime.storage import relative_parts

_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]{0,255}")


def parse_required_variables(data: bytes) -> tuple[str, ...] | Problem:
    """Parse the environment variables required by the `agents/openai.yaml` of a skill."""
    try:
        dependencies = parse_mapping(data).get("dependencies")
    except Unusable as error:
        return invalid(f"its `agents/openai.yaml` is not usable YAML: {error}", hint="correct that file")
    tools = cast("dict[str, Any]", dependencies).get("tools") if isinstance(dependencies, dict) else None
    rows = cast("list[Any]", tools) if isinstance(tools, list) else []
    tool_rows = [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]
    values = [row.get("value") for row in tool_rows if row.get("type") == "env_var"]
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str) and is_variable(value)))


def is_variable(text: str) -> bool:
    """Return whether the text is a valid name of an environment variable."""
    return _VARIABLE.fullmatch(text) is not None


RUN_FILE = "skill.yaml"
MAX_BYTES = 65_536
MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000
ENTRIES: Mapping[str, tuple[str, ...]] = {"python": ("run.py",), "node": ("run.ts", "run.js"), "shell": ("run.sh",)}
"""Entry files by runtime; the first that exists is used."""

_FIELDS = frozenset({"name", "description", "runtime", "timeout", "artifacts", "env", "isolation", "network"})
_RUNTIME_FIELDS = frozenset({"type", "warm"})
_ISOLATIONS = ("copy", "shared")
_NAME_CHARS = 128


def parse_run(data: bytes, *, mode: Mode = "lenient") -> tuple[RunDefinition | None, tuple[Diagnostic, ...]]:
    """Parse a run definition; return it, unless there is an error, with all diagnostics."""
    if len(data) > MAX_BYTES:
        return None, (_finding("run_invalid", mode, f"`{RUN_FILE}` is longer than {MAX_BYTES} bytes"),)
    try:
        fields = _fields(data)
    except Unusable as error:
        position = {"line": error.line, "column": error.column}
        return None, (
            _finding("run_invalid", mode, f"`{RUN_FILE}` is neither JSON nor YAML: {error.reason}", **position),
        )
    findings = tuple(_finding(code, mode, message) for code, message in _faults(fields))
    return (None if is_fatal(findings) else _definition(fields)), findings


def _finding(code: str, mode: Mode, message: str, **position: int | None) -> Diagnostic:
    return msgspec.structs.replace(diagnose(code, mode, message, **position), file=RUN_FILE)


def _fields(data: bytes) -> dict[str, Any]:
    """Parse the fields of JSON or YAML with every scalar as text."""
    if data.lstrip().startswith(b"{"):
        try:
            return _texts(msgspec.json.decode(data, type=dict[str, Any]), MAX_DEPTH)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # what begins like JSON may still be YAML
    return parse_mapping(data)


def _texts(value: Any, levels: int) -> Any:
    if levels <= 0:
        raise Unusable(f"more than {MAX_DEPTH - 1} levels are nested")
    if isinstance(value, dict):
        return {key: _texts(item, levels - 1) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_texts(item, levels - 1) for item in cast("list[Any]", value)]
    if isinstance(value, str):
        return value
    return "" if value is None else str(value).lower()


def _faults(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _name_faults(fields.get("name"))
    unknown = sorted(fields.keys() - _FIELDS)
    if unknown:
        yield "run_unknown_fields", f"`{RUN_FILE}` has unknown fields: {', '.join(map(quote, unknown[:10]))}"
    if not isinstance(fields.get("description", ""), str):
        yield "run_field", "`description` must be a text"
    if _runtime(fields).get("type") not in tuple(ENTRIES):
        yield "run_field", f"`runtime.type` must be one of: {', '.join(sorted(ENTRIES))}"
    if _runtime(fields).get("warm", "true") not in ("true", "false"):
        yield "run_field", "`runtime.warm` must be `true` or `false`"
    if _timeout(fields) == 0:
        yield "run_field", f"`timeout` must be milliseconds from 1 to {MAX_TIMEOUT_MS}"
    yield from _artifact_faults(_list(fields, "artifacts"))
    if not all(is_variable(name) for name in _list(fields, "env")):
        yield "run_field", "`env` must be a list of names of variables"
    if fields.get("network", "false") not in ("true", "false"):
        yield "run_field", "`network` must be `true` or `false`"
    if fields.get("isolation", "copy") not in _ISOLATIONS:
        yield "run_field", f"`isolation` must be one of: {', '.join(_ISOLATIONS)}"


def _name_faults(name: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(name, str) or not name.strip():
        yield "run_field", f"Missing required field in `{RUN_FILE}`: name"
    elif not name.isprintable() or "/" in name or name.strip(".") == "" or len(name) > _NAME_CHARS:
        yield "run_field", f"{quote(name)} is not a name for a skill"
    elif not is_name(name):
        yield "run_name_unusual", f"the name {quote(name)} cannot be mentioned"


def _artifact_faults(paths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the faults of artifact paths: an invalid list, and paths outside the skill's directory."""
    if "" in paths:
        yield "run_field", "`artifacts` must be a list of paths inside the skill's directory"
    outside = [path for path in paths if path and not relative_parts(_plain_path(path))]
    if outside:
        listing = ", ".join(map(quote, outside[:10]))
        yield "run_artifact_outside", f"`artifacts` has paths that are not inside the skill's directory: {listing}"


def _plain_path(path: str) -> str:
    """Normalize a path by removing parts such as `./`."""
    return str(PurePosixPath(path))


def _definition(fields: Mapping[str, Any]) -> RunDefinition:
    return RunDefinition(
        name=fields["name"].strip(),
        description=str(fields.get("description", "")).strip(),
        runtime=_runtime(fields)["type"],
        timeout_ms=_timeout(fields),
        artifacts=tuple(map(_plain_path, _list(fields, "artifacts"))),
        env=_list(fields, "env"),
        isolation=fields.get("isolation", "copy"),
        warm=_runtime(fields).get("warm", "true") == "true",
        network=fields.get("network", "false") == "true",
    )


def _runtime(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    runtime = fields.get("runtime")
    return cast("dict[str, Any]", runtime) if isinstance(runtime, dict) else {}


def _timeout(fields: Mapping[str, Any]) -> int | None:
    """Return the timeout in milliseconds; None if not given, 0 if invalid."""
    text = fields.get("timeout", "")
    # The older spelling of no value.
    if text in ("", "null", "~", "0"):
        return None
    legal = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= len(str(MAX_TIMEOUT_MS))
    return int(text) if legal and int(text) <= MAX_TIMEOUT_MS else 0


def _list(fields: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return the texts of a list; an empty text stands for an invalid item."""
    value = fields.get(key, [])
    if value == "":
        return ()
    items = cast("list[Any]", value) if isinstance(value, list) else [""]
    return tuple(item if isinstance(item, str) else "" for item in items)
