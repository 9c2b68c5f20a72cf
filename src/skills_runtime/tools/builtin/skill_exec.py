"""skill_exec: run an action of a skill in the sandbox of the run."""

import asyncio
import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.processes import EnvironmentNeed, ScriptEnvironments, find_need, with_packages
from skills_runtime.skills import (
    RESERVED_PREFIX,
    RUN_ACTION,
    Action,
    Library,
    Skill,
    SkillError,
    directory_digest,
    failure,
    find_action,
    find_bundled_skills,
    missing_variables,
    parse_mention,
    resolve_command,
)
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import Arguments, build_schema, parse

# More than an approver would ever read.
MAX_INPUT_BYTES = 120_000
INPUT = "SKILL_INPUT"
"""Name under which approvals show the input; the skill reads it from standard input."""


class SkillRunner(Protocol):
    """Executes skills for the calls of a run."""

    async def run(self, skill: Skill, value: Any, context: ToolContext) -> ToolResult:
        """Execute the skill with this input and wait until its processes are gone."""
        ...


class NoSkillRunner:
    """Refuses every call: executing skills is not set up."""

    async def run(self, skill: Skill, value: Any, context: ToolContext) -> ToolResult:
        """Raise `ToolError`."""
        del value, context
        raise ToolError(
            "permission", f"`{skill.mention.text}` cannot be executed here", hint="use one of its other actions"
        )


def approval_variables(skill: Skill, value: Any) -> dict[str, str]:
    """Return what an approval shows besides the variables of the skill: its name and input."""
    return {"SKILL_NAME": skill.name, INPUT: render_input(value)}


def render_input(value: Any) -> str:
    """Encode the input as the skill reads it, in ASCII; None is an empty object."""
    import json

    text = json.dumps(value or {})
    if len(text) > MAX_INPUT_BYTES:
        raise ToolError(
            "validation",
            f"the input is longer than {MAX_INPUT_BYTES} bytes",
            hint="write it to a file and pass its path to the skill",
        )
    return text


class SkillExecArguments(Arguments, frozen=True):
    """Arguments of skill_exec."""

    skill_mention: Annotated[str, Meta(description="The skill, as exactly one mention such as `$[web:mvp].writer`.")]
    action_id: Annotated[str, Meta(min_length=1, description="The name of one of its actions; `run` runs the skill.")]
    input: Annotated[
        dict[str, Any] | None, Meta(description="JSON input of the action `run`; other actions take none.")
    ] = None


class PlannedAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action that is ready to run."""

    skill: Skill
    action: Action
    displayed: processes.CommandSpec
    """The command as approvals and rules see it."""
    command: processes.CommandSpec
    """The command as planned for the sandbox, and as executed unless the skill runs by itself."""
    need: EnvironmentNeed | None
    """Packages to provide before it starts."""

    @property
    def timeout_ms(self) -> int:
        """Time limit of the action."""
        return self.action.timeout_ms or processes.DEFAULT_TIMEOUT_MS


class SkillExec:
    """Runs actions of skills."""

    spec = ToolSpec(
        name="skill_exec",
        description="Run an action of a skill and wait until it exits.",
        parameters=build_schema(SkillExecArguments),
        effect="effectful",
        contained=True,
    )

    def __init__(
        self,
        library: Library,
        *,
        enabled: bool,
        environments: ScriptEnvironments | None = None,
        runner: SkillRunner | None = None,
    ) -> None:
        if not enabled:  # not offered, but a model that calls it all the same learns why it cannot
            self.spec = msgspec.structs.replace(self.spec, listed=False)
        self._library = library
        self._enabled = enabled
        self._environments = environments or ScriptEnvironments()
        self._runner = runner or NoSkillRunner()

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the command of the action."""
        args, planned = await self._plan_call(arguments, context)
        digest = ""
        with suppress(SkillError):  # too large: a rule cannot be limited to its content
            digest = await _digest(planned)
        return _name_skill(processes.build_intent(planned.displayed), args, planned, context, digest)

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the command, its sandbox and the digest of the whole skill."""
        args, planned = await self._plan_call(arguments, context)
        intent = await processes.preview_command(planned.command, context)
        displayed = processes.build_intent(planned.displayed)
        need = planned.need
        try:
            digest = await _digest(planned)
        except SkillError as error:
            raise skill_tool_error(error) from error
        # Packages that are downloaded unless they are cached, as the approver sees them.
        packages = {} if need is None else {f"packages: {', '.join(need.metadata.dependencies)}": need.key}
        scripts = self._drop_environment_digests(intent.digests, need, context)
        previewed = msgspec.structs.replace(
            intent,
            argv=displayed.argv,
            environment=displayed.environment,
            digests={**scripts, **packages, args.skill_mention: digest},
        )
        return _name_skill(previewed, args, planned, context, digest)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Provide the packages it needs, then run the action."""
        args, planned = await self._plan_call(arguments, context)
        if planned.need is not None:
            await self._environments.provide(planned.need)
        if planned.action.entry is not None:
            async with processes.exclusive_claim(
                planned.command, processes.plan_command(planned.command, context), context
            ):
                result = await self._runner.run(planned.skill, args.input, context)
        else:
            result = await processes.run_to_end(planned.command, context, timeout_ms=planned.timeout_ms)
        facts = {"skill": args.skill_mention, "action_id": args.action_id}
        if planned.need is not None:
            facts["environment"] = planned.need.key
        return msgspec.structs.replace(result, data={**(result.data or {}), **facts})

    async def _plan_call(
        self, arguments: Mapping[str, Any], context: ToolContext
    ) -> tuple[SkillExecArguments, PlannedAction]:
        """Parse the arguments and plan the action in a thread, because it reads files."""
        args = parse(arguments, SkillExecArguments)
        try:
            return args, await asyncio.to_thread(self._plan, args, context)
        except SkillError as error:
            raise skill_tool_error(error) from error

    def _drop_environment_digests(
        self, digests: Mapping[str, str], need: EnvironmentNeed | None, context: ToolContext
    ) -> Mapping[str, str]:
        """Drop the digests of files in the script environment, which its key already covers."""
        if need is None:
            return digests
        prefix = f"{self._environments.directory(need)}{os.sep}"
        root = context.root.resolve()
        return {
            name: digest for name, digest in digests.items() if not os.path.normpath(root / name).startswith(prefix)
        }

    def _plan(self, args: SkillExecArguments, context: ToolContext) -> PlannedAction:
        skill, action = self._action(args)
        argv = resolve_command(skill, action)
        missing = self._library.missing(skill)
        if missing:
            raise missing_variables(skill, missing)
        need = find_need(skill, argv)
        code: tuple[Path, ...] = (skill.directory,) if skill.directory is not None else ()
        readable = code
        if need is not None:
            argv = with_packages(argv, self._environments.python(need))
            # An environment that commands of the run could change is refused.
            directory = self._environments.directory(need)
            if directory.resolve().is_relative_to(context.root.resolve()):
                raise ToolError(
                    "permission",
                    "packages for scripts are kept inside the working directory, where any command could change them",
                    hint="set `XDG_CACHE_HOME` to a directory outside it",
                )
            readable = (*readable, directory)
        variables = self._environment(skill, action, context)
        if action.entry is not None:
            variables = {**variables, **approval_variables(skill, args.input)}
        # The sandbox checks that the program exists, but the environment is created only after approval.
        executed = argv if need is None else ("/usr/bin/env", *argv)
        return PlannedAction(
            skill=skill,
            action=action,
            displayed=processes.CommandSpec(
                argv=argv,
                environment={name: value for name, value in variables.items() if not name.startswith(RESERVED_PREFIX)},
                readable=readable,
            ),
            command=processes.CommandSpec(argv=executed, environment=variables, readable=readable, code=code),
            need=need,
        )

    def _action(self, args: SkillExecArguments) -> tuple[Skill, Action]:
        if not self._enabled:
            raise failure(
                "SKILL_ACTIONS_DISABLED",
                "actions of skills are turned off (`skills.actions.enabled: false`)",
                hint="tell the user to set `skills.actions.enabled: true`",
            )
        skill = self._library.find(parse_mention(args.skill_mention))
        action = find_action(skill, args.action_id)
        if args.input and action.entry is None:
            raise ToolError(
                "validation", f"the action `{action.id}` takes no `input`", hint=f"only `{RUN_ACTION}` does"
            )
        return skill, action

    def _environment(self, skill: Skill, action: Action, context: ToolContext) -> dict[str, str]:
        """Merge the variables that the skill declares, those of the action, and those of the runtime."""
        optional = skill.run.env if action.entry is not None and skill.run is not None else ()
        names = (*skill.required_env_vars, *optional)
        declared = self._library.variables(msgspec.structs.replace(skill, required_env_vars=names))
        context.secrets.hide(*declared.values())
        return {
            **declared,
            **action.env,
            "SKILLS_RUNTIME_SDK_WORKSPACE_ROOT": str(context.root),
            "SKILLS_RUNTIME_SDK_SKILL_BUNDLE_ROOT": str(skill.directory),
            "SKILLS_RUNTIME_SDK_SKILL_MENTION": skill.mention.text,
            "SKILLS_RUNTIME_SDK_SKILL_ACTION_ID": action.id,
        }


async def _digest(planned: PlannedAction) -> str:
    """Return the digest of the whole skill."""
    directory = planned.skill.directory
    assert directory is not None, "a skill without one has no actions"
    return await asyncio.to_thread(directory_digest, directory)


def _name_skill(
    intent: Intent, args: SkillExecArguments, planned: PlannedAction, context: ToolContext, digest: str
) -> Intent:
    """Return the intent with what rules can say about the skill; `digest` is empty if it is unknown."""
    directory = planned.skill.directory
    assert directory is not None, "a skill without one has no actions"
    real, root = directory.resolve(), context.root.resolve()
    is_built_in = real.is_relative_to(find_bundled_skills().resolve()) and not real.is_relative_to(root)
    return msgspec.structs.replace(
        intent,
        skill=resolve_skill_name(args.skill_mention),
        skill_digest=hashlib.sha256(f"{planned.action.id}\n{digest}".encode()).hexdigest() if digest else "",
        is_built_in=is_built_in,
    )


def resolve_skill_name(mention: str) -> str:
    """Return the name by which rules refer to the skill of a mention."""
    try:
        parsed = parse_mention(mention)
    except SkillError as error:
        raise skill_tool_error(error) from error
    return f"{parsed.namespace}.{parsed.name}"


def skill_tool_error(error: SkillError) -> ToolError:
    """Convert a skill error to a tool error with its code."""
    details = {"code": error.code, "message": error.message, "details": dict(error.problem.details)}
    return ToolError(error.tool_kind, error.message, hint=error.hint, details={"error": details})
