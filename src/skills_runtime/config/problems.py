"""Problems of configuration sources as actionable sentences.

Secrets are never repeated.
"""

import difflib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skills_runtime.config.files import SettingPath, locate_values
from skills_runtime.config.models import CONFIG_VERSION, Settings, find_section, iterate_keys
from skills_runtime.config.secrets import find_secret_problem, hide_secrets, is_secret_name, is_variable_field
from skills_runtime.errors import ConfigError
from skills_runtime.text import printable

_KEY_CHARS = 80
_VALUE_CHARS = 200
_INTEGER_LIMIT = 2**63
_INPUT_CHARS = 40
_EXPECTED: Mapping[str, str] = {
    "bool_type": "`true` or `false`",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "an integer",
    "model_type": "a mapping",
    "path_type": "a path",
    "string_type": "text",
    "tuple_type": "a list",
}


def format_setting_path(path: SettingPath) -> str:
    """Format the path of a setting, such as `skills.spaces[0].id`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{printable(hide_secrets(part[:_KEY_CHARS]))}"
    return text.removeprefix(".")


def format_value(value: Any) -> str:
    """Format a value as one line of bounded length, without anything that looks like a key."""
    if isinstance(value, Path) or (isinstance(value, str) and value.isprintable() and value.strip()):
        text = printable(hide_secrets(str(value)))
    else:
        text = printable(hide_secrets(json.dumps(value, ensure_ascii=False, default=str)))
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, and how to fix it."""

    message: str
    hint: str = ""
    path: SettingPath = ()


@dataclass(frozen=True, slots=True)
class Location:
    """Where settings stand, such as "in `a.yaml`"; with the text of a file also at which line and column."""

    name: str
    text: str = ""

    def at(self, path: SettingPath) -> str:
        """Describe the place of a setting."""
        position = _locate(self.text).get(path) if self.text else None
        return f"{self.name} (line {position[0]}, column {position[1]})" if position else self.name


@lru_cache(maxsize=1)
def _locate(text: str) -> Mapping[SettingPath, tuple[int, int]]:
    """Return the positions in a text, which all its problems share."""
    return locate_values(text)


def raise_problems(problems: Sequence[Problem]) -> NoReturn:
    """Raise one error that leads with the first problem and carries them all."""
    first = problems[0]
    raise ConfigError(first.message, hint=first.hint, details={"problems": [problem.message for problem in problems]})


def check_version(data: Mapping[str, Any], location: Location) -> Problem | None:
    """Return the problem of a source written for a later version of this program."""
    version = data.get("config_version")
    if isinstance(version, bool) or not isinstance(version, int) or not CONFIG_VERSION < version < _INTEGER_LIMIT:
        return None
    place = location.at(("config_version",))
    message = f"`config_version: {version}` {place} is newer than this program understands ({CONFIG_VERSION})"
    return Problem(message, "upgrade skills-runtime", ("config_version",))


def find_unfit_values(data: Mapping[str, Any], location: Location) -> list[Problem]:
    """Find secrets, and values that no setting can hold, at any depth."""
    return [
        Problem(f"`{format_setting_path(path)}` {location.at(path)} {text}", hint, path)
        for path, value in _iterate_values(data)
        for text, hint in _check_value(path, value)
    ]


def _iterate_values(value: object, path: SettingPath = ()) -> Iterator[tuple[SettingPath, object]]:
    if isinstance(value, dict):
        for key, inner in cast(dict[str, object], value).items():
            yield from _iterate_values(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast(list[object], value)):
            yield from _iterate_values(inner, (*path, index))
    else:
        yield path, value


def _check_value(path: SettingPath, value: object) -> Iterator[tuple[str, str]]:
    if text := find_secret_problem(path, value):
        yield text, "configuration holds the names of variables, never secrets"
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            yield "must be valid Unicode text", "correct its encoding"
    elif isinstance(value, int):
        if not -_INTEGER_LIMIT < value < _INTEGER_LIMIT:
            yield "is too large a number", "use a smaller one"
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield "must be a finite number", "use an ordinary number"
    elif value is not None:
        yield f"must be plain data, not a value of type `{type(value).__name__}`", "put it in quotes if it is text"


def describe_invalid_fields(error: ValidationError, location: Location) -> list[Problem]:
    """Describe what the model refused, one sentence per field."""
    return [_describe_invalid_field(detail, location) for detail in error.errors(include_url=False)]


def _describe_invalid_field(error: ErrorDetails, location: Location) -> Problem:
    path = error["loc"]
    if error["type"] == "extra_forbidden":
        return _describe_unknown_key(path, location)
    if error["type"] == "missing":
        return Problem(f"`{format_setting_path(path)}` {location.at(path[:-1])} is missing", "add it", path)
    names = [part for part in path if isinstance(part, str)]
    private = any(is_secret_name(name) or is_variable_field(name) or name == "base_url" for name in names)
    actual = "" if private or error["type"] == "value_error" else f", not {_describe_input(error['input'])}"
    setting_path = path if isinstance(path[-1], str) else path[:-1]
    section = find_section(Settings, setting_path[:-1])
    field = section.model_fields.get(str(setting_path[-1])) if section else None
    hint = f"correct it; it means: {field.description}" if field else "correct it"
    message = f"`{format_setting_path(path)}` {location.at(path)} {_describe_requirement(error)}{actual}"
    return Problem(message, hint, path)


def _describe_requirement(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    rules: Mapping[str, Callable[[], str]] = {
        "literal_error": lambda: f"must be {context['expected'].replace(chr(39), '`')}",
        "greater_than": lambda: f"must be more than {context['gt']:g}",
        "greater_than_equal": lambda: f"must be at least {context['ge']:g}",
        "less_than_equal": lambda: f"must be at most {context['le']:g}",
        "value_error": lambda: str(context["error"]),
    }
    if kind in rules:
        return rules[kind]()
    return f"must be {_EXPECTED[kind]}" if kind in _EXPECTED else "is not acceptable"


def _describe_input(value: object) -> str:
    if isinstance(value, str):
        text = printable(hide_secrets(value))
        return f"'{text}'" if len(text) <= _INPUT_CHARS else f"'{text[:_INPUT_CHARS]}…'"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else printable(str(value)[:_INPUT_CHARS])


def unknown_key(key: str, location: Location) -> Problem:
    """Return the problem of a key that is not a setting, with the nearest name."""
    return _describe_unknown_key(tuple(key.split(".")), location)


def _describe_unknown_key(path: SettingPath, location: Location) -> Problem:
    section = find_section(Settings, path[:-1])
    siblings = list(section.model_fields) if section else []
    message = f"`{format_setting_path(path)}` {location.at(path)} is not a setting"
    name = str(path[-1])[:_KEY_CHARS]
    nearest = ""
    if close := difflib.get_close_matches(name, siblings, n=1):
        nearest = format_setting_path((*path[:-1], close[0]))
    else:
        by_name = {key.rpartition(".")[2]: key for key in reversed(list(iterate_keys(Settings)))}
        if close := difflib.get_close_matches(name, list(by_name), n=1, cutoff=0.75):
            nearest = by_name[close[0]]
    if nearest:
        return Problem(f"{message}; did you mean `{nearest}`?", "correct the name or remove it", path)
    return Problem(message, f"settings here are: {', '.join(siblings)}", path)
