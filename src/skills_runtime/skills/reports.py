"""Reports about skills for users: list, changes, details, problems, and the routing of a task."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.catalog import CatalogReport, build_catalog, compute_budget
from skills_runtime.skills.configured import load_library
from skills_runtime.skills.discovery import discover, resolve_discovery_paths
from skills_runtime.skills.install.lockfile import project_places, user_places
from skills_runtime.skills.install.operations import changed_skills
from skills_runtime.skills.library import Library, build_ambiguous_name, is_bundled, name_to_trust
from skills_runtime.skills.problems import Problem, SkillError
from skills_runtime.skills.skill import Skill, describe_unmentionable, is_name, parse_mention
from skills_runtime.skills.sources.filesystem import FilesystemSource, skill_directories
from skills_runtime.skills.sources.source import Origin
from skills_runtime.skills.standard.diagnostics import Diagnostic, Mode
from skills_runtime.skills.standard.directories import InspectedSkill, inspect_directory
from skills_runtime.skills.watch import Changes
from skills_runtime.storage import open_directory, walk

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

State = Literal["offered", "built-in", "changed", "shadowed", "untrusted", "broken"]
"""A built-in skill is used when a task names it. A changed one is available, but differs from what was installed."""
Kind = Literal["added", "changed", "removed", "broken", "warning"]
MAX_FILES = 200
"""Maximum number of listed files of a skill."""
_TOO_LARGE = "SKILL_BODY_TOO_LARGE"
_BREAKING = ("SKILL_SCAN_METADATA_INVALID", _TOO_LARGE)


# All of them


class ListedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill in the list for users."""

    name: str
    state: State
    mention: str = ""
    """Its exact mention, if its name allows one."""
    description: str = ""
    namespace: str = ""
    source: str = ""
    path: str = ""
    content_hash: str = ""
    runtime: str = ""
    """The language of its program, if it can be executed without a model."""
    reason: str = ""
    """Why it is not available, or a note about it."""


class SkillList(msgspec.Struct, frozen=True, kw_only=True):
    """All skills of a workspace, and all problems."""

    project: str
    trusted: bool | None
    """Whether the project is trusted; `None` if it has no skills."""
    skills: tuple[ListedSkill, ...]
    problems: tuple[Problem, ...]


def list_skills(resolved: "Resolved") -> SkillList:
    """Search all sources; broken and untrusted skills are listed too."""
    settings, process = resolved.settings.skills, resolved.environment.process
    paths = resolve_discovery_paths(resolved.workspace_root, process)
    discovery = discover(paths, settings)
    library = load_library(resolved)
    untrusted = library.untrusted()
    untrusted_problems = [problem for report in library.untrusted_reports for problem in report.problems]
    problems = library.problems()
    changes, lock_problems = changed_skills(user_places(process))
    try:
        project_changes, project_problems = changed_skills(project_places(resolved.workspace_root, process))
    except ValidationFailed:
        pass  # its skills come from elsewhere; the search reports it
    else:
        changes, lock_problems = changes | project_changes, (*lock_problems, *project_problems)
    skills = [
        *(_mark_changed(skill, changes) for skill in _list_library(library, problems)),
        *(_build_unreadable(problem, "broken") for problem in _find_breaking(problems)),
        *(_mark_changed(_build_listed(skill, "untrusted", explain_untrusted(skill)), changes) for skill in untrusted),
        *(_build_unreadable(problem, "untrusted") for problem in _find_breaking(untrusted_problems)),
    ]
    has_skills = discovery.untrusted or any(root.scope == "project" for root in discovery.roots)
    return SkillList(
        project=str(discovery.project),
        trusted=discovery.is_trusted if has_skills else None,
        skills=tuple(sorted(skills, key=lambda skill: (skill.name, skill.state, skill.namespace, skill.path))),
        problems=(
            *(
                problem
                for problem in problems
                if not (_is_breaking(problem) or problem.code in ("SKILL_SHADOWED", "SKILL_DUPLICATE_NAME"))
            ),
            *lock_problems,
        ),
    )


