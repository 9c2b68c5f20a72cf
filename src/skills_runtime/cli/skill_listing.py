"""Every skill there is, where it comes from, and whether it is offered."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.errors import ValidationFailed
from skills_runtime.skills import Library, Problem, Skill
from skills_runtime.skills.discovery import Discovery, discover, discovered_sources, places_of
from skills_runtime.skills.install.changed import changed_skills
from skills_runtime.skills.install.places import project_places, user_places
from skills_runtime.skills.mentions import is_name, without_mention

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

State = Literal["offered", "changed", "shadowed", "untrusted", "broken"]
"""A changed skill is offered as well, but it is not what was installed."""

_UNTRUSTED = "the project is not trusted"


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
        problems=(*(one for one in problems if not _is_told(one)), *unknown),
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


def _is_told(problem: Problem) -> bool:
    """Whether the list of skills says it already."""
    return _breaks(problem) or problem.code in ("SKILL_SHADOWED", "SKILL_DUPLICATE_NAME")


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
