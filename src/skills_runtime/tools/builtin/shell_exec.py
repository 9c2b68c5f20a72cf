"""shell_exec: one program with its arguments, run to its end."""

from typing import Annotated

from msgspec import Meta

from skills_runtime.ports import ToolSpec
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import schema_of


class ShellExecArguments(processes.ProgramArguments, frozen=True, kw_only=True):
    """What shell_exec takes."""

    argv: processes.Words
    cwd: processes.Directory | None = None
    tty: Annotated[bool, Meta(description="Has no effect: exec_command starts programs on a terminal.")] | None = None

    def work(self) -> processes.Work:
        """The command these arguments ask for."""
        return self.program(tuple(self.argv), self.cwd)


class ShellExec(processes.ProgramTool[ShellExecArguments]):
    """Runs one program."""

    spec = ToolSpec(
        name="shell_exec",
        description="Run a program with arguments, without a shell, and wait for its end.",
        parameters=schema_of(ShellExecArguments),
        effect="effectful",
        hidden_arguments=("env",),
    )
    arguments = ShellExecArguments
