"""What `skills route` tells: the skills a task calls for, why, and what the model would be told of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.errors import NotFound
from skills_runtime.skills import FilesystemSource, Library, Origin, Problem
from skills_runtime.skills.catalog import Catalog, CatalogReport, budget_for, catalog_of
from skills_runtime.skills.mention_resolution import mentioned
from skills_runtime.skills.mentions import is_name
from skills_runtime.skills.routing import Choice, index_for, route

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


class ExplainedChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One skill of a ranking, for a reader."""

    mention: str
    name: str
    rule: str
    score: float
    reason: str
    words: tuple[str, ...]
    locator: str
    prompt: str
    """What the model would be told of it before it calls it; nothing for one that is not listed."""


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """A decision and everything that led to it."""

    task: str
    decided_by: str
    considered: int
    choices: tuple[ExplainedChoice, ...]
    catalog: CatalogReport
    notices: tuple[str, ...]


def library_at(directories: Sequence[str]) -> Library:
    """The skills below some directories, and no others."""
    for directory in directories:
        if not Path(directory).is_dir():
            raise NotFound(f"there is no directory `{directory}`", hint="name a directory that has skills in it")
    sources = [
        FilesystemSource(Origin("given", "given" if len(directories) == 1 else f"given:{place:02}", "given"), Path(one))
        for place, one in enumerate(directories, 1)
    ]
    return Library(sources)


def budget_of(resolved: "Resolved") -> int:
    """How many tokens the list of skills may have under these settings."""
    catalog = resolved.settings.skills.catalog
    window = resolved.settings.run.context_recovery.window_tokens
    return budget_for(window, share=catalog.share, max_tokens=catalog.max_tokens)


def explained(task: str, library: Library, *, paths: Sequence[str], limit: int, budget_tokens: int) -> Explained:
    """Route a task as a run would, and tell why; an exact mention that names nothing is an error here too."""
    asked = mentioned(task, library)
    skills = library.list()
    index = index_for(library)
    routing = route(task, skills, paths=paths, limit=limit, index=index, asked=asked)
    catalog = catalog_of(skills, budget_tokens=budget_tokens)
    lines = _lines(catalog)
    return Explained(
        task=task,
        decided_by=routing.decided_by,
        considered=routing.considered,
        choices=tuple(_explained(choice, lines.get(choice.skill.mention.text, "")) for choice in routing.choices),
        catalog=catalog.report,
        notices=(*map(_told, asked.notices), *(_told(one) for one in library.problems() if _is_too_large(one))),
    )


def _explained(choice: Choice, line: str) -> ExplainedChoice:
    skill = choice.skill
    return ExplainedChoice(
        mention=skill.mention.text if is_name(skill.name) else f"${skill.name}",
        name=skill.name,
        rule=choice.rule,
        score=choice.score,
        reason=choice.reason,
        words=choice.words,
        locator=skill.locator,
        prompt="its whole text, because the task mentions it" if choice.rule == "mention" else line,
    )


def _lines(catalog: Catalog) -> dict[str, str]:
    """The lines of the list, by the mention each begins with."""
    lines = catalog.text.splitlines()[1 : 1 + catalog.report.offered]
    return {line[2:].partition(": ")[0]: line for line in lines}


def _is_too_large(problem: Problem) -> bool:
    """Whether a skill is left out for the length of its text."""
    return problem.code == "SKILL_BODY_TOO_LARGE"


def _told(notice: Problem) -> str:
    message = f"`{notice.name}`: {notice.message}" if _is_too_large(notice) else notice.message
    return f"{message} ({notice.hint})" if notice.hint else message
