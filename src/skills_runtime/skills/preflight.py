"""Whether settings of skills can work, judged from the settings alone: nothing is opened, searched or connected.

Pure.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import is_namespace
from skills_runtime.skills.standard.skill_yaml import is_variable
from skills_runtime.text import one_line

if TYPE_CHECKING:
    from skills_runtime.config.models import SkillSource, SkillSpace, SkillsSettings

OPTIONS: Mapping[str, Mapping[str, bool]] = {
    "filesystem": {"root": True},
    "in-memory": {"namespace": False},
    "packages": {"packages": False},
    "redis": {"dsn_env": True, "key_prefix": True},
    "pgsql": {"dsn_env": True, "schema": True, "table": True},
}
"""The options of each kind of source, and whether it must have them."""
_MEANINGS: Mapping[str, str] = {
    "root": "the directory to search",
    "dsn_env": "the variable that holds the address of the server",
    "key_prefix": "what every key begins with",
    "schema": "the schema of the table",
    "table": "the table to read",
}
_PACKAGE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_IDENTIFIER_BYTES = 63


def preflight(settings: "SkillsSettings", *, injected: Collection[str] = ()) -> tuple[Problem, ...]:
    """Everything in the settings that cannot work, or does nothing; sources with an injected client need no address."""
    known = {source.id for source in settings.sources}
    return (
        *_twice((space.id for space in settings.spaces), "space", "SKILL_CONFIG_DUPLICATE_SPACE_ID"),
        *_twice((source.id for source in settings.sources), "source", "SKILL_CONFIG_DUPLICATE_SOURCE_ID"),
        *(problem for source in settings.sources for problem in _source(source, source.id in injected)),
        *(problem for space in settings.spaces for problem in _space(space, known)),
        *_unused(settings),
    )


def _problem(code: str, message: str, hint: str, *, path: str, severity: Any = "error") -> Problem:
    return Problem(code=f"SKILL_CONFIG_{code}", message=message, hint=hint, severity=severity, details={"path": path})


def _twice(ids: Iterable[str], what: str, code: str) -> Iterator[Problem]:
    for name, number in Counter(ids).items():
        if number > 1:
            message = f"{number} {what}s have the id `{one_line(name)}`"
            details = {"path": f"skills.{what}s", "id": name}
            yield Problem(code=code, message=message, hint="give each an id of its own", details=details)


def _space(space: "SkillSpace", known: set[str]) -> Iterator[Problem]:
    path = f"skills.spaces[{space.id}]"
    if not is_namespace(space.namespace):
        yield _problem(
            "INVALID_SPACE_NAMESPACE",
            f"`{one_line(space.namespace)}` is not a namespace for the space `{space.id}`",
            "use up to seven words of small letters, digits and `-`, joined by `:`, such as `web:mvp`",
            path=f"{path}.namespace",
        )
    for name in space.sources:
        if name not in known:
            yield _problem(
                "SPACE_SOURCE_NOT_FOUND",
                f"the space `{space.id}` names the source `{name}`, which does not exist",
                "add it to `skills.sources`, or take it out of the space",
                path=f"{path}.sources",
            )


def _source(source: "SkillSource", injected: bool) -> Iterator[Problem]:  # noqa: FBT001 - one source, one answer
    path = f"skills.sources[{source.id}]"
    options = OPTIONS.get(source.type)
    if options is None:
        yield _problem(
            "UNKNOWN_SOURCE_TYPE",
            f"the source `{source.id}` has the type `{one_line(source.type)}`, which there is not",
            f"use one of: {', '.join(sorted(OPTIONS))}",
            path=f"{path}.type",
        )
        return
    for name in sorted(source.options.keys() - options.keys()):
        yield _problem(
            "INVALID_OPTION",
            f"a source of type `{source.type}` has no option `{one_line(name)}` (source `{source.id}`)",
            f"it has: {', '.join(sorted(options))}",
            path=f"{path}.options",
        )
    for name, is_needed in options.items():
        value = source.options.get(name)
        if value is None:
            if is_needed and not (injected and name == "dsn_env"):
                yield _problem(
                    "MISSING_REQUIRED_OPTION",
                    f"the source `{source.id}` has no `{name}`",
                    f"name {_MEANINGS[name]} in its `options`",
                    path=f"{path}.options.{name}",
                )
        elif wrong := _RULES[name](value):
            code = "INVALID_ENV_VAR_NAME" if name == "dsn_env" and isinstance(value, str) else "INVALID_OPTION"
            message = f"the `{name}` of the source `{source.id}` {wrong}"
            yield _problem(code, message, "correct it", path=f"{path}.options.{name}")


def _unused(settings: "SkillsSettings") -> Iterator[Problem]:
    if settings.versioning.enabled or settings.versioning.strategy:
        yield _problem(
            "VERSIONING_IGNORED",
            "`skills.versioning` does nothing here",
            "take it out; `skills lock` pins what is installed",
            path="skills.versioning",
            severity="warning",
        )


def _path(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        return "must be a path"
    return "is not a usable path: it holds a null byte" if "\0" in value else ""


def _text(value: Any) -> str:
    usable = isinstance(value, str) and value.strip() and "\0" not in value
    return "" if usable else "must be text that says something"


def _variable(value: Any) -> str:
    # Not repeated: somebody may have put the address itself here.
    return "" if isinstance(value, str) and is_variable(value) else "must be the name of an environment variable"


def _identifier(value: Any) -> str:
    if wrong := _text(value):
        return wrong
    return "" if len(value.encode()) <= _IDENTIFIER_BYTES else f"is longer than {_IDENTIFIER_BYTES} bytes"


def _names(value: Any) -> str:
    names = cast("list[Any]", value) if isinstance(value, list | tuple) else [None]
    usable = all(isinstance(name, str) and _PACKAGE.fullmatch(name) for name in names)
    return "" if usable else "must be a list of packages, by the names they are imported under"


_RULES: Mapping[str, Callable[[Any], str]] = {
    "root": _path,
    "namespace": _text,
    "packages": _names,
    "dsn_env": _variable,
    "key_prefix": _text,
    "schema": _identifier,
    "table": _identifier,
}
"""What is wrong with the value of an option, or nothing."""
