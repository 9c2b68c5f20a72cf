"""skill_exec: one action that a skill defines, run behind the fence of the run."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.skills.actions import Action, action_of, command_of
from skills_runtime.skills.digest import directory_digest
from skills_runtime.skills.library import Library
from skills_runtime.skills.mentions import parse_mention
from skills_runtime.skills.problems import SkillError, failure
from skills_runtime.skills.prompt.injection import missing_variables
from skills_runtime.skills.skill import Skill
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import Arguments, parse, schema_of


class SkillExecArguments(Arguments, frozen=True):
    """What skill_exec takes."""

    skill_mention: Annotated[str, Meta(description="The skill, as exactly one mention such as `$[web:mvp].writer`.")]
    action_id: Annotated[str, Meta(min_length=1, description="The name of one of its actions.")]


class SkillExec:
    """Runs actions of skills."""

    spec = ToolSpec(
        name="skill_exec",
        description="Run an action of a skill and wait for its end.",
        parameters=schema_of(SkillExecArguments),
        effect="effectful",
    )

    def __init__(self, library: Library, *, enabled: bool) -> None:
        self._library = library
        self._enabled = enabled

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The command of the action."""
        wanted, work, _ = await self._planned(arguments, context)
        return msgspec.structs.replace(processes.intent_of(work), skill=skill_named(wanted.skill_mention))

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The command, the fence it would run behind, and every byte of the skill it comes from."""
        wanted, work, _ = await self._planned(arguments, context)
        intent = await processes.previewed(work, context)
        digest = await asyncio.to_thread(self._digest, wanted)
        return msgspec.structs.replace(
            intent, skill=skill_named(wanted.skill_mention), digests={**intent.digests, wanted.skill_mention: digest}
        )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run it."""
        wanted, work, timeout_ms = await self._planned(arguments, context)
        result = await processes.run_to_end(work, context, timeout_ms=timeout_ms)
        about = {"skill": wanted.skill_mention, "action_id": wanted.action_id}
        return msgspec.structs.replace(result, data={**(result.data or {}), **about})

    async def _planned(
        self, arguments: Mapping[str, Any], context: ToolContext
    ) -> tuple[SkillExecArguments, processes.Work, int]:
        """The arguments, the command and its time; looking at files may take a while, so a thread does it."""
        wanted = parse(arguments, SkillExecArguments)
        try:
            work, timeout_ms = await asyncio.to_thread(self._work, wanted, context)
        except SkillError as error:
            raise told(error) from error
        return wanted, work, timeout_ms

    def _digest(self, wanted: SkillExecArguments) -> str:
        try:
            directory = self._library.find(parse_mention(wanted.skill_mention)).directory
            assert directory is not None, "a skill without one has no actions"
            return directory_digest(directory)
        except SkillError as error:
            raise told(error) from error

    def _work(self, wanted: SkillExecArguments, context: ToolContext) -> tuple[processes.Work, int]:
        """The command and its time."""
        if not self._enabled:
            raise failure(
                "SKILL_ACTIONS_DISABLED", "actions of skills are off", hint="set `skills.actions.enabled: true`"
            )
        skill = self._library.find(parse_mention(wanted.skill_mention))
        action = action_of(skill, wanted.action_id)
        argv = command_of(skill, action)
        missing = self._library.missing(skill)
        if missing:
            raise missing_variables(skill, missing)
        environment = self._environment(skill, action, context)
        readable = (skill.directory,) if skill.directory is not None else ()
        work = processes.Work(argv=argv, environment=environment, readable=readable)
        return work, action.timeout_ms or processes.DEFAULT_TIMEOUT_MS

    def _environment(self, skill: Skill, action: Action, context: ToolContext) -> dict[str, str]:
        """What the skill declares and what its action sets, then what only the runtime says."""
        declared = self._library.variables(skill)
        context.secrets.hide(*declared.values())
        return {
            **declared,
            **action.env,
            "SKILLS_RUNTIME_SDK_WORKSPACE_ROOT": str(context.root),
            "SKILLS_RUNTIME_SDK_SKILL_BUNDLE_ROOT": str(skill.directory),
            "SKILLS_RUNTIME_SDK_SKILL_MENTION": skill.mention.text,
            "SKILLS_RUNTIME_SDK_SKILL_ACTION_ID": action.id,
        }


def skill_named(mention: str) -> str:
    """How rules name the skill that a mention means."""
    try:
        found = parse_mention(mention)
    except SkillError as error:
        raise told(error) from error
    return f"{found.namespace}.{found.name}"


def told(error: SkillError) -> ToolError:
    """What stands in the way of a call, as the model is told."""
    details = {"code": error.code, "message": error.message, "details": dict(error.problem.details)}
    return ToolError(error.tool_kind, error.message, hint=error.hint, details={"error": details})
