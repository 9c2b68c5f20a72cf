"""What is wrong with a layer, in sentences a person can act on, and how places and values are written in them.

Secrets are never repeated.
"""

import difflib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skills_runtime.config.models import CONFIG_VERSION, Settings, leaves, section_at
from skills_runtime.config.secrets import complaint, hide, is_secret_name, names_a_variable
from skills_runtime.errors import ConfigError
from skills_runtime.text import printable

Place = tuple[str | int, ...]
"""The names and positions that lead to a setting."""

_KEY_CHARS = 80
_VALUE_CHARS = 200
_LARGEST = 2**63
_SHOWN_CHARS = 40
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


def dotted(path: Place) -> str:
    """The place of a setting, such as `skills.spaces[0].id`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{printable(hide(part[:_KEY_CHARS]))}"
    return text.removeprefix(".")


def rendered(value: Any) -> str:
    """A value on one line of bounded length, without anything key-shaped."""
    if isinstance(value, Path) or (isinstance(value, str) and value.isprintable() and value.strip()):
        text = printable(hide(str(value)))
    else:
        text = printable(hide(json.dumps(value, ensure_ascii=False, default=str)))
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and what to do about it."""

    message: str
    hint: str = ""
    path: Place = ()


def refuse(problems: Sequence[Problem]) -> NoReturn:
    """Raise one error that leads with the first problem and carries them all."""
    first = problems[0]
    raise ConfigError(first.message, hint=first.hint, details={"problems": [each.message for each in problems]})


def too_new(data: Mapping[str, Any], where: str) -> Problem | None:
    """The problem of a layer written for a later version of this program."""
    version = data.get("config_version")
    if isinstance(version, bool) or not isinstance(version, int) or not CONFIG_VERSION < version < _LARGEST:
        return None
    message = f"`config_version: {version}` {where} is newer than this program understands ({CONFIG_VERSION})"
    return Problem(message, "upgrade skills-runtime", ("config_version",))


def unfit_values(data: Mapping[str, Any], where: str) -> list[Problem]:
    """Secrets, and values no setting can hold, wherever they stand."""
    return [
        Problem(f"`{dotted(path)}` {where} {text}", hint, path)
        for path, value in _walk(data)
        for text, hint in _objections(path, value)
    ]


def _walk(value: object, path: Place = ()) -> Iterator[tuple[Place, object]]:
    if isinstance(value, dict):
        for key, inner in cast(dict[str, object], value).items():
            yield from _walk(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast(list[object], value)):
            yield from _walk(inner, (*path, index))
    else:
        yield path, value


def _objections(path: Place, value: object) -> Iterator[tuple[str, str]]:
    if text := complaint(path, value):
        yield text, "configuration holds the names of variables, never secrets"
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            yield "must be valid Unicode text", "correct its encoding"
    elif isinstance(value, int):
        if not -_LARGEST < value < _LARGEST:
            yield "is too large a number", "use a smaller one"
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield "must be a finite number", "use an ordinary number"
    elif value is not None:
        yield f"must be plain data, not a value of type `{type(value).__name__}`", "put it in quotes if it is text"


def invalid_fields(error: ValidationError, where: str) -> list[Problem]:
    """What the model refused, one sentence for each field."""
    return [_invalid_field(each, where) for each in error.errors(include_url=False)]


def _invalid_field(error: ErrorDetails, where: str) -> Problem:
    path = error["loc"]
    if error["type"] == "extra_forbidden":
        return _unknown_key(path, where)
    if error["type"] == "missing":
        return Problem(f"`{dotted(path)}` {where} is missing", "add it", path)
    names = [part for part in path if isinstance(part, str)]
    private = any(is_secret_name(name) or names_a_variable(name) or name == "base_url" for name in names)
    instead = "" if private or error["type"] == "value_error" else f", not {_described(error['input'])}"
    at = path if isinstance(path[-1], str) else path[:-1]
    section = section_at(Settings, at[:-1])
    field = section.model_fields.get(str(at[-1])) if section else None
    hint = f"correct it; it means: {field.description}" if field else "correct it"
    return Problem(f"`{dotted(path)}` {where} {_demand(error)}{instead}", hint, path)


def _demand(error: ErrorDetails) -> str:
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


def _described(value: object) -> str:
    if isinstance(value, str):
        text = printable(hide(value))
        return f"'{text}'" if len(text) <= _SHOWN_CHARS else f"'{text[:_SHOWN_CHARS]}…'"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else printable(str(value)[:_SHOWN_CHARS])


def _unknown_key(path: Place, where: str) -> Problem:
    section = section_at(Settings, path[:-1])
    siblings = list(section.model_fields) if section else []
    message = f"`{dotted(path)}` {where} is not a setting"
    name = str(path[-1])[:_KEY_CHARS]
    nearest = ""
    if close := difflib.get_close_matches(name, siblings, n=1):
        nearest = dotted((*path[:-1], close[0]))
    else:
        by_name = {key.rpartition(".")[2]: key for key in reversed(list(leaves(Settings)))}
        if close := difflib.get_close_matches(name, list(by_name), n=1, cutoff=0.75):
            nearest = by_name[close[0]]
    if nearest:
        return Problem(f"{message}; did you mean `{nearest}`?", "correct the name or remove it", path)
    return Problem(message, f"settings here are: {', '.join(siblings)}", path)
