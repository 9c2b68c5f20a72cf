"""shell_command: run a shell line to its end."""

from typing import Annotated

from msgspec import Meta

from skills_runtime.ports import ToolSpec
from skills_runtime.processes import shell_command
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import build_schema


class ShellCommandArguments(processes.ProgramArguments, frozen=True, kw_only=True):
    """Arguments of shell_command."""

    command: Annotated[
        str, Meta(min_length=1, description="The shell command line; pipes and redirections are allowed.")
    ]
    workdir: processes.Directory | None = None

    def command_spec(self) -> processes.CommandSpec:
        """Build the command that these arguments request."""
        return self.program(shell_command(self.command), self.workdir, self.command)


class ShellCommand(processes.ProgramTool[ShellCommandArguments]):
    """Runs a shell line; never in a login shell, which would change `PATH`."""

    spec = ToolSpec(
        name="shell_command",
        description="Run a shell command and wait until it exits. Processes left in the background are ended.",
        parameters=build_schema(ShellCommandArguments),
        effect="effectful",
        contained=True,
        hidden_arguments=("env",),
        example={"command": "touch made", "env": {"TOKEN": "secret value"}},
    )
    arguments = ShellCommandArguments
