"""Help pages, exit codes for errors, and signal handling shared by all commands.

Knows nothing of runs and imports nothing slow: help pages and errors need only this.
"""

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from skills_runtime.cli.language import translate, translate_error
from skills_runtime.errors import (
    AccessRefused,
    ConfigError,
    NotFound,
    SkillsRuntimeError,
    StorageFailed,
    ValidationFailed,
)
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    import asyncio

_WITHOUT_OVERLAY = "run the command in a copy of the workspace, for example a `git worktree`, and"
REMOVED_COMMANDS = {
    "sandbox diff": f"{_WITHOUT_OVERLAY} compare the two with `git diff`",
    "sandbox commit": f"{_WITHOUT_OVERLAY} merge what it wrote",
    "sandbox discard": f"{_WITHOUT_OVERLAY} delete the copy",
}
"""Removed commands, and what to do instead."""
FIRST_COMMANDS = ("init", "doctor", "run", "chat", "studio", "skills", "runs", "approvals")
"""The commands that the help page of the program shows first; the others are advanced."""
PIPE_CLOSED = 141
"""As if SIGPIPE had ended the process."""
MAX_OTHER_PROBLEMS = 20
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FIRST_SIGNAL_CODE = 128
_MAX_SUMMARY_CHARS = 1000


@dataclass(slots=True)
class Program:
    """What to type to call the program, and whether to show tracebacks."""

    name: str
    debug: bool = False


# Help pages


def create_app(name: str | None = None, text: str = "", *examples: str) -> typer.Typer:
    """Create a group of commands; without a name its commands belong to the program itself."""
    return typer.Typer(
        name=name,
        cls=ExampleGroup,
        help=text,
        epilog="\n".join(examples),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )


class ExampleCommand(TyperCommand):
    """A command whose epilog holds its examples."""

    def invoke(self, ctx: Any) -> Any:
        """Call the command, flush stdout, and add the context to usage errors."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except UsageError as error:
            error.ctx = ctx
            raise
        except BrokenPipeError as error:
            raise PipeClosed from error  # typer would report it as a failure
        return code

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        _write_help(self, ctx, formatter)


class PairsCommand(ExampleCommand):
    """A command with the two-value option `--setenv NAME VALUE`, which typer cannot express."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrite `--setenv NAME VALUE` to `--setenv=NAME=VALUE`, up to `--`."""
        arguments, remaining = list[str](), list(args)
        while remaining and remaining[0] != "--":
            argument = remaining.pop(0)
            if argument == "--setenv" and len(remaining) > 1 and "=" not in remaining[0]:
                name, value = remaining.pop(0), remaining.pop(0)
                argument = f"{argument}={name}={value}"
            arguments.append(argument)
        return super().parse_args(ctx, arguments + remaining)


