"""shell_command: one line of shell, run to its end."""

from typing import Annotated

from msgspec import Meta

from skills_runtime.ports import ToolSpec
from skills_runtime.processes import shell_command
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import build_schema


class ShellCommandArguments(processes.ProgramArguments, frozen=True, kw_only=True):
    """What shell_command takes."""

    command: Annotated[str, Meta(min_length=1, description="What a shell is to run; pipes and the like may be used.")]
    workdir: processes.Directory | None = None

    def command_spec(self) -> processes.CommandSpec:
        """The command these arguments ask for."""
        return self.program(shell_command(self.command), self.workdir, self.command)


class ShellCommand(processes.ProgramTool[ShellCommandArguments]):
    """Runs one line of shell; never in a login shell, which would change `PATH`."""

    spec = ToolSpec(
        name="shell_command",
        description="Run a line of shell and wait for its end. Nothing it leaves in the background stays.",
        parameters=build_schema(ShellCommandArguments),
        effect="effectful",
        hidden_arguments=("env",),
        example={"command": "touch made", "env": {"TOKEN": "secret value"}},
    )
    arguments = ShellCommandArguments
