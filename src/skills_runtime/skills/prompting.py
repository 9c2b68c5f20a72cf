"""Puts together what a run tells its model before anything else: instructions, skills, and which tools there are.

Made once, when a run begins; it stays the beginning of every request, so a provider's cache of it keeps working.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.events import Payload
from skills_runtime.events.payloads import SkillInjectionSkipped
from skills_runtime.skills.choosing import chosen_for
from skills_runtime.skills.library import Library
from skills_runtime.skills.prompt.injection import Injected, MissingVariable, injections
from skills_runtime.skills.prompt.profile import HistoryMode, choices_of
from skills_runtime.skills.prompt.system import Texts, offered_tools, system_text
from skills_runtime.skills.prompt.template import uses
from skills_runtime.skills.prompt.texts import text_of

if TYPE_CHECKING:
    from skills_runtime.config.skill_models import PromptSettings


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
