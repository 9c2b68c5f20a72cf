"""What is evaluated: cases with assertions, and queries that should call a skill or not; both public schemas.

Pure but for reading the files.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.engine.skill_evals.checks import Check, check_of
from skills_runtime.engine.skill_evals.neighbours import neighbours_at
from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.storage.nofollow import relative_parts

MAX_BYTES = 4 << 20
CASES = "evals/evals.json"
QUERIES = ("evals/eval_queries.json", "evals/trigger_queries.json", "evals/trigger_evals.json", "eval_queries.json")
"""Where queries are looked for; the first that is there counts."""

_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One task, and what must hold of what comes of it."""

    id: str
    prompt: str
    expected_output: str = ""
    files: tuple[str, ...] = ()
    """What lies in the working directory, by its path from where the files are."""
    checks: tuple[Check, ...] = ()


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Something a user may say, and whether the skill is for it."""

    id: str
    query: str
    should_trigger: bool


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is evaluated of one skill."""

    skill: Path
    """The directory of the skill."""
    files: Path
    """Where the files of cases are."""
    cases: tuple[Case, ...] = ()
    queries: tuple[Query, ...] = ()
    others: tuple[Path, ...] = ()
    """The directories of the other skills that a model chooses among when it gets a query."""


def suite_at(path: Path, *, skill: Path | None = None, among: Iterable[Path] = ()) -> Suite:
    """The suite of a skill directory, or of one file with cases or queries; `among` is where other skills are."""
    suite = _suite_at(path, skill)
    return msgspec.structs.replace(suite, others=neighbours_at(among, suite.skill))


def _suite_at(path: Path, skill: Path | None) -> Suite:
    if path.is_dir():
        return _of_directory(path.resolve())
    if not path.is_file():
        raise NotFound(f"there is nothing at `{path}`", hint="name the directory of a skill, or its evals.json")
    home = _skill_of(path.resolve(), skill)
    cases, queries = _parsed(path)
    return Suite(skill=home, files=_files_of(path.resolve(), home), cases=cases, queries=queries)


def _of_directory(directory: Path) -> Suite:
    _check_skill(directory)
    found = [directory / CASES, *(directory / name for name in QUERIES)]
    present = [path for path in found if path.is_file()]
    chosen = present[:1] if present and present[0] != found[0] else present[:2]
    if not chosen:
        raise NotFound(
            f"`{directory}` has no evals", hint=f"write `{CASES}`, or `{QUERIES[0]}` for when it should be used"
        )
    cases: list[Case] = []
    queries: list[Query] = []
    for path in chosen:
        more_cases, more_queries = _parsed(path)
        cases += more_cases
        queries += more_queries
    return Suite(skill=directory, files=directory, cases=tuple(cases), queries=tuple(queries))


def _skill_of(path: Path, given: Path | None) -> Path:
    if given is not None:
        _check_skill(given)
        return given.resolve()
    for directory in path.parents:
        if (directory / "SKILL.md").is_file():
            return directory
    raise NotFound(f"no skill is above `{path}`", hint="say whose evals they are: --skill DIR")


def _files_of(path: Path, skill: Path) -> Path:
    """Files are named from the skill; where the evals lie elsewhere, from the directory around them."""
    if path.is_relative_to(skill):
        return skill
    return path.parent.parent if path.parent.name == "evals" else path.parent


def _check_skill(directory: Path) -> None:
    if not (directory / "SKILL.md").is_file():
        raise NotFound(f"`{directory}` is not the directory of a skill", hint="a skill has a `SKILL.md`")


def _parsed(path: Path) -> tuple[tuple[Case, ...], tuple[Query, ...]]:
    try:
        data = path.read_bytes()[: MAX_BYTES + 1]
        document = json.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise NotFound(f"`{path}` cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ValidationFailed(f"`{path}` is not JSON: {error}", hint="correct it") from error
    rows: Any = cast("dict[str, Any]", document).get("evals") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not rows:
        raise ValidationFailed(f"`{path}` holds no list of evals", hint='write {"evals": [{"prompt": ...}]}')
    return _rows(cast("list[Any]", rows), path)


def _rows(rows: Iterable[Any], path: Path) -> tuple[tuple[Case, ...], tuple[Query, ...]]:
    cases: list[Case] = []
    queries: list[Query] = []
    taken: set[str] = set()
    for number, row in enumerate(rows, start=1):
        place = f"{number} of `{path.name}`"
        if not isinstance(row, dict):
            raise ValidationFailed(f"the eval {place} is not a mapping", hint="see how-to/evaluate-skills")
        fields = cast("dict[str, Any]", row)
        name = _id(fields, number, taken)
        if "should_trigger" in fields:
            queries.append(_query(fields, name, place))
        else:
            cases.append(_case(fields, name, place))
    return tuple(cases), tuple(queries)


def _id(fields: Mapping[str, Any], number: int, taken: set[str]) -> str:
    """A name that can be that of a directory, and that no other row has."""
    given = fields.get("id", fields.get("eval_id", fields.get("name", number)))
    name = _NAME.sub("-", str(given)).strip("-")[:60] or str(number)
    if name in taken:
        raise ValidationFailed(f"two evals have the id `{name}`", hint="give each an id of its own")
    taken.add(name)
    return name


def _query(fields: Mapping[str, Any], name: str, place: str) -> Query:
    should = fields["should_trigger"]
    if not isinstance(should, bool):
        raise ValidationFailed(f"the `should_trigger` of the eval {place} is neither true nor false")
    return Query(id=name, query=_text(fields, ("query", "prompt"), place), should_trigger=should)


def _case(fields: Mapping[str, Any], name: str, place: str) -> Case:
    checks: list[Check] = []
    for key in ("assertions", "expectations"):
        given: Any = fields.get(key) or []
        if not isinstance(given, list):
            raise ValidationFailed(f"the `{key}` of the eval {place} are not a list")
        rows = enumerate(cast("list[Any]", given), start=1)
        checks += [check_of(one, f"{number} of the eval {place}") for number, one in rows]
    expected = fields.get("expected_output") or ""
    if not checks and expected:
        checks.append(check_of(f"The result is what was expected: {expected}", place))
    if not checks:
        raise ValidationFailed(
            f"the eval {place} says nothing about its result", hint="add `assertions` or an `expected_output`"
        )
    return Case(
        id=name,
        prompt=_text(fields, ("prompt", "query", "input"), place),
        expected_output=str(expected),
        files=_files(fields, place),
        checks=tuple(checks),
    )


def _text(fields: Mapping[str, Any], names: tuple[str, ...], place: str) -> str:
    found = next((fields[name] for name in names if fields.get(name)), None)
    if not isinstance(found, str) or not found.strip():
        raise ValidationFailed(f"the eval {place} has no `{names[0]}`", hint="write what a user would say")
    return found


def _files(fields: Mapping[str, Any], place: str) -> tuple[str, ...]:
    given: Any = fields.get("files") or fields.get("input_files") or []
    if not isinstance(given, list) or not all(
        isinstance(one, str) and relative_parts(one.removeprefix("./")) for one in cast("list[Any]", given)
    ):
        raise ValidationFailed(f"the `files` of the eval {place} must be paths inside the skill")
    return tuple(one.removeprefix("./") for one in cast("list[str]", given))
