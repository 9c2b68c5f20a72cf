"""shell: one program with its arguments, as models trained on this name call it."""

from collections.abc import Mapping
from typing import Any

from skills_runtime.ports import ToolContext, ToolResult, ToolSpec
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import Arguments, parse, schema_of


class ShellArguments(Arguments, frozen=True):
    """What shell takes."""

    command: processes.Words
    workdir: processes.Directory | None = None
    env: processes.Variables | None = None
    timeout_ms: processes.TimeoutMs = processes.DEFAULT_TIMEOUT_MS
    sandbox: processes.Sandboxing | None = None
    sandbox_permissions: processes.Permissions | None = None
    justification: processes.Justification | None = None


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
        work = processes.Work(
            argv=tuple(wanted.command),
            directory=wanted.workdir,
            environment=wanted.env or {},
            sandbox=wanted.sandbox,
            permissions=wanted.sandbox_permissions,
        )
        return await processes.run_to_end(work, context, timeout_ms=wanted.timeout_ms)
