"""exec_command: run a shell line on a terminal, which may stay open after the call."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.processes import shell_command
from skills_runtime.tools import exec_sessions as terminals
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import build_schema, parse
from skills_runtime.tools.processes import CommandNetwork


class ExecCommandArguments(processes.CommandArguments, frozen=True, kw_only=True):
    """Arguments of exec_command."""

    cmd: Annotated[str, Meta(min_length=1, description="The shell command line.")]
    workdir: processes.Directory | None = None
    yield_time_ms: terminals.YieldMs = terminals.DEFAULT_YIELD_MS
    max_output_tokens: terminals.OutputTokens | None = None
    tty: Annotated[bool, Meta(description="Always true: shell_command runs without a terminal.")] = True

    def command_spec(self) -> processes.CommandSpec:
        """Build the command that these arguments request."""
        return processes.CommandSpec(
            argv=shell_command(self.cmd),
            line=self.cmd,
            directory=self.workdir,
            sandbox=self.sandbox,
            permissions=self.sandbox_permissions,
            grant=self.grant.grant() if self.grant else None,
            justification=self.justification or "",
            terminal=True,
        )


class ExecCommand(processes.CommandTool[ExecCommandArguments]):
    """Starts a terminal session."""

    spec = ToolSpec(
        name="exec_command",
        description="Start a shell command on a terminal. If it still runs after `yield_time_ms`, the result has a"
        " `session_id` for write_stdin. A session may not outlive the run.",
        parameters=build_schema(ExecCommandArguments),
        effect="effectful",
        contained=True,
        example={"cmd": "touch made", "yield_time_ms": 20_000},
    )
    arguments = ExecCommandArguments

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Start the session and wait briefly for output."""
        args = parse(arguments, ExecCommandArguments)
        if not args.tty:
            raise ToolError("validation", "a session always has a terminal", hint="use shell_command without one")
        sessions, command = terminals.get_run_sessions(context), args.command_spec()
        plan = processes.plan_command(command, context)
        claim = await processes.claim_exclusively(command, plan, context, lasting=True)
        try:
            number = await sessions.start(plan, CommandNetwork(context), claim)
        except Exception:
            if claim is not None:
                claim.release()
            raise
        try:
            answer = await terminals.read_session(
                context, number, wait_ms=args.yield_time_ms, max_tokens=args.max_output_tokens
            )
        except BaseException:
            # The caller never got the number, so it could not end the session.
            await sessions.close(number)
            raise
        if claim is not None and claim.kind == "widened":
            claim.relax()  # it stays in its sandbox, so other commands may run beside it
        return answer
