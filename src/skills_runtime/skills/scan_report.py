"""The result of a skill scan as one value that can be written as JSON.

Pure.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

import msgspec

from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.stored import StoredSkill
from skills_runtime.text import well_formed

_MAX_DEPTH = 20


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """One problem in a report."""

    code: str
    severity: Literal["error", "warning", "notice"]
    message: str
    hint: str = ""
    details: Mapping[str, Any] = {}


class ScanStats(msgspec.Struct, frozen=True, kw_only=True):
    """How much was searched."""

    spaces_total: int
    sources_total: int
    skills_total: int


class ScannedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill in a report."""

    space_id: str
    source_id: str
    namespace: str
    skill_name: str
    mention: str
    description: str
    locator: str
    path: str | None
    body_size: int | None
    required_env_vars: tuple[str, ...]
    metadata: Any
    scope: str | None


class ScanReport(msgspec.Struct, frozen=True, kw_only=True):
    """The skills of a scan, and all problems."""

    scan_id: str
    skills: tuple[ScannedSkill, ...] = ()
    errors: tuple[Issue, ...] = ()
    warnings: tuple[Issue, ...] = ()
    """Includes notices, which report correct but possibly surprising facts."""
    stats: ScanStats


def build_scan_report(
    scan_id: str, skills: Iterable[Skill], issues: Iterable[Issue], *, spaces: int, sources: int
) -> ScanReport:
    """Build the report of one scan, with errors and warnings separated."""
    scanned = tuple(map(_build_scanned, skills))
    all_issues = tuple(issues)
    return ScanReport(
        scan_id=scan_id,
        skills=scanned,
        errors=tuple(issue for issue in all_issues if issue.severity == "error"),
        warnings=tuple(issue for issue in all_issues if issue.severity != "error"),
        stats=ScanStats(spaces_total=spaces, sources_total=sources, skills_total=len(scanned)),
    )


def build_issue(problem: Problem) -> Issue:
    """Convert a problem to an issue, with its location among the details."""
    location = {"locator": problem.locator, "namespace": problem.namespace, "skill_name": problem.name}
    details = {**{name: value for name, value in location.items() if value}, **problem.details}
    return Issue(
        code=problem.code,
        severity=problem.severity,
        message=problem.message,
        hint=problem.hint,
        details=to_jsonable(details),
    )


def to_jsonable(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """Convert a value to one that JSON can hold: no cycles, no NaN, only text as keys."""
    if depth < 0:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(inner, depth - 1) for key, inner in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_jsonable(inner, depth - 1) for inner in cast("Iterable[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    return well_formed(value if isinstance(value, str) else str(value))


def _build_scanned(skill: Skill) -> ScannedSkill:
    stored = skill if isinstance(skill, StoredSkill) else None
    return ScannedSkill(
        space_id=skill.space_id,
        source_id=skill.source_id,
        namespace=skill.namespace,
        skill_name=skill.name,
        mention=skill.mention.text,
        description=skill.description,
        locator=skill.locator,
        path=well_formed(str(skill.path)) if skill.path is not None else None,
        body_size=stored.body_size if stored is not None else None,
        required_env_vars=skill.required_env_vars,
        metadata=to_jsonable(skill.metadata),
        scope=(stored.scope or None) if stored is not None else None,
    )
