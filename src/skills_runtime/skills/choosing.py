"""Which skills a run begins with, and which its model is told of: by mention, by declared triggers and files, by words.

Only a mention, a trigger or a file puts the text of a skill into the prompt. What shared words suggest is told to the
model where the list of skills says too little, and the model decides.
"""

from collections.abc import Mapping, Sequence

import msgspec

from skills_runtime.events import Payload
from skills_runtime.events.payloads import SkillInjectionSkipped
from skills_runtime.skills.catalog import catalog_of, catalog_offered
from skills_runtime.skills.catalog.entries import entries_of
from skills_runtime.skills.catalog.marks import marks_in
from skills_runtime.skills.library import Library
from skills_runtime.skills.mentioned import Mentioned, mentioned
from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import Mention, Skill

SEARCH_TOOL = "search_skills"
MAX_RANKED = 1000
"""With more skills than this a run does not rank them when it begins; the model searches."""
SUGGESTED_CHARS = 300


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What a run begins with."""

    skills: tuple[Skill, ...] = ()
    """Those whose texts go into the prompt."""
    arguments: Mapping[Mention, str] = {}
    named: Mapping[Mention, str] = {}
    """Those of them that the task itself names, as it writes them."""
    listing: str = ""
    """What the model is told of all the others."""
    unmet: tuple[SkillInjectionSkipped, ...] = ()
    """Mentions that lead nowhere."""
    events: tuple[Payload, ...] = ()


def chosen_for(task: str, sought: Sequence[str], library: Library, *, routes: bool, lists: bool) -> Chosen:
    """The skills that these texts mention, and with `routes` those that the task calls for otherwise."""
    by_text = {text: mentioned(text, library) for text in sought}
    asked, of_task = _together(list(by_text.values())), by_text.get(task, Mentioned())
    skills = library.list() if routes or lists else ()
    if not skills:
        return Chosen(
            skills=asked.skills, arguments=asked.arguments, named=of_task.written, unmet=_unmet(asked.notices)
        )
    from skills_runtime.skills.routing import index_of, route, routed

    ranks = None if len(skills) <= MAX_RANKED else index_of(())
    routing = route(task, skills, index=ranks, asked=of_task)
    events: list[Payload] = [routed(routing)] if routing.choices else []
    certain = [choice.skill for choice in routing.certain if choice.rule != "mention"] if routes else []
    listing = ""
    if lists:
        catalog = catalog_of(skills, budget_tokens=library.rules.catalog_tokens, search_tool=SEARCH_TOOL)
        events.append(catalog_offered(catalog))
        marks_in(library, catalog.entries)  # whoever keeps what was told will ask for them
        partial = catalog.report.level in ("names", "search")
        suggested = [choice.skill for choice in routing.choices if choice.rule == "words"] if partial else []
        listing = "\n".join((catalog.text, *_likely(suggested))) if catalog.text else ""
    named = {skill.mention: skill for skill in (*asked.skills, *certain)}
    return Chosen(
        skills=tuple(named.values()),
        arguments=asked.arguments,
        named=of_task.written,
        listing=listing,
        unmet=_unmet(asked.notices),
        events=tuple(events),
    )


def _together(found: Sequence[Mentioned]) -> Mentioned:
    skills = {skill.mention: skill for one in found for skill in one.skills}
    return Mentioned(
        skills=tuple(skills.values()),
        arguments={mention: text for one in found for mention, text in one.arguments.items()},
        notices=tuple(notice for one in found for notice in one.notices),
    )


def _likely(skills: Sequence[Skill]) -> list[str]:
    lines = [entry.line(SUGGESTED_CHARS) for entry in entries_of(skills)]
    return ["Those that share words with the task:", *lines] if lines else []


def _unmet(notices: Sequence[Problem]) -> tuple[SkillInjectionSkipped, ...]:
    return tuple(
        SkillInjectionSkipped(skill_name=one.name or one.details.get("mention", ""), reason=_said(one))
        for one in notices
    )


def _said(notice: Problem) -> str:
    return f"{notice.message}; {notice.hint}" if notice.hint else notice.message
