"""shell: one program with its arguments, as models trained on this name call it."""

from collections.abc import Mapping
from typing import Any

from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import parse, schema_of


class ShellArguments(processes.ProgramArguments, frozen=True, kw_only=True):
    """What shell takes."""

    command: processes.Words
    workdir: processes.Directory | None = None


class Shell:
    """Runs one program."""

    spec = ToolSpec(
        name="shell",
        description='Run a program with arguments, such as ["ls", "-l"] or ["sh", "-c", "…"], and wait for its end.',
        parameters=schema_of(ShellArguments),
        effect="effectful",
        hidden_arguments=("env",),
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run it."""
        wanted = parse(arguments, ShellArguments)
        return await wanted.run(tuple(wanted.command), wanted.workdir, context)
