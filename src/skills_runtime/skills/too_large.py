"""Skills whose texts are longer than the settings allow: left out and told of, before a run fails with one of them."""

from collections.abc import Callable
from pathlib import Path

from skills_runtime.skills.problems import Problem, SkillError
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources import Report


def fitting(report: Report, body: Callable[[Skill], str], max_bytes: int) -> Report:
    """The report without the skills in files that are too long; only those that may be are read."""
    sizes = {skill.mention: _size(skill, body, max_bytes) for skill in report.skills}
    long = [skill for skill in report.skills if sizes[skill.mention] > max_bytes]
    if not long:
        return report
    fit = tuple(skill for skill in report.skills if sizes[skill.mention] <= max_bytes)
    return Report(fit, (*report.problems, *(_problem(skill, sizes[skill.mention], max_bytes) for skill in long)))


def _size(skill: Skill, body: Callable[[Skill], str], max_bytes: int) -> int:
    if not skill.file:
        return 0
    try:
        if Path(skill.file).stat().st_size <= max_bytes:
            return 0
        return len(body(skill).encode())
    except (OSError, SkillError):
        return 0  # what cannot be read is told of when somebody calls it


def _problem(skill: Skill, size: int, max_bytes: int) -> Problem:
    return Problem(
        code="SKILL_BODY_TOO_LARGE",
        message=f"the skill cannot be used: its text is too large, with {size} bytes where {max_bytes} are allowed",
        hint="make it shorter, raise `skills.injection.max_bytes`, or set `prompt.skill_injection.render: summary`",
        locator=skill.locator,
        namespace=skill.namespace,
        name=skill.name,
    )
