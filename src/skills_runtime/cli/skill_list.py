"""Every skill there is, where it comes from and whether it is offered; and what changes while somebody watches."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

import msgspec

from skills_runtime.cli.interrupts import interrupts
from skills_runtime.cli.text import plural
from skills_runtime.errors import ValidationFailed
from skills_runtime.skills import Library, Problem, Skill, library_of
from skills_runtime.skills.discovery import Discovery, discover, discovered_sources, places_of
from skills_runtime.skills.install.lockfile import project_places, user_places
from skills_runtime.skills.install.operations import changed_skills
from skills_runtime.skills.skill import is_name, without_mention
from skills_runtime.skills.watch import Changes, watch_skills
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

State = Literal["offered", "changed", "shadowed", "untrusted", "broken"]
"""A changed skill is offered as well, but it is not what was installed."""

_UNTRUSTED = "the project is not trusted"
Kind = Literal["added", "changed", "removed", "broken", "warning"]
_DESCRIPTION_CHARS = 100


class ListedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill as somebody sees it who asks what there is."""

    name: str
    state: State
    mention: str = ""
    """How exactly this one is called, where it can be; not every legal name fits into an exact mention."""
    description: str = ""
    namespace: str = ""
    source: str = ""
    path: str = ""
    content_hash: str = ""
    reason: str = ""
    """Why it is not offered, or what else there is to know before it is used."""


class SkillList(msgspec.Struct, frozen=True, kw_only=True):
    """All skills of a workspace, and what is wrong besides."""

    project: str
    trusted: bool | None
    """Whether the project is trusted; nothing where it has no skills to be trusted with."""
    skills: tuple[ListedSkill, ...]
    problems: tuple[Problem, ...]


def listed_skills(resolved: "Resolved") -> SkillList:
    """Search everything; what is broken or not trusted is on the list as well."""
    settings = resolved.settings.skills
    places = places_of(resolved.workspace_root, resolved.environment.process)
    found = discover(places, settings)
    library = library_of(resolved)
    untrusted = Library(discovered_sources(found.untrusted, settings, places.index))
    problems = library.problems()
    changed, unknown = _changed(resolved)
    skills = [
        *(_marked(one, changed) for one in _of_library(library, problems)),
        *_broken(problems),
        *(_marked(_listed(skill, "untrusted", _UNTRUSTED), changed) for skill in untrusted.all()),
        *(_unnamed(one, "untrusted") for one in _about_skills(untrusted.problems())),
    ]
    return SkillList(
        project=str(found.project),
        trusted=_trust(found),
        skills=tuple(sorted(skills, key=lambda one: (one.name, one.state, one.namespace, one.path))),
        problems=(
            *(one for one in problems if not (_breaks(one) or one.code in ("SKILL_SHADOWED", "SKILL_DUPLICATE_NAME"))),
            *unknown,
        ),
    )


def _changed(resolved: "Resolved") -> tuple[dict[Path, str], tuple[Problem, ...]]:
    """The directories of installed skills that were changed, here and at home."""
    process = resolved.environment.process
    mine, told = changed_skills(user_places(process))
    try:
        own = project_places(resolved.workspace_root, process)
    except ValidationFailed:
        return mine, told  # its skills are elsewhere, and the search has said so
    theirs, told_too = changed_skills(own)
    return mine | theirs, (*told, *told_too)


def _marked(listed: ListedSkill, changed: dict[Path, str]) -> ListedSkill:
    why = changed.get(Path(listed.path).parent) if changed else None
    if why is None:
        return listed
    reason = "; ".join(filter(None, (listed.reason, why)))
    return msgspec.structs.replace(
        listed, state="changed" if listed.state == "offered" else listed.state, reason=reason
    )


def _trust(found: Discovery) -> bool | None:
    has_skills = found.untrusted or any(root.scope == "project" for root in found.roots)
    return found.is_trusted if has_skills else None


def _of_library(library: Library, problems: Iterable[Problem]) -> Iterator[ListedSkill]:
    offered = {skill.mention for skill in library.list()}
    hidden = {(one.namespace, one.name): one.message for one in problems if one.code == "SKILL_SHADOWED"}
    twice = {(one.namespace, one.name): one.message for one in problems if one.code == "SKILL_DUPLICATE_NAME"}
    for skill in library.all():
        key = (skill.namespace, skill.name)
        if skill.mention in offered:
            yield _listed(skill, "offered")
        elif key in twice:
            yield _listed(skill, "broken", twice[key])
        else:
            yield _listed(skill, "shadowed", hidden.get(key, ""))


def _broken(problems: Iterable[Problem]) -> Iterator[ListedSkill]:
    for one in _about_skills(problems):
        yield _unnamed(one, "broken")


def _about_skills(problems: Iterable[Problem]) -> Iterator[Problem]:
    """What keeps one skill from being used."""
    seen: set[str] = set()
    for one in problems:
        if _breaks(one) and one.locator not in seen:
            seen.add(one.locator)
            yield one


