"""Load an eval suite: cases with checks, trigger queries, and the other skills offered beside the evaluated one.

Reads both public schemas. A check that is a sentence is graded by a model, one with a `type` by code.
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

_REQUIRED_FIELD: Mapping[CheckType, str] = {
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
_TEXT_FIELDS = ("text", "check", "assertion", "expectation", "description")
"""Fields that may hold the sentence of a check without a `type`."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One assertion about the answer, or about the output file at `path`."""

    type: CheckType
    text: str
    """Description for readers, and the statement to grade if the type is `judged`."""
    value: Any = None
    pattern: str = ""
    path: str = ""
    pointer: str = ""
    """JSON pointer to the compared value, such as `/items/0/name`."""
    ignore_case: bool = False


def parse_check(value: Any, label: str) -> Check:
    """Parse a check from a sentence or a mapping; `label` names it in errors."""
    if isinstance(value, str) and value.strip():
        return Check(type="judged", text=value.strip())
    if not isinstance(value, dict):
        raise _invalid_assertion(label, "it must be a sentence, or a mapping with a `type`")
    fields = cast("dict[str, Any]", value)
    if "type" not in fields:
        sentence = next((fields[name] for name in _TEXT_FIELDS if isinstance(fields.get(name), str)), "")
        if not sentence.strip():
            raise _invalid_assertion(label, "it has neither a `type` nor a `text`")
        return Check(type="judged", text=sentence.strip())
    kind = fields["type"]
    if kind not in _REQUIRED_FIELD:
        raise _invalid_assertion(
            label, f"there is no type {str(kind)[:40]!a}", hint=f"use one of: {', '.join(_REQUIRED_FIELD)}"
        )
    unknown = sorted(fields.keys() - _FIELDS)
    if unknown:
        raise _invalid_assertion(label, f"it has no field {unknown[0][:40]!a}")
    return _parse_typed(kind, fields, label)


def _parse_typed(kind: CheckType, fields: Mapping[str, Any], label: str) -> Check:
    import re2  # slow to import, and only evaluations need it

    required = _REQUIRED_FIELD[kind]
    value = fields.get(required)
    accepts_any_value = kind == "json_equals"
    if required not in fields or (not accepts_any_value and not (isinstance(value, str) and value)):
        raise _invalid_assertion(label, f"a check of the type `{kind}` needs a `{required}`")
    for name in ("path", "pointer", "text", "pattern"):
        if not isinstance(fields.get(name, ""), str):
            raise _invalid_assertion(label, f"its `{name}` must be a text")
    if fields.get("path") and relative_parts(fields["path"]) is None:
        raise _invalid_assertion(label, "its `path` leads out of the working directory")
    try:
        compile_pattern(fields.get("pattern", ""))
    except cast("Any", re2).error as error:
        reason = error.args[0] if error.args else "it cannot be read"
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise _invalid_assertion(label, f"its `pattern` is not a regular expression: {reason}") from error
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
    """Compile a pattern with RE2, which matches in linear time."""
    import re2  # slow to import, and only evaluations need it

    options = cast("Any", re2).Options()
    options.log_errors = False
    return cast("Any", re2).compile(f"(?m){pattern}", options)


def _describe(kind: CheckType, fields: Mapping[str, Any]) -> str:
    target = f"`{fields['path']}`" if fields.get("path") else "the answer"
    value = str(fields.get("value", fields.get("pattern", "")))[:80]
    return {
        "contains": f"{target} contains {value!r}",
        "not_contains": f"{target} does not contain {value!r}",
        "equals": f"{target} is {value!r}",
        "regex": f"{target} matches {value!r}",
        "not_regex": f"{target} does not match {value!r}",
        "file_exists": f"{target} exists",
        "file_missing": f"{target} does not exist",
        "json_equals": f"{target}{' at ' + fields['pointer'] if fields.get('pointer') else ''} is the JSON {value}",
        "judged": value,
    }[kind]