class ExampleGroup(TyperGroup):
    """A group of commands, with examples in its epilog too."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the help option with a default: typer would import pydantic to parse a missing value."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the called command; for a removed one, raise what to do instead."""
        path = " ".join([*ctx.command_path.split()[1:], args[0]])
        if path in REMOVED_COMMANDS:
            raise UsageError(f"`{path}` was removed: {REMOVED_COMMANDS[path]}", ctx)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        _write_help(self, ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their whole summaries; those of the program itself in two sections."""
        rows = {
            name: command.get_short_help_str(_MAX_SUMMARY_CHARS)
            for name, command in self.commands.items()
            if not command.hidden
        }
        first = [name for name in FIRST_COMMANDS if name in rows] if ctx.parent is None else list(rows)
        sections = {"Commands": first, "Advanced": [name for name in rows if name not in first]}
        for heading, names in sections.items():
            if names:
                with formatter.section(heading):
                    formatter.write_dl([(name, rows[name]) for name in names])


def _write_help(command: TyperCommand | TyperGroup, context: Any, formatter: Any) -> None:
    """Write the summary, the examples, the usage and the options of a command."""
    formatter.write_text(command.help or "")
    formatter.write_paragraph()
    formatter.write("Examples:\n")
    for line in (command.epilog or "").splitlines():
        formatter.write(f"  {context.find_root().info_name} {line}\n")  # not wrapped, so that it can be copied
    formatter.write_paragraph()
    command.format_usage(context, formatter)
    command.format_options(context, formatter)


# Errors


class UsageError(typer.TyperException):
    """The command line is invalid."""

    exit_code = 2

    def __init__(self, message: str, context: typer.Context | None = None) -> None:
        super().__init__(message)
        self.ctx = context


class PipeClosed(Exception):
    """The reader of our output has gone, which is not an error."""


def run_guarded(action: Callable[[], int], program: Program) -> int:
    """Run `action`, report any error it raises, and return the exit code."""
    try:
        return action()
    except PipeClosed:
        return PIPE_CLOSED
    except typer.TyperException as error:
        return _explain_misuse(error, program)
    except SkillsRuntimeError as error:
        return report_error(error, program)
    except OSError as error:
        return report_error(_translate_os_error(error), program)
    except Exception as error:  # noqa: BLE001 - the process edge: users get no tracebacks
        report = f"unexpected error: {type(error).__name__}: {error}"
        hint = translate("hint.traceback", "`{program} --debug …` shows the traceback", program=program.name)
        return report_error(SkillsRuntimeError(report, hint=hint), program)
    finally:
        _flush_output()


def write_error(message: str, *, kind: str, hint: str, meaning: str = "", others: Sequence[str] = ()) -> None:
    """Print an error with its kind and hint to stderr.

    `meaning` translates it, and `message` then is a detail; `others` are problems found with it.
    """
    lines = [translate("error.message", "error: {text}", text=readable_line(meaning or message))]
    lines += [translate("error.detail", "  detail: {text}", text=readable_line(message))] if meaning else []
    listed = [*others[:MAX_OTHER_PROBLEMS]]
    if len(others) > MAX_OTHER_PROBLEMS:
        listed.append(translate("error.more", "{count} more", count=len(others) - MAX_OTHER_PROBLEMS))
    lines += [translate("error.also", "  also: {text}", text=readable_line(other)) for other in listed]
    lines.append(translate("error.kind", "  kind: {kind}", kind=kind))
    lines += [translate("error.hint", "  hint: {text}", text=readable_line(hint))] if hint else []
    sys.stderr.write("\n".join(lines) + "\n")


def report_error(error: SkillsRuntimeError, program: Program) -> int:
    """Print an error and return its exit code."""
    if program.debug:
        traceback.print_exc()
    others = error.details.get("problems", ())[1:] if isinstance(error, ConfigError) else ()
    hint = error.hint or translate("hint.commands", "`{program} --help` lists the commands", program=program.name)
    meaning = translate_error(error.kind, error.details)
    write_error(error.message, kind=error.kind, hint=hint, meaning=meaning, others=others)
    return error.exit_code


def _explain_misuse(error: typer.TyperException, program: Program) -> int:
    context = getattr(error, "ctx", None)
    page = context.get_help() if context is not None else ""
    if error.format_message() == page:  # called without arguments: show the help page
        sys.stderr.write(f"{page}\n")
        return error.exit_code
    path = program.name
    if context is not None:
        path += context.command_path.removeprefix(context.find_root().command_path)
    hint = translate("hint.usage", "`{command} --help` shows the usage", command=path)
    meaning = translate("error.usage", "")
    write_error(error.format_message(), kind="usage", hint=hint, meaning=meaning)
    return error.exit_code


def _translate_os_error(error: OSError) -> SkillsRuntimeError:
    path = f"`{error.filename}`: " if error.filename else ""
    message = f"the operating system refused: {path}{error.strerror or error}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessRefused(message, hint=translate("hint.permissions", "check the permissions"))
    if error.errno == errno.ENOENT:
        if not error.filename and (missing := _find_missing_directory()):
            return missing
        return NotFound(message, hint=translate("hint.path", "check the path"))
    if error.errno == errno.ENAMETOOLONG:
        return ValidationFailed(message, hint=translate("hint.name", "use a shorter name"))
    return StorageFailed(message)


def _find_missing_directory() -> NotFound | None:
    from skills_runtime.config import current_directory

    try:
        current_directory()
    except NotFound as error:
        return error
    return None


def _flush_output() -> None:
    """Flush the output streams; redirect broken ones, or the interpreter reports an error at exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:  # pyright: ignore[reportUnnecessaryComparison] - so it is where one is missing
            continue
        try:
            stream.flush()
        except OSError:
            devnull = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(devnull, stream.fileno())
            os.close(devnull)


# Signals


def exit_code_for_signal(number: int) -> int:
    """Return the exit code of a process stopped by a signal."""
    return _FIRST_SIGNAL_CODE + number


@dataclass(slots=True)
class Interruption:
    """The first stop signal, once received."""

    received: "asyncio.Event"
    number: int | None = None

    async def wait(self) -> None:
        """Wait for a signal."""
        await self.received.wait()


@contextmanager
def interrupts(on_second_signal: Callable[[], None] = lambda: None) -> Generator[Interruption]:
    """Handle Ctrl-C, SIGTERM and SIGHUP; a second signal calls `on_second_signal` and exits.

    Works even if the event loop is stuck. A command started with SIGHUP ignored keeps ignoring it.
    """
    import asyncio  # slow, and most commands and all help pages do without it

    loop = asyncio.get_running_loop()
    interruption = Interruption(asyncio.Event())

    def interrupt(number: int, frame: FrameType | None) -> None:
        if interruption.number is not None:
            if number == signal.SIGHUP:  # a closed terminal sends it twice: by the shell and by the kernel
                return
            on_second_signal()
            os._exit(exit_code_for_signal(number))
        interruption.number = number
        loop.call_soon_threadsafe(interruption.received.set)

    ignores_hangup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    numbers = [number for number in SIGNALS if number != signal.SIGHUP or not ignores_hangup]
    previous_handlers = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield interruption
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
