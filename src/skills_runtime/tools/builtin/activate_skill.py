"""activate_skill: load the text of a skill when the model needs it."""

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
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.builtin.skill_exec import skill_tool_error
from skills_runtime.tools.builtin.subagents import require_children

FORK = "fork"
"""Value of `render` in the event of a skill that a forked run works on."""


class SkillState(Protocol):
    """The skills of a run, as far as this tool needs them."""

    def active(self) -> Mapping[str, tuple[str, str]]:
        """Return the active skills by mention, each with the digest of its text and its arguments."""
        ...

    def is_user_call(self, call_id: str) -> bool:
        """Return whether the user called the skill by name, and the run made this call for them."""
        ...

    def add_permissions(self, skill: Skill, event: SkillInjected) -> SkillInjected:
        """Return the event with the permissions of the skill."""
        ...

    def is_confined(self) -> bool:
        """Return whether an active skill restricts the run to the tools it lists."""
        ...

    async def obtain_variable(self, skill: Skill, variable: str) -> bool:
        """Ask for a variable; return whether it is set now."""
        ...


class ActivateSkillArguments(Arguments, frozen=True):
    """Arguments of activate_skill."""

    name: Annotated[str, Meta(min_length=1, description="The skill.")]
    arguments: Annotated[
        str, Meta(max_length=MAX_ARGUMENT_CHARS, description="Arguments for the skill, if it takes any.")
    ] = ""


class ActivateSkill:
    """Activates a skill for the model."""

    def __init__(self, library: Library, state: SkillState) -> None:
        self._library = library
        self._current_skills = CurrentSkills(library)
        self._state = state
        parameters = build_schema(ActivateSkillArguments)
        if names := self._current_skills().listed_names:
            parameters["properties"]["name"]["enum"] = names
        self.spec = ToolSpec(
            name="activate_skill",
            description="Get the instructions of an available skill before you do what it is for.",
            parameters=parameters,
            effect="read",
        )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the skill that the call activates."""
        skill = self._skill(parse(arguments, ActivateSkillArguments).name, context)
        return Intent(skill=f"{skill.namespace}.{skill.name}")

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Make the text of the skill the next message, or run the skill in a forked run."""
        args = parse(arguments, ActivateSkillArguments)
        skill = self._skill(args.name, context)
        await self._have_variables(skill, context)
        try:
            outcome = await asyncio.to_thread(inject_skill, skill, self._library, "body", args.arguments, source="tool")
        except SkillError as error:
            raise skill_tool_error(error) from error
        if not isinstance(outcome, Injected):
            raise _missing(skill, self._library.missing(skill))
        if self._state.active().get(skill.mention.text) == (outcome.event.digest, args.arguments):
            return ToolResult(ok=True, stdout="this skill is already active; its text is above")
        # The restrictions of this run would not apply to a forked one.
        if wants_own_run(skill) and context.children is not None and not self._state.is_confined():
            context.emit(msgspec.structs.replace(outcome.event, render=FORK))
            return await _run_forked(self._task(skill, args.arguments), context)
        return self._activate(skill, outcome, context)

    async def _have_variables(self, skill: Skill, context: ToolContext) -> None:
        """Ask for missing variables, or skip the skill, as the settings say."""
        missing, policy, path = self._library.missing(skill), self._library.rules.env_var_missing_policy, skill.file
        for name in missing if policy == "ask_human" else ():
            context.emit(EnvVarRequired(env_var=name, skill_name=skill.name, skill_path=path, policy=policy))
            if await self._state.obtain_variable(skill, name):
                context.emit(EnvVarSet(env_var=name, skill_name=skill.name, skill_path=path))
        still_missing = self._library.missing(skill)
        if still_missing:
            skipped = SkillInjectionSkipped(
                skill_name=skill.name,
                skill_path=path,
                reason="missing_env_var",
                missing_env_vars=list(still_missing),
                policy=policy,
            )
            context.emit(skipped)
            raise _missing(skill, still_missing)

    def _task(self, skill: Skill, arguments: str) -> str:
        """Return the task for a forked run, which activates the skill by itself."""
        try:
            has_command = self._library.find_by_name(skill.name) == skill and people_may_call(skill)
        except SkillError:
            has_command = False
        return f"/{skill.name} {arguments}".strip() if has_command else f"{skill.mention.text} {arguments}".strip()

    def _activate(self, skill: Skill, outcome: Injected, context: ToolContext) -> ToolResult:
        text = context.secrets.text(outcome.text)
        event = msgspec.structs.replace(outcome.event, text_blob=context.keep(text.encode()), size=len(text))
        context.emit(self._state.add_permissions(skill, event))
        data = {"skill": skill.mention.text, "digest": event.digest}
        return ToolResult(ok=True, stdout=f"the text of `{skill.mention.text}` follows", data=data)

    def _skill(self, name: str, context: ToolContext) -> Skill:
        """Find a skill by name; one that only users may call is found only for their calls."""
        current = self._current_skills()
        skill = current.find(name)
        if skill is not None:
            return skill
        if self._state.is_user_call(context.call_id):
            skill = next((candidate for candidate in self._library.all() if candidate.mention.text == name), None)
            if skill is not None:
                return skill
        near = get_close_matches(name, list(current.skills), n=3)
        hint = f"did you mean {' or '.join(f'`{match}`' for match in near)}?" if near else "use a name from the list"
        raise ToolError("not_found", f"there is no skill `{name[:100]}` that you may activate", hint=hint)


def _missing(skill: Skill, names: Sequence[str]) -> ToolError:
    variables = ", ".join(f"`{name}`" for name in names)
    return ToolError(
        "human_required",
        f"`{skill.mention.text}` needs environment variables that are not set: {variables}",
        hint="continue without the skill, or ask the user to set them",
    )


async def _run_forked(task: str, context: ToolContext) -> ToolResult:
    """Run the skill in a child run; a repeated call finds the same child."""
    children = require_children(context)
    child = await children.spawn(task, call_id=context.call_id)
    (status,) = await children.wait([child.id])
    completed = status.status == "completed"
    return ToolResult(
        ok=completed,
        stdout=status.final_output or f"{status.id}: {status.status}",
        data=msgspec.to_builtins(status),
        error_kind=None if completed else status.error_kind or "unknown",
    )
