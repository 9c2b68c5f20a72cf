"""Tool names of other runtimes and older models: shell, shell_exec, file_read, request_user_input.

Each only maps arguments and results to `shell_command`, `read_file` and `ask_human`, under the same policy. The model
sees these names only with `tools.compat: true`.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Choice, Intent, Question, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools import processes
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.builtin.ask_human import MAX_CHARS, MAX_CHOICES
from skills_runtime.tools.files import build_file_intent, text_result


class ShellArguments(processes.ProgramArguments, frozen=True, kw_only=True):
    """Arguments of shell."""

    command: processes.Argv
    workdir: processes.Directory | None = None

    def command_spec(self) -> processes.CommandSpec:
        """Build the command that these arguments request."""
        return self.program(tuple(self.command), self.workdir)


class Shell(processes.ProgramTool[ShellArguments]):
    """Runs a program."""

    spec = ToolSpec(
        name="shell",
        description='Run a program with arguments, such as ["ls", "-l"] or ["sh", "-c", "…"], and wait until it exits.',
        parameters=build_schema(ShellArguments),
        effect="effectful",
        contained=True,
        hidden_arguments=("env",),
        example={"command": ["touch", "made"], "env": {"TOKEN": "secret value"}},
        listed=False,
    )
    arguments = ShellArguments


class ShellExecArguments(processes.ProgramArguments, frozen=True, kw_only=True):
    """Arguments of shell_exec."""

    argv: processes.Argv
    cwd: processes.Directory | None = None
    tty: Annotated[bool, Meta(description="Has no effect: exec_command starts programs on a terminal.")] | None = None

    def command_spec(self) -> processes.CommandSpec:
        """Build the command that these arguments request."""
        return self.program(tuple(self.argv), self.cwd)


class ShellExec(processes.ProgramTool[ShellExecArguments]):
    """Runs a program."""

    spec = ToolSpec(
        name="shell_exec",
        description="Run a program with arguments, without a shell, and wait until it exits.",
        parameters=build_schema(ShellExecArguments),
        effect="effectful",
        contained=True,
        hidden_arguments=("env",),
        example={"argv": ["touch", "made"], "env": {"TOKEN": "secret value"}},
        listed=False,
    )
    arguments = ShellExecArguments


class FileReadArguments(Arguments, frozen=True):
    """Arguments of file_read."""

    path: Annotated[str, Meta(description="The file, relative to the working directory.")]
    max_bytes: Annotated[int, Meta(ge=1, le=16 << 20, description="Maximum number of bytes.")] = 256 * 1024


class FileRead:
    """Reads a file."""

    spec = ToolSpec(
        name="file_read",
        description="Read a text file.",
        parameters=build_schema(FileReadArguments),
        effect="read",
        hidden_results=("stdout",),
        example={"path": "a.txt"},
        listed=False,
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the file that the call reads."""
        return build_file_intent(context.files, "read", parse(arguments, FileReadArguments).path)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read the file."""
        args = parse(arguments, FileReadArguments)
        limit = args.max_bytes
        note = f"[only the first {limit} bytes were read; use read_file for the rest]"
        return text_result(context.files.read(args.path, limit=limit + 1), limit, {"path": args.path}, note)


class Option(Arguments, frozen=True):
    """An answer to choose from."""

    label: Annotated[str, Meta(min_length=1, max_length=2000, description="The answer.")]
    description: Annotated[str, Meta(max_length=MAX_CHARS, description="What choosing it means.")] = ""


class QuestionArguments(Arguments, frozen=True):
    """A question."""

    id: Annotated[str, Meta(min_length=1, max_length=200, description="A unique name for the answer.")]
    question: Annotated[str, Meta(min_length=1, max_length=MAX_CHARS, description="What to ask.")]
    header: Annotated[str, Meta(max_length=200, description="A short title.")] = ""
    options: Annotated[list[Option], Meta(max_length=MAX_CHOICES, description="Answers to choose from.")] | None = None


class RequestUserInputArguments(Arguments, frozen=True):
    """Arguments of request_user_input."""

    questions: Annotated[
        list[QuestionArguments], Meta(min_length=1, max_length=20, description="The questions, in order.")
    ]


class RequestUserInput:
    """Asks the user several questions; the run may wait for days."""

    spec = ToolSpec(
        name="request_user_input",
        description="Ask the user one or more questions, with answers to choose from, and wait for all answers.",
        parameters=build_schema(RequestUserInputArguments),
        effect="read",
        recovery="retry",
        max_parallel=1,
        example={"questions": [{"id": "answer", "question": "Well?"}]},
        listed=False,
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Ask and return the answers."""
        args = parse(arguments, RequestUserInputArguments)
        names = [question.id for question in args.questions]
        if len(set(names)) < len(names):
            raise ToolError("validation", "two questions have the same `id`", hint="use unique ids")
        replies = await context.ask(
            *(
                Question(
                    id=question.id,
                    question=question.question,
                    header=question.header,
                    choices=tuple(Choice(option.label, option.description) for option in question.options or ()),
                )
                for question in args.questions
            )
        )
        answers = [{"id": name, "answer": replies[name]} for name in names]
        stdout = "\n".join(f"{answer['id']}: {answer['answer']}" for answer in answers)
        return ToolResult(ok=True, stdout=stdout, data={"answers": answers})