def _invalid_assertion(label: str, reason: str, *, hint: str = "") -> ValidationFailed:
    return ValidationFailed(
        f"the assertion {label} cannot be used: {reason}", hint=hint or "see how-to/evaluate-skills"
    )


def find_distractors(paths: Iterable[Path], skill: Path) -> tuple[Path, ...]:
    """Return the directories of all usable skills at or below the paths, without the evaluated skill."""
    names_by_directory: dict[Path, str] = {}
    for path in paths:
        if not path.exists():
            raise NotFound(f"there is nothing at `{path}`", hint="name skills, or a directory with skills in it")
        usable = {
            directory: name for directory in skill_directories(path.resolve()) if (name := _read_skill_name(directory))
        }
        if not usable:
            raise ValidationFailed(f"there are no skills in `{path}`", hint="see `skills validate`")
        names_by_directory |= usable
    names_by_directory.pop(skill, None)
    names = [*names_by_directory.values(), _read_skill_name(skill)]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise ValidationFailed(
            f"queries cannot be evaluated with two skills named `{duplicate}`", hint="leave one of them out"
        )
    return tuple(names_by_directory)


def _read_skill_name(directory: Path) -> str:
    """Return the name of the skill in a directory; empty if there is no usable skill."""
    skills = FilesystemSource(Origin("eval", "beside", "others"), directory).skills().skills
    return next((skill.name for skill in skills if skill.directory == directory), "")


def plan_distractor_copies(distractors: Iterable[Path], root: Path) -> dict[Path, Path]:
    """Map each distractor to a target below `root`; equal directory names get a number."""
    copies: dict[Path, Path] = {}
    used_names: set[str] = set()
    for source in distractors:
        number, name = 1, source.name
        while name in used_names:
            number += 1
            name = f"{source.name}-{number}"
        used_names.add(name)
        copies[source] = root / name
    return copies


def digest_distractors(copies: Mapping[Path, Path]) -> str:
    """Compute one digest of all copies, independent of where they were copied from."""
    if not copies:
        return ""
    rows = sorted(f"{copy.name} {directory_digest(copy)}\n" for copy in copies.values())
    return hashlib.sha256("".join(rows).encode(errors="surrogateescape")).hexdigest()


MAX_SUITE_BYTES = 4 << 20
CASES = "evals/evals.json"
QUERIES = ("evals/eval_queries.json", "evals/trigger_queries.json", "evals/trigger_evals.json", "eval_queries.json")
"""Files searched for queries; the first that exists is used."""