def _breaks(problem: Problem) -> bool:
    return problem.severity == "error" and problem.code in ("SKILL_SCAN_METADATA_INVALID", "SKILL_BODY_TOO_LARGE")


def _listed(skill: Skill, state: State, reason: str = "") -> ListedSkill:
    sayable = is_name(skill.name)
    return ListedSkill(
        name=skill.name,
        state=state,
        mention=skill.mention.text if sayable else "",
        description=skill.description,
        namespace=skill.namespace,
        source=skill.source_id,
        path=skill.locator,
        content_hash=skill.content_hash,
        reason=reason or ("" if sayable else without_mention(skill.name)),
    )


def _unnamed(problem: Problem, state: State) -> ListedSkill:
    return ListedSkill(
        name=problem.name or Path(problem.locator).name,
        state=state,
        namespace=problem.namespace,
        path=problem.locator,
        reason=problem.message,
    )


class SkillChange(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is different now."""

    change: Kind
    name: str
    mention: str = ""
    """How it is called, or was."""
    description: str = ""
    path: str = ""
    reason: str = ""
    """What is wrong with it."""


def watch(resolved: "Resolved", ready: Callable[[], None], tell: Callable[[SkillChange], None]) -> None:
    """Tell of every change from the moment that `ready` is called in, until Ctrl-C or SIGTERM."""
    asyncio.run(_watch(resolved, ready, tell))


async def _watch(resolved: "Resolved", ready: Callable[[], None], tell: Callable[[SkillChange], None]) -> None:
    since, stop = library_of(resolved), asyncio.Event()
    since.list()
    with interrupts(lambda: None) as interruption:
        ending = asyncio.create_task(_set_after(interruption.wait, stop))
        ready()
        async with aclosing(watch_skills(lambda: library_of(resolved), since=since, stop=stop)) as told:
            async for changes in told:
                for change in changes_in(changes):
                    tell(change)
        ending.cancel()


async def _set_after(wait: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
    await wait()
    stop.set()


def changes_in(changes: Changes) -> Iterator[SkillChange]:
    """The changes one by one; a skill that broke is told once, as broken, and not as removed as well."""
    broken = {one.locator: one for one in reversed(changes.problems) if one.severity == "error"}
    yield from (_of_skill("added", skill) for skill in changes.added)
    yield from (_of_skill("changed", skill) for skill in changes.changed)
    yield from (
        _of_skill("removed", skill)
        for skill in changes.removed
        if {skill.locator, str(skill.directory)}.isdisjoint(broken)
    )
    yield from (_of_problem("broken", one) for one in reversed(broken.values()))
    yield from (_of_problem("warning", one) for one in changes.problems if one.severity != "error")


def _of_problem(kind: Kind, one: Problem) -> SkillChange:
    return SkillChange(change=kind, name=one.name, path=one.locator, reason=one.message)


def _of_skill(kind: Kind, skill: Skill) -> SkillChange:
    said = skill.description if kind != "removed" else ""
    return SkillChange(change=kind, name=skill.name, mention=skill.mention.text, description=said, path=skill.locator)


def write_list(found: SkillList, out: TextIO) -> None:
    """Write the list for programs."""
    out.write(msgspec.json.format(msgspec.json.encode(found)).decode() + "\n")


def show_list(found: SkillList, out: TextIO) -> None:
    """Write the list for a person."""
    if not found.skills:
        out.write("no skills found; `skills new NAME` begins one\n")
    for skill in found.skills:
        out.write(f"{skill.state:9} {readable_line(skill.mention or skill.name)}\n")
        _about(skill.reason or skill.description, skill.path, out)
    for problem in found.problems:
        out.write(f"{problem.severity}: {readable_line(problem.message)}\n")
        if problem.locator and problem.locator not in problem.message:
            out.write(f"  at {readable_line(problem.locator)}\n")
        if problem.hint:
            out.write(f"  hint: {readable_line(problem.hint)}\n")
    if len(found.skills) > 1:
        numbers = Counter(skill.state for skill in found.skills)
        states = ", ".join(f"{number} {state}" for state, number in sorted(numbers.items()))
        out.write(f"{plural(len(found.skills), 'skill')}: {states}\n")


def write_change(change: SkillChange, out: TextIO) -> None:
    """Write one change for programs: one line, at once."""
    out.write(msgspec.json.encode(change).decode() + "\n")
    out.flush()


def show_change(change: SkillChange, out: TextIO) -> None:
    """Write one change for a person, at once."""
    out.write(f"{change.change:9} {readable_line(change.mention or change.name or change.path)}\n")
    _about(change.reason or change.description, change.path, out)
    out.flush()


def _about(text: str, path: str, out: TextIO) -> None:
    """What a skill does or what is wrong with it, as far as there is room, and where it is."""
    said = readable_line(text)
    if said:
        out.write(f"          {said[:_DESCRIPTION_CHARS] + ('…' if len(said) > _DESCRIPTION_CHARS else '')}\n")
    out.write(f"          {readable_line(path)}\n")
