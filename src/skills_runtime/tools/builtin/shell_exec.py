"""shell_exec: one program with its arguments, run to its end."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import parse, schema_of


class ShellExecArguments(processes.ProgramArguments, frozen=True, kw_only=True):
    """What shell_exec takes."""

    argv: processes.Words
    cwd: processes.Directory | None = None
    tty: Annotated[bool, Meta(description="Has no effect: exec_command starts programs on a terminal.")] | None = None


class ShellExec:
    """Runs one program."""

    spec = ToolSpec(
        name="shell_exec",
        description="Run a program with arguments, without a shell, and wait for its end.",
        parameters=schema_of(ShellExecArguments),
        effect="effectful",
        hidden_arguments=("env",),
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run it."""
        wanted = parse(arguments, ShellExecArguments)
        return await wanted.run(tuple(wanted.argv), wanted.cwd, context)
