"""What every command has: a help page, errors that become exit codes, and signals that stop it.

Knows typer and nothing of runs, and imports nothing slow: help pages and errors need no more than this.
"""

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from skills_runtime.errors import AccessRefused, NotFound, SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.text import readable_line

if TYPE_CHECKING:
    import asyncio

_WITHOUT_OVERLAY = "run the command in a copy of the workspace, for example a `git worktree`, and"
REMOVED_COMMANDS = {
    "sandbox diff": f"{_WITHOUT_OVERLAY} compare the two with `git diff`",
    "sandbox commit": f"{_WITHOUT_OVERLAY} merge what it wrote",
    "sandbox discard": f"{_WITHOUT_OVERLAY} delete the copy",
}
"""Commands that are gone, and what to do instead."""
PIPE_CLOSED = 141
"""As if the signal of a closed pipe had ended the process."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FIRST_SIGNAL_CODE = 128


@dataclass(slots=True)
class Program:
    """The program as it was called: under which name, and whether errors are shown with their tracebacks."""

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
        """Call the command; usage errors learn where they happened, and output is written before it is over."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except UsageError as error:
            error.ctx = ctx
            raise
        except BrokenPipeError as error:
            raise PipeClosed from error  # typer would make a failed run of it
        return code

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        _write_help(self, ctx, formatter)


class PairsCommand(ExampleCommand):
    """A command with an option of two words, `--setenv NAME VALUE`, which typer has no type for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join each such option with its two words to `--setenv=NAME=VALUE`; what follows `--` is left alone."""
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
        """The help option, with a value also where it is not given: typer needs pydantic to read no value."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called; one that was removed is answered with what to do instead."""
        path = " ".join([*ctx.command_path.split()[1:], args[0]])
        if path in REMOVED_COMMANDS:
            raise UsageError(f"`{path}` was removed: {REMOVED_COMMANDS[path]}", ctx)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        _write_help(self, ctx, formatter)


def _write_help(command: TyperCommand | TyperGroup, context: Any, formatter: Any) -> None:
    """Write what a command does, its examples, its usage and its options."""
    formatter.write_text(command.help or "")
    formatter.write_paragraph()
    formatter.write("Examples:\n")
    for line in (command.epilog or "").splitlines():
        formatter.write(f"  {context.find_root().info_name} {line}\n")  # not wrapped: an example is there to be copied
    formatter.write_paragraph()
    command.format_usage(context, formatter)
    command.format_options(context, formatter)


# Errors


class UsageError(typer.TyperException):
    """The command line itself makes no sense."""

    exit_code = 2

    def __init__(self, message: str, context: typer.Context | None = None) -> None:
        super().__init__(message)
        self.ctx = context


class PipeClosed(Exception):
    """The reader of our output has gone; nothing is wrong and there is nobody to tell."""


def run_guarded(action: Callable[[], int], program: Program) -> int:
    """The exit code of `work`, whatever happens in it."""
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
    except Exception as error:  # noqa: BLE001 - the process edge: nobody is told by a traceback
        report = f"skills-runtime met an error it does not know: {type(error).__name__}: {error}"
        return report_error(SkillsRuntimeError(report, hint=f"`{program.name} --debug …` shows where"), program)
    finally:
        _flush_output()


def write_error(message: str, *, kind: str, hint: str) -> None:
    """Tell a person what went wrong."""
    lines = [f"error: {readable_line(message)}", f"  kind: {kind}"]
    lines += [f"  hint: {readable_line(hint)}"] if hint else []
    sys.stderr.write("\n".join(lines) + "\n")


def report_error(error: SkillsRuntimeError, program: Program) -> int:
    """Tell a person about an error, and give its exit code."""
    if program.debug:
        traceback.print_exc()
    write_error(error.message, kind=error.kind, hint=error.hint or f"`{program.name} --help` shows what is possible")
    return error.exit_code


def _explain_misuse(error: typer.TyperException, program: Program) -> int:
    context = getattr(error, "ctx", None)
    page = context.get_help() if context is not None else ""
    if error.format_message() == page:  # called without anything: the page is the answer
        sys.stderr.write(f"{page}\n")
        return error.exit_code
    path = context.command_path if context is not None else program.name
    write_error(error.format_message(), kind="usage", hint=f"`{path} --help` shows how it is called")
    return error.exit_code


def _translate_os_error(error: OSError) -> SkillsRuntimeError:
    path = f"`{error.filename}`: " if error.filename else ""
    message = f"the operating system refused: {path}{error.strerror or error}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessRefused(message, hint="check who may write there")
    if error.errno == errno.ENOENT:
        return NotFound(message, hint="check the path")
    if error.errno == errno.ENAMETOOLONG:
        return ValidationFailed(message, hint="use a shorter name")
    return StorageFailed(message)


def _flush_output() -> None:
    """Write out what is left; output that nobody takes must not become a complaint of the dying interpreter."""
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
    """What a process reports that a signal has stopped."""
    return _FIRST_SIGNAL_CODE + number


@dataclass(slots=True)
class Interruption:
    """Something to wait for that has the number of the signal once one came."""

    received: "asyncio.Event"
    number: int | None = None

    async def wait(self) -> None:
        """Return when a signal has come."""
        await self.received.wait()


@contextmanager
def interrupts(on_second_signal: Callable[[], None] = lambda: None) -> Generator[Interruption]:
    """What Ctrl-C, SIGTERM or the end of the terminal sets; with a second signal the process calls `leave` and ends.

    That works even if the loop is stuck. A command that was started to outlive its terminal does.
    """
    import asyncio  # slow, and most commands and all help pages do without it

    loop = asyncio.get_running_loop()
    interruption = Interruption(asyncio.Event())

    def interrupt(number: int, frame: FrameType | None) -> None:
        if interruption.number is not None:
            if number == signal.SIGHUP:  # a terminal that goes away is told by the shell and by the system
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