_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One task with the checks of its result."""

    id: str
    prompt: str
    expected_output: str = ""
    files: tuple[str, ...] = ()
    """Input files, relative to the suite's `files`; they are copied into the working directory."""
    checks: tuple[Check, ...] = ()


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A user message, and whether it should call the skill."""

    id: str
    query: str
    should_trigger: bool


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """All cases and queries of one skill."""

    skill: Path
    """The directory of the skill."""
    files: Path
    """The directory that the input files of cases are relative to."""
    cases: tuple[Case, ...] = ()
    queries: tuple[Query, ...] = ()
    distractors: tuple[Path, ...] = ()
    """Directories of the other skills that the model sees in queries."""


def load_suite(path: Path, *, skill: Path | None = None, among: Iterable[Path] = ()) -> Suite:
    """Load the suite of a skill directory, or of one file with cases or queries; `among` holds paths of distractors."""
    if path.is_dir():
        directory = files = path.resolve()
        _check_skill(directory)
        candidates = [directory / CASES, *(directory / name for name in QUERIES)]
        present = [file for file in candidates if file.is_file()]
        chosen = present[:1] if present and present[0] != candidates[0] else present[:2]
        if not chosen:
            raise NotFound(
                f"`{directory}` has no evals", hint=f"write `{CASES}`, or `{QUERIES[0]}` for trigger queries"
            )
    elif path.is_file():
        directory, chosen = _find_skill_directory(path.resolve(), skill), [path]
        files = _find_files_root(path.resolve(), directory)
    else:
        raise NotFound(f"there is nothing at `{path}`", hint="name the directory of a skill, or its evals.json")
    parsed = [_parse_file(file) for file in chosen]
    return Suite(
        skill=directory,
        files=files,
        cases=tuple(case for cases, _ in parsed for case in cases),
        queries=tuple(query for _, queries in parsed for query in queries),
        distractors=find_distractors(among, directory),
    )


def _find_skill_directory(path: Path, skill: Path | None) -> Path:
    if skill is not None:
        _check_skill(skill)
        return skill.resolve()
    for directory in path.parents:
        if (directory / "SKILL.md").is_file():
            return directory
    raise NotFound(f"no directory above `{path}` is a skill", hint="name the skill with `--skill DIR`")


def _find_files_root(path: Path, skill: Path) -> Path:
    """Return the directory that input files are relative to: the skill, or the parent of evals stored elsewhere."""
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
    used_ids: set[str] = set()
    for number, row in enumerate(cast("list[Any]", rows), start=1):
        label = f"{number} of `{path.name}`"
        if not isinstance(row, dict):
            raise ValidationFailed(f"the eval {label} is not a mapping", hint="see how-to/evaluate-skills")
        fields = cast("dict[str, Any]", row)
        name = _parse_id(fields, number, used_ids)
        if "should_trigger" in fields:
            should = fields["should_trigger"]
            if not isinstance(should, bool):
                raise ValidationFailed(f"the `should_trigger` of the eval {label} is neither true nor false")
            queries.append(Query(id=name, query=_parse_text(fields, ("query", "prompt"), label), should_trigger=should))
        else:
            cases.append(_parse_case(fields, name, label))
    return tuple(cases), tuple(queries)


def _parse_id(fields: Mapping[str, Any], number: int, used_ids: set[str]) -> str:
    """Return the id of a row as a unique directory name."""
    value = fields.get("id", fields.get("eval_id", fields.get("name", number)))
    name = _NAME.sub("-", str(value)).strip("-")[:60] or str(number)
    if name in used_ids:
        raise ValidationFailed(f"two evals have the id `{name}`", hint="give each an id of its own")
    used_ids.add(name)
    return name


def _parse_case(fields: Mapping[str, Any], name: str, label: str) -> Case:
    checks: list[Check] = []
    for key in ("assertions", "expectations"):
        values: Any = fields.get(key) or []
        if not isinstance(values, list):
            raise ValidationFailed(f"the `{key}` of the eval {label} are not a list")
        rows = enumerate(cast("list[Any]", values), start=1)
        checks += [parse_check(value, f"{number} of the eval {label}") for number, value in rows]
    expected = fields.get("expected_output") or ""
    if not checks and expected:
        checks.append(parse_check(f"The result is what was expected: {expected}", label))
    if not checks:
        raise ValidationFailed(
            f"the eval {label} has no expected result", hint="add `assertions` or an `expected_output`"
        )
    files: Any = fields.get("files") or fields.get("input_files") or []
    if not isinstance(files, list) or not all(
        isinstance(file, str) and relative_parts(file.removeprefix("./")) for file in cast("list[Any]", files)
    ):
        raise ValidationFailed(f"the `files` of the eval {label} must be paths inside the skill")
    return Case(
        id=name,
        prompt=_parse_text(fields, ("prompt", "query", "input"), label),
        expected_output=str(expected),
        files=tuple(file.removeprefix("./") for file in cast("list[str]", files)),
        checks=tuple(checks),
    )


def _parse_text(fields: Mapping[str, Any], names: tuple[str, ...], label: str) -> str:
    text = next((fields[name] for name in names if fields.get(name)), None)
    if not isinstance(text, str) or not text.strip():
        raise ValidationFailed(f"the eval {label} has no `{names[0]}`", hint="write what a user would type")
    return text
