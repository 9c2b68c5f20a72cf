"""shell: one program with its arguments, as models trained on this name call it."""

from skills_runtime.ports import ToolSpec
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import schema_of


class ShellArguments(processes.ProgramArguments, frozen=True, kw_only=True):
    """What shell takes."""

    command: processes.Words
    workdir: processes.Directory | None = None

    def work(self) -> processes.Work:
        """The command these arguments ask for."""
        return self.program(tuple(self.command), self.workdir)


class Shell(processes.ProgramTool[ShellArguments]):
    """Runs one program."""

    spec = ToolSpec(
        name="shell",
        description='Run a program with arguments, such as ["ls", "-l"] or ["sh", "-c", "…"], and wait for its end.',
        parameters=schema_of(ShellArguments),
        effect="effectful",
        hidden_arguments=("env",),
    )
    arguments = ShellArguments