def _mark_changed(skill: ListedSkill, changes: dict[Path, str]) -> ListedSkill:
    change = changes.get(Path(skill.path).parent) if changes else None
    if change is None:
        return skill
    reason = "; ".join(filter(None, (skill.reason, change)))
    return msgspec.structs.replace(skill, state="changed" if skill.state == "offered" else skill.state, reason=reason)


def _list_library(library: Library, problems: Iterable[Problem]) -> Iterator[ListedSkill]:
    mentions = {skill.mention for skill in library.usable()}
    hidden = {
        (problem.namespace, problem.name): problem.message for problem in problems if problem.code == "SKILL_SHADOWED"
    }
    duplicates = {
        (problem.namespace, problem.name): problem.message
        for problem in problems
        if problem.code == "SKILL_DUPLICATE_NAME"
    }
    for skill in library.all():
        key = (skill.namespace, skill.name)
        if skill.mention in mentions:
            yield _build_listed(skill, "built-in" if is_bundled(skill) else "offered")
        elif key in duplicates:
            yield _build_listed(skill, "broken", duplicates[key])
        else:
            yield _build_listed(skill, "shadowed", hidden.get(key, ""))


def state_of(skill: Skill, library: Library) -> State:
    """Return the state of a skill in the library of what may be used."""
    if any(other.file == skill.file and other.mention == skill.mention for other in library.untrusted()):
        return "untrusted"
    if skill.mention not in {other.mention for other in library.usable()}:
        return "shadowed"
    return "built-in" if is_bundled(skill) else "offered"


