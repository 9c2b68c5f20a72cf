"""activate_skill: the text of a skill, when the model finds that it needs it."""

import asyncio
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.events import EnvVarRequired, EnvVarSet, SkillInjected, SkillInjectionSkipped
from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.skills import (
    MAX_ARGUMENT_CHARS,
    CurrentSkills,
    Injected,
    Library,
    Skill,
    SkillError,
    inject_skill,
    people_may_call,
    wants_own_run,
)
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.builtin.skill_exec import skill_tool_error
from skills_runtime.tools.builtin.subagents import children_of

FORK = "fork"
"""How the event of a skill says that a run of its own works on it."""


class Room(Protocol):
    """What a run knows of its skills."""

    def active(self) -> Mapping[str, tuple[str, str]]:
        """The skills the model has, by mention: the digest of what each says, and its arguments."""
        ...

    def called(self, call_id: str) -> bool:
        """Whether somebody called the skill by name, and the run made the call for them."""
        ...

    def permitting(self, skill: Skill, event: SkillInjected) -> SkillInjected:
        """The event with what the skill permits."""
        ...

    def confined(self) -> bool:
        """Whether an active skill confines the run to what it lists."""
        ...

    async def obtain(self, skill: Skill, variable: str) -> bool:
        """Whether somebody who was asked has told a variable."""
        ...


class ActivateSkillArguments(Arguments, frozen=True):
    """What activate_skill takes."""

    name: Annotated[str, Meta(min_length=1, description="The skill.")]
    arguments: Annotated[
        str, Meta(max_length=MAX_ARGUMENT_CHARS, description="What the skill shall be about, if it takes that.")
    ] = ""


class ActivateSkill:
    """Gives the model a skill."""

    def __init__(self, library: Library, room: Room) -> None:
        self._library = library
        self._named = CurrentSkills(library)
        self._room = room
        parameters = schema_of(ActivateSkillArguments)
        if listed := self._named().listed_names:
            parameters["properties"]["name"]["enum"] = listed
        self.spec = ToolSpec(
            name="activate_skill",
            description="Get the instructions of an available skill before you do what it is for.",
            parameters=parameters,
            effect="read",
        )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The skill it is about."""
        skill = self._skill(parse(arguments, ActivateSkillArguments).name, context)
        return Intent(skill=f"{skill.namespace}.{skill.name}")

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Make its text the next message, or have a run of its own work on it."""
        wanted = parse(arguments, ActivateSkillArguments)
        skill = self._skill(wanted.name, context)
        await self._have_variables(skill, context)
        try:
            outcome = await asyncio.to_thread(
                inject_skill, skill, self._library, "body", wanted.arguments, source="tool"
            )
        except SkillError as error:
            raise skill_tool_error(error) from error
        if not isinstance(outcome, Injected):
            raise _missing(skill, self._library.missing(skill))
        if self._room.active().get(skill.mention.text) == (outcome.event.digest, wanted.arguments):
            return ToolResult(ok=True, stdout="this skill is active already; its text stands above")
        # What confines this run would not confine another one.
        if wants_own_run(skill) and context.children is not None and not self._room.confined():
            context.emit(msgspec.structs.replace(outcome.event, render=FORK))
            return await _forked(self._task(skill, wanted.arguments), context)
        return self._activated(skill, outcome, context)

    async def _have_variables(self, skill: Skill, context: ToolContext) -> None:
        """Ask for what is missing, or leave the skill out, as the settings say."""
        missing, policy, path = self._library.missing(skill), self._library.rules.env_var_missing_policy, skill.file
        for name in missing if policy == "ask_human" else ():
            context.emit(EnvVarRequired(env_var=name, skill_name=skill.name, skill_path=path, policy=policy))
            if await self._room.obtain(skill, name):
                context.emit(EnvVarSet(env_var=name, skill_name=skill.name, skill_path=path))
        left = self._library.missing(skill)
        if left:
            skipped = SkillInjectionSkipped(
                skill_name=skill.name,
                skill_path=path,
                reason="missing_env_var",
                missing_env_vars=list(left),
                policy=policy,
            )
            context.emit(skipped)
            raise _missing(skill, left)

    def _task(self, skill: Skill, arguments: str) -> str:
        """What another run is told: it takes up the skill by itself, with all that comes with it."""
        try:
            named = self._library.find_by_name(skill.name) == skill and people_may_call(skill)
        except SkillError:
            named = False
        return f"/{skill.name} {arguments}".strip() if named else f"{skill.mention.text} {arguments}".strip()

    def _activated(self, skill: Skill, outcome: Injected, context: ToolContext) -> ToolResult:
        text = context.secrets.text(outcome.text)
        event = msgspec.structs.replace(outcome.event, text_blob=context.keep(text.encode()), size=len(text))
        context.emit(self._room.permitting(skill, event))
        data = {"skill": skill.mention.text, "digest": event.digest}
        return ToolResult(ok=True, stdout=f"the text of `{skill.mention.text}` follows", data=data)

    def _skill(self, name: str, context: ToolContext) -> Skill:
        """The skill of a name; one that only people may call is found for the call of somebody."""
        named = self._named()
        found = named.find(name)
        if found is not None:
            return found
        if self._room.called(context.call_id):
            found = next((one for one in self._library.all() if one.mention.text == name), None)
            if found is not None:
                return found
        near = get_close_matches(name, list(named.skills), n=3)
        hint = f"did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else "use a name from the list"
        raise ToolError("not_found", f"there is no skill `{name[:100]}` that you may activate", hint=hint)


def _missing(skill: Skill, names: Sequence[str]) -> ToolError:
    wanted = ", ".join(f"`{name}`" for name in names)
    return ToolError(
        "human_required",
        f"`{skill.mention.text}` needs environment variables that are not set: {wanted}",
        hint="go on without the skill, or ask the user to set them",
    )


async def _forked(task: str, context: ToolContext) -> ToolResult:
    """What a run of its own makes of the skill; the same call begins one only once."""
    family = children_of(context)
    begun = await family.spawn(task, call_id=context.call_id)
    (ended,) = await family.wait([begun.id])
    done = ended.status == "completed"
    return ToolResult(
        ok=done,
        stdout=ended.final_output or f"{ended.id}: {ended.status}",
        data=msgspec.to_builtins(ended),
        error_kind=None if done else ended.error_kind or "unknown",
    )
