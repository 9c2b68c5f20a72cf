"""The edge of the process: the one place where an error becomes a sentence, a kind, a hint and an exit code."""

import errno
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import typer

from skills_runtime.errors import AccessRefused, NotFound, SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.text import readable_line

PIPE_CLOSED = 141
"""As if the signal of a closed pipe had ended the process."""


@dataclass(slots=True)
class Program:
    """The program as it was called: under which name, and whether errors are shown with their tracebacks."""

    name: str
    debug: bool = False


class Misuse(typer.TyperException):
    """The command line itself makes no sense."""

    exit_code = 2

    def __init__(self, message: str, context: typer.Context | None = None) -> None:
        super().__init__(message)
        self.ctx = context


class PipeClosed(Exception):
    """Whoever read our output has gone; nothing is wrong and there is nobody to tell."""


def guarded(work: Callable[[], int], program: Program) -> int:
    """The exit code of `work`, whatever happens in it."""
    try:
        return work()
    except PipeClosed:
        return PIPE_CLOSED
    except typer.TyperException as error:
        return _misused(error, program)
    except SkillsRuntimeError as error:
        return complain(error, program)
    except OSError as error:
        return complain(_translated(error), program)
    except Exception as error:  # noqa: BLE001 - the process edge: nobody is told by a traceback
        report = f"skills-runtime met an error it does not know: {type(error).__name__}: {error}"
        return complain(SkillsRuntimeError(report, hint=f"`{program.name} --debug …` shows where"), program)
    finally:
        _release_output()


def say(message: str, *, kind: str, hint: str) -> None:
    """Tell a person what went wrong."""
    lines = [
        f"error: {readable_line(message)}",
        f"  kind: {kind}",
        *([f"  hint: {readable_line(hint)}"] if hint else []),
    ]
    sys.stderr.write("\n".join(lines) + "\n")


def complain(error: SkillsRuntimeError, program: Program) -> int:
    """Tell a person about an error, and give its exit code."""
    if program.debug:
        traceback.print_exc()
    say(error.message, kind=error.kind, hint=error.hint or f"`{program.name} --help` shows what is possible")
    return error.exit_code


def _misused(error: typer.TyperException, program: Program) -> int:
    context = getattr(error, "ctx", None)
    page = context.get_help() if context is not None else ""
    if error.format_message() == page:  # called without anything: the page is the answer
        sys.stderr.write(f"{page}\n")
        return error.exit_code
    path = context.command_path if context is not None else program.name
    say(error.format_message(), kind="usage", hint=f"`{path} --help` shows how it is called")
    return error.exit_code


def _translated(error: OSError) -> SkillsRuntimeError:
    place = f"`{error.filename}`: " if error.filename else ""
    message = f"the operating system refused: {place}{error.strerror or error}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessRefused(message, hint="check who may write there")
    if error.errno == errno.ENOENT:
        return NotFound(message, hint="check the path")
    if error.errno == errno.ENAMETOOLONG:
        return ValidationFailed(message, hint="use a shorter name")
    return StorageFailed(message)


def _release_output() -> None:
    """Write out what is left; output that nobody takes must not become a complaint of the dying interpreter."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:  # pyright: ignore[reportUnnecessaryComparison] - so it is where one is missing
            continue
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
