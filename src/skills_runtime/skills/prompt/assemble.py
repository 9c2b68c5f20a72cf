"""Puts together what a run tells its model before anything else: instructions, skills, and which tools there are.

Made once, when a run begins; it stays the beginning of every request, so a provider's cache of it keeps working. Only a
mention, a trigger or a file puts the text of a skill into the prompt. What shared words suggest is told to the model
where the list of skills says too little, and the model decides.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.errors import ConfigError
from skills_runtime.events import Payload
from skills_runtime.events.payloads import SkillInjectionSkipped
from skills_runtime.skills.catalog import catalog_of, catalog_offered, entries_of, marks_of
from skills_runtime.skills.library import Library
from skills_runtime.skills.mentions import ResolvedMentions, resolve_mentions
from skills_runtime.skills.problems import Problem
from skills_runtime.skills.prompt.injection import Injected, MissingVariable, injections
from skills_runtime.skills.prompt.profile import HistoryMode, choices_of
from skills_runtime.skills.prompt.system import Texts, offered_tools, system_text, uses
from skills_runtime.skills.skill import Mention, Skill
from skills_runtime.text import one_line

if TYPE_CHECKING:
    from skills_runtime.config.models import PromptSettings

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
    by_text = {text: resolve_mentions(text, library) for text in sought}
    asked, of_task = _together(list(by_text.values())), by_text.get(task, ResolvedMentions())
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
        marks_of(library, catalog.entries)  # whoever keeps what was told will ask for them
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


def _together(found: Sequence[ResolvedMentions]) -> ResolvedMentions:
    skills = {skill.mention: skill for one in found for skill in one.skills}
    return ResolvedMentions(
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


MAX_BYTES = 1 << 20


def text_of(text: str | None, path: Path | None, setting: str) -> str | None:
    """The text, else what is in the file, else nothing."""
    if text is not None or path is None:
        return text
    try:
        data = _read(path)
    except OSError as error:
        raise _unusable(path, setting, (error.strerror or "it cannot be read").lower()) from error
    if len(data) > MAX_BYTES:
        raise _unusable(path, setting, f"it is larger than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unusable(path, setting, f"byte {error.start} is not UTF-8") from error


def _read(path: Path) -> bytes:
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is not a regular file")
        return file.read(MAX_BYTES + 1)


def _open_at_once(path: str, flags: int) -> int:
    # A named pipe in the place of a file must not hold us up before we can see what it is.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _unusable(path: Path, setting: str, why: str) -> ConfigError:
    return ConfigError(f"the file of `{setting}` cannot be used: {one_line(str(path))}: {why}", hint="check the path")


class HistoryRule(msgspec.Struct, frozen=True):
    """How much of the past goes into a request."""

    mode: HistoryMode
    max_messages: int
    max_chars: int


class PromptParts(msgspec.Struct, frozen=True, kw_only=True):
    """The fixed beginning of every request of a run, and the rules for the rest."""

    system: str
    injected: tuple[Injected, ...]
    tools: frozenset[str] | None
    """The tools to offer; nothing means all of them."""
    history: HistoryRule
    skipped: tuple[SkillInjectionSkipped, ...] = ()
    told: tuple[Payload, ...] = ()
    """Which skills the model is told of, and which of them the task calls for."""
    named: Mapping[str, str] = {}
    """The skills that the task itself names, by mention, as it writes them."""
    missing_env: tuple[MissingVariable, ...] = ()
    """What to ask a person for: give it to the library and assemble again, for those skills are not injected yet."""


def assemble(
    prompt_settings: "PromptSettings",
    *,
    task: str,
    cwd: Path,
    library: Library,
    tool_names: Sequence[str],
    constraints: str = "",
) -> PromptParts:
    """The prompt of a run that begins; an exact mention that names no skill is an error.

    Skills are looked for in the task, and under the injection mode `all` also in what the user wrote for the system.
    """
    choices = choices_of(prompt_settings)
    given = text_of(prompt_settings.system_text, prompt_settings.system_path, "prompt.system_path")
    developer = text_of(prompt_settings.developer_text, prompt_settings.developer_path, "prompt.developer_path")
    system = choices.system if given is None else given
    sought = {"all": (f"{system}\n{developer or ''}", task), "explicit_only": (task,), "none": ()}[choices.injection]
    tools = offered_tools(choices.tools, task, tool_names)
    wants_list = choices.skills_list or uses(system, "skills") or uses(developer or "", "skills")
    chosen = chosen_for(task, sought, library, routes=choices.injection == "all", lists=wants_list)
    outcomes = injections(chosen.skills, library, choices.render, chosen.arguments)
    texts = Texts(
        system=system,
        developer=developer or "",
        task=task,
        constraints=constraints,
        tools=[name for name in tool_names if tools is None or name in tools],
        skills=chosen.listing,
        list_skills=choices.skills_list,
    )
    history = prompt_settings.history
    return PromptParts(
        system=system_text(texts, cwd, show_tree=prompt_settings.include_cwd_tree),
        injected=tuple(each for each in outcomes if isinstance(each, Injected)),
        named={mention.text: written for mention, written in chosen.named.items()},
        skipped=(*chosen.unmet, *(each for each in outcomes if isinstance(each, SkillInjectionSkipped))),
        told=chosen.events,
        missing_env=tuple(name for each in outcomes if isinstance(each, tuple) for name in each),
        tools=tools,
        history=HistoryRule(choices.history, history.max_messages, history.max_chars),
    )


def exposed(prompt_settings: "PromptSettings", task: str, tool_names: Sequence[str]) -> frozenset[str] | None:
    """The tools that a task is offered; nothing means all of them."""
    return offered_tools(choices_of(prompt_settings).tools, task, tool_names)