def _find_breaking(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Return the first problem of each skill that cannot be used."""
    locators: set[str] = set()
    for problem in problems:
        if _is_breaking(problem) and problem.locator not in locators:
            locators.add(problem.locator)
            yield problem


def _is_breaking(problem: Problem) -> bool:
    return problem.severity == "error" and problem.code in _BREAKING


def _build_listed(skill: Skill, state: State, reason: str = "") -> ListedSkill:
    mentionable = is_name(skill.name)
    return ListedSkill(
        name=skill.name,
        state=state,
        mention=skill.mention.text if mentionable else "",
        description=skill.description,
        namespace=skill.namespace,
        source=skill.source_id,
        path=skill.locator,
        content_hash=skill.content_hash,
        runtime=skill.run.runtime if skill.run is not None else "",
        reason=reason or ("" if mentionable else describe_unmentionable(skill.name)),
    )


def explain_untrusted(skill: Skill) -> str:
    """Explain why a skill is not used, and which command allows it."""
    return f"not trusted; review it, then run `skills trust {name_to_trust(skill)}`"


def _build_unreadable(problem: Problem, state: State) -> ListedSkill:
    return ListedSkill(
        name=problem.name or Path(problem.locator).name,
        state=state,
        namespace=problem.namespace,
        path=problem.locator,
        reason=problem.message,
    )


# What changes


class SkillChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change."""

    change: Kind
    name: str
    mention: str = ""
    """Its current or former mention."""
    description: str = ""
    path: str = ""
    reason: str = ""
    """What is wrong with it."""


def list_changes(changes: Changes) -> Iterator[SkillChange]:
    """List the changes one by one; a skill that broke is reported as broken and not also as removed."""
    broken = {problem.locator: problem for problem in reversed(changes.problems) if problem.severity == "error"}
    yield from (_skill_change("added", skill) for skill in changes.added)
    yield from (_skill_change("changed", skill) for skill in changes.changed)
    yield from (
        _skill_change("removed", skill)
        for skill in changes.removed
        if {skill.locator, str(skill.directory)}.isdisjoint(broken)
    )
    yield from (_problem_change("broken", problem) for problem in reversed(broken.values()))
    yield from (_problem_change("warning", problem) for problem in changes.problems if problem.severity != "error")


def _problem_change(kind: Kind, problem: Problem) -> SkillChange:
    return SkillChange(change=kind, name=problem.name, path=problem.locator, reason=problem.message)


def _skill_change(kind: Kind, skill: Skill) -> SkillChange:
    description = skill.description if kind != "removed" else ""
    return SkillChange(
        change=kind, name=skill.name, mention=skill.mention.text, description=description, path=skill.locator
    )


# One of them


class CheckedSkill(msgspec.Struct, frozen=True):
    """A skill and its diagnostics."""

    path: str
    name: str | None
    valid: bool
    diagnostics: Sequence[Diagnostic]


class SkillLocation(msgspec.Struct, frozen=True):
    """A skill by path or name; a skill of a library has a mention."""

    directory: Path
    inspected: InspectedSkill
    mention: str | None = None


def check_skills(paths: Iterable[Path], mode: Mode) -> list[CheckedSkill]:
    """Check each skill at or below these paths."""
    checked: list[CheckedSkill] = []
    for directory in (directory for path in paths for directory in skill_directories(path)):
        inspected = inspect_directory(directory, mode=mode)
        valid = all(diagnostic.severity != "error" for diagnostic in inspected.diagnostics)
        name = inspected.skill.name if inspected.skill else None
        checked.append(CheckedSkill(_printable_path(str(directory)), name, valid, inspected.diagnostics))
    return checked


def find_at_path(text: str) -> SkillLocation | None:
    """Return the skill at a path, or nothing if the text is not a path."""
    path = Path(text)
    if path.name.lower() == "skill.md" and path.is_file():
        path = path.parent
    if not path.is_dir():
        if "/" in text and not text.startswith("$["):
            raise NotFound(f"there is no skill at `{path}`", hint="name the directory of a skill, or its name")
        return None
    inspected = inspect_directory(path, mode="lenient")
    if inspected.file is None and inspected.run is None:
        raise NotFound(f"`{path}` is not the directory of a skill", hint="a skill has a `SKILL.md`")
    return SkillLocation(Path(os.path.realpath(path)), inspected)


def find_by_name(text: str, resolved: "Resolved") -> SkillLocation:
    """Return the skill of the library with this mention or name."""
    library = load_library(resolved, include_untrusted=True)
    skill = library.find(parse_mention(text)) if text.startswith("$[") else library.find_by_name(text)
    if skill.directory is None:
        raise NotFound(f"`{skill.mention.text}` has no files to show", hint="only skills from files are shown")
    inspected = inspect_directory(skill.directory, mode="lenient")
    if is_name(skill.name):
        return SkillLocation(skill.directory, inspected, skill.mention.text)
    note = Diagnostic(code="name_without_mention", severity="info", message=describe_unmentionable(skill.name))
    noted = msgspec.structs.replace(inspected, diagnostics=(*inspected.diagnostics, note))
    return SkillLocation(skill.directory, noted)


def find_skill_to_trust(text: str, resolved: "Resolved") -> Path | None:
    """Return the directory of the project's skill with this mention or name, or nothing if there is none."""
    library = load_library(resolved)
    paths = resolve_discovery_paths(resolved.workspace_root, resolved.environment.process)
    project = discover(paths, resolved.settings.skills).project
    matching = [
        skill
        for skill in (*library.untrusted(), *library.all())
        if text in (skill.name, skill.mention.text, f"{skill.namespace}:{skill.name}")
    ]
    directories = list(dict.fromkeys(skill.directory for skill in matching if skill.directory is not None))
    own = [directory for directory in directories if directory.is_relative_to(project)]
    if len(own) > 1:
        raise SkillError(build_ambiguous_name(text, matching))
    if directories and not own:
        raise ValidationFailed(f"the skill `{text}` needs no trust: it is not part of this project")
    return own[0] if own else None


def describe_skill(target: SkillLocation) -> dict[str, Any]:
    """Return everything known about a skill."""
    inspected, skill = target.inspected, target.inspected.skill
    return {
        "name": skill.name if skill else inspected.run.name if inspected.run else None,
        "description": skill.description if skill else inspected.run.description if inspected.run else None,
        "mention": target.mention,
        "directory": _printable_path(str(target.directory)),
        "license": skill.license if skill else None,
        "compatibility": skill.compatibility if skill else None,
        "allowed_tools": list(skill.allowed_tools) if skill else [],
        "fields": dict(skill.other) if skill else {},
        "run": inspected.run,
        "body": {"lines": inspected.body.count("\n"), "characters": len(inspected.body)},
        "files": _list_files(target.directory),
        "diagnostics": list(inspected.diagnostics),
    }


def _list_files(directory: Path) -> list[str]:
    """List the first files by name, without following links."""
    skipped = (".git", "node_modules", "__pycache__")
    with open_directory(directory.resolve()) as top:
        entries = walk(top, enter=lambda entry: entry.name not in skipped, on_error=lambda _, __: None)
        return [
            _printable_path(entry.path)
            for entry in islice((item for item in entries if not item.is_directory), MAX_FILES)
        ]


def _printable_path(path: str) -> str:
    """Return a path as printable text."""
    return os.fsencode(path).decode(errors="backslashreplace")


# The ones for a task


class ExplainedChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One skill of a ranking, for users."""

    mention: str
    name: str
    rule: str
    score: float
    reason: str
    words: tuple[str, ...]
    locator: str
    prompt: str
    """What the model sees of it before calling it; empty if it is not listed."""


class RoutingExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """A routing decision and its reasons."""

    task: str
    decided_by: str
    considered: int
    choices: tuple[ExplainedChoice, ...]
    catalog: CatalogReport
    notices: tuple[str, ...]


def load_library_at(directories: Sequence[str]) -> Library:
    """Build a library of the skills below these directories only."""
    for directory in directories:
        if not Path(directory).is_dir():
            raise NotFound(f"there is no directory `{directory}`", hint="name a directory that has skills in it")
    sources = [
        FilesystemSource(
            Origin("given", "given" if len(directories) == 1 else f"given:{number:02}", "given"), Path(path)
        )
        for number, path in enumerate(directories, 1)
    ]
    return Library(sources)


def explain_routing(
    task: str, library: Library, resolved: "Resolved", *, paths: Sequence[str], limit: int
) -> RoutingExplanation:
    """Route a task as a run would and explain the result; an unknown exact mention is an error here too."""
    # Slow to import, and lists of skills need none of it.
    from skills_runtime.skills.mentions import resolve_mentions
    from skills_runtime.skills.routing import index_library, route_skills

    settings, window = resolved.settings.skills.catalog, resolved.settings.run.context_recovery.window_tokens
    budget_tokens = compute_budget(window, share=settings.share, max_tokens=settings.max_tokens)
    mentions = resolve_mentions(task, library)
    skills = library.list()
    routing = route_skills(task, skills, paths=paths, limit=limit, index=index_library(library), mentions=mentions)
    catalog = build_catalog(skills, budget_tokens=budget_tokens)
    # The lines of the list, by the mention each begins with.
    entry_lines = catalog.text.splitlines()[1 : 1 + catalog.report.offered]
    lines = {line[2:].partition(": ")[0]: line for line in entry_lines}
    choices = [
        ExplainedChoice(
            mention=choice.skill.mention.text if is_name(choice.skill.name) else f"${choice.skill.name}",
            name=choice.skill.name,
            rule=choice.rule,
            score=choice.score,
            reason=choice.reason,
            words=choice.words,
            locator=choice.skill.locator,
            prompt="its whole text, because the task mentions it"
            if choice.rule == "mention"
            else lines.get(choice.skill.mention.text, ""),
        )
        for choice in routing.choices
    ]
    too_large = [problem for problem in library.problems() if problem.code == _TOO_LARGE]
    return RoutingExplanation(
        task=task,
        decided_by=routing.decided_by,
        considered=routing.considered,
        choices=tuple(choices),
        catalog=catalog.report,
        notices=tuple(map(_format_notice, (*mentions.notices, *too_large))),
    )


def _format_notice(problem: Problem) -> str:
    message = f"`{problem.name}`: {problem.message}" if problem.code == _TOO_LARGE else problem.message
    return f"{message} ({problem.hint})" if problem.hint else message
