"""What is evaluated: cases with checks, queries that should call a skill or not, and the other skills around it.

Both public schemas are read. A sentence is judged by a model; a mapping with a `type` is decided without one. Pure but
for reading the files.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills import FilesystemSource, Origin
from skills_runtime.skills.actions import directory_digest
from skills_runtime.skills.sources.filesystem import skill_directories
from skills_runtime.storage import relative_parts

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


def parse_check(given: Any, place: str) -> Check:
    """The check that a sentence or a mapping stands for; `place` is where it was found."""
    if isinstance(given, str) and given.strip():
        return Check(type="judged", text=given.strip())
    if not isinstance(given, dict):
        raise _unusable(place, "it must be a sentence, or a mapping with a `type`")
    fields = cast("dict[str, Any]", given)
    if "type" not in fields:
        sentence = next((fields[name] for name in _SENTENCES if isinstance(fields.get(name), str)), "")
        if not sentence.strip():
            raise _unusable(place, "it has neither a `type` nor a `text`")
        return Check(type="judged", text=sentence.strip())
    kind = fields["type"]
    if kind not in _NEEDS:
        raise _unusable(place, f"there is no type {str(kind)[:40]!a}", hint=f"use one of: {', '.join(_NEEDS)}")
    unknown = sorted(fields.keys() - _FIELDS)
    if unknown:
        raise _unusable(place, f"it has no field {unknown[0][:40]!a}")
    return _parse_typed(kind, fields, place)


def _parse_typed(kind: CheckType, fields: Mapping[str, Any], place: str) -> Check:
    import re2  # slow to import, and only evaluations need it

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
    try:
        compile_pattern(fields.get("pattern", ""))
    except cast("Any", re2).error as error:
        why = error.args[0] if error.args else "it cannot be read"
        why = why.decode(errors="replace") if isinstance(why, bytes) else why
        raise _unusable(place, f"its `pattern` is not a regular expression: {why}") from error
    return Check(
        type=kind,
        text=fields.get("text") or _describe(kind, fields),
        value=fields.get("value"),
        pattern=fields.get("pattern", ""),
        path=fields.get("path", ""),
        pointer=fields.get("pointer", ""),
        ignore_case=fields.get("ignore_case") is True,
    )


def compile_pattern(pattern: str) -> Any:
    """The pattern in an engine that takes no longer than the text is long."""
    import re2  # slow to import, and only evaluations need it

    options = cast("Any", re2).Options()
    options.log_errors = False
    return cast("Any", re2).compile(f"(?m){pattern}", options)


def _describe(kind: CheckType, fields: Mapping[str, Any]) -> str:
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


def find_distractors(paths: Iterable[Path], skill: Path) -> tuple[Path, ...]:
    """The directories of all usable skills at or below some paths, each once and less the skill itself."""
    found: dict[Path, str] = {}
    for path in paths:
        if not path.exists():
            raise NotFound(f"there is nothing at `{path}`", hint="name skills, or a directory with skills in it")
        here = {one: name for one in skill_directories(path.resolve()) if (name := _name_of(one))}
        if not here:
            raise ValidationFailed(f"there are no skills in `{path}`", hint="see `skills validate`")
        found |= here
    found.pop(skill, None)
    names = [*found.values(), _name_of(skill)]
    shared = next((name for name in names if names.count(name) > 1), None)
    if shared is not None:
        raise ValidationFailed(
            f"queries cannot be tried among two skills with the name `{shared}`", hint="leave one of them out"
        )
    return tuple(found)


def _name_of(directory: Path) -> str:
    """What the skill of a directory is called; empty where there is none that can be used."""
    skills = FilesystemSource(Origin("eval", "beside", "others"), directory).skills().skills
    return next((one.name for one in skills if one.directory == directory), "")


def distractor_paths(neighbours: Iterable[Path], root: Path) -> dict[Path, Path]:
    """Where each of them is copied to below a directory; two directories of one name get two."""
    places: dict[Path, Path] = {}
    taken: set[str] = set()
    for source in neighbours:
        number, name = 1, source.name
        while name in taken:
            number += 1
            name = f"{source.name}-{number}"
        taken.add(name)
        places[source] = root / name
    return places


def distractors_digest(places: Mapping[Path, Path]) -> str:
    """One digest of all copies; where the skills came from does not count."""
    if not places:
        return ""
    rows = sorted(f"{place.name} {directory_digest(place)}\n" for place in places.values())
    return hashlib.sha256("".join(rows).encode(errors="surrogateescape")).hexdigest()


MAX_SUITE_BYTES = 4 << 20
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


def load_suite(path: Path, *, skill: Path | None = None, among: Iterable[Path] = ()) -> Suite:
    """Load the suite of a skill directory, or of one file with cases or queries; `among` is where other skills are."""
    if path.is_dir():
        directory = files = path.resolve()
        _check_skill(directory)
        candidates = [directory / CASES, *(directory / name for name in QUERIES)]
        present = [file for file in candidates if file.is_file()]
        chosen = present[:1] if present and present[0] != candidates[0] else present[:2]
        if not chosen:
            raise NotFound(
                f"`{directory}` has no evals", hint=f"write `{CASES}`, or `{QUERIES[0]}` for when it should be used"
            )
    elif path.is_file():
        directory, chosen = _skill_of(path.resolve(), skill), [path]
        files = _files_root(path.resolve(), directory)
    else:
        raise NotFound(f"there is nothing at `{path}`", hint="name the directory of a skill, or its evals.json")
    parsed = [_parse_file(file) for file in chosen]
    return Suite(
        skill=directory,
        files=files,
        cases=tuple(case for cases, _ in parsed for case in cases),
        queries=tuple(query for _, queries in parsed for query in queries),
        others=find_distractors(among, directory),
    )


def _skill_of(path: Path, given: Path | None) -> Path:
    if given is not None:
        _check_skill(given)
        return given.resolve()
    for directory in path.parents:
        if (directory / "SKILL.md").is_file():
            return directory
    raise NotFound(f"no skill is above `{path}`", hint="say whose evals they are: --skill DIR")


def _files_root(path: Path, skill: Path) -> Path:
    """Files are named from the skill; where the evals lie elsewhere, from the directory around them."""
    if path.is_relative_to(skill):
        return skill
    return path.parent.parent if path.parent.name == "evals" else path.parent


def _check_skill(directory: Path) -> None:
    if not (directory / "SKILL.md").is_file():
        raise NotFound(f"`{directory}` is not the directory of a skill", hint="a skill has a `SKILL.md`")


def _parse_file(path: Path) -> tuple[tuple[Case, ...], tuple[Query, ...]]:
    try:
        data = path.read_bytes()[: MAX_SUITE_BYTES + 1]
        document = json.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise NotFound(f"`{path}` cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ValidationFailed(f"`{path}` is not JSON: {error}", hint="correct it") from error
    rows: Any = cast("dict[str, Any]", document).get("evals") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not rows:
        raise ValidationFailed(f"`{path}` holds no list of evals", hint='write {"evals": [{"prompt": ...}]}')
    cases: list[Case] = []
    queries: list[Query] = []
    taken: set[str] = set()
    for number, row in enumerate(cast("list[Any]", rows), start=1):
        place = f"{number} of `{path.name}`"
        if not isinstance(row, dict):
            raise ValidationFailed(f"the eval {place} is not a mapping", hint="see how-to/evaluate-skills")
        fields = cast("dict[str, Any]", row)
        name = _id(fields, number, taken)
        if "should_trigger" in fields:
            should = fields["should_trigger"]
            if not isinstance(should, bool):
                raise ValidationFailed(f"the `should_trigger` of the eval {place} is neither true nor false")
            queries.append(Query(id=name, query=_text(fields, ("query", "prompt"), place), should_trigger=should))
        else:
            cases.append(_parse_case(fields, name, place))
    return tuple(cases), tuple(queries)


def _id(fields: Mapping[str, Any], number: int, taken: set[str]) -> str:
    """A name that can be that of a directory, and that no other row has."""
    given = fields.get("id", fields.get("eval_id", fields.get("name", number)))
    name = _NAME.sub("-", str(given)).strip("-")[:60] or str(number)
    if name in taken:
        raise ValidationFailed(f"two evals have the id `{name}`", hint="give each an id of its own")
    taken.add(name)
    return name


def _parse_case(fields: Mapping[str, Any], name: str, place: str) -> Case:
    checks: list[Check] = []
    for key in ("assertions", "expectations"):
        given: Any = fields.get(key) or []
        if not isinstance(given, list):
            raise ValidationFailed(f"the `{key}` of the eval {place} are not a list")
        rows = enumerate(cast("list[Any]", given), start=1)
        checks += [parse_check(one, f"{number} of the eval {place}") for number, one in rows]
    expected = fields.get("expected_output") or ""
    if not checks and expected:
        checks.append(parse_check(f"The result is what was expected: {expected}", place))
    if not checks:
        raise ValidationFailed(
            f"the eval {place} says nothing about its result", hint="add `assertions` or an `expected_output`"
        )
    files: Any = fields.get("files") or fields.get("input_files") or []
    if not isinstance(files, list) or not all(
        isinstance(one, str) and relative_parts(one.removeprefix("./")) for one in cast("list[Any]", files)
    ):
        raise ValidationFailed(f"the `files` of the eval {place} must be paths inside the skill")
    return Case(
        id=name,
        prompt=_text(fields, ("prompt", "query", "input"), place),
        expected_output=str(expected),
        files=tuple(one.removeprefix("./") for one in cast("list[str]", files)),
        checks=tuple(checks),
    )


def _text(fields: Mapping[str, Any], names: tuple[str, ...], place: str) -> str:
    found = next((fields[name] for name in names if fields.get(name)), None)
    if not isinstance(found, str) or not found.strip():
        raise ValidationFailed(f"the eval {place} has no `{names[0]}`", hint="write what a user would say")
    return found
