"""What is to be run, within which limits, how it ended, and why it did not start: plain values and their rules.

Knows nothing of policies or sandboxes: the argument vector is ready to be executed.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.errors import AccessRefused, NotFound, SandboxError, SkillsRuntimeError, ToolError, ValidationFailed
from skills_runtime.ports import Quarantined, SandboxSetup
from skills_runtime.processes.capture import Captured

EndedBy = Literal["exit", "timeout", "cancelled", "output_limit", "resource_limit"]
Stream = Literal["stdout", "stderr"]
MEBIBYTE = 1 << 20
MAX_DESCRIPTORS = 8
MAX_REQUEST = 6 * MEBIBYTE
"""The most bytes of arguments and environment that any Linux accepts."""
_SHELLS = ("/bin/bash", "/bin/sh")


class Command(msgspec.Struct, frozen=True):
    """A program with its arguments, and everything it is given to start with."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """The whole environment: nothing is inherited from the runtime."""
    stdin: bytes = b""
    setup: SandboxSetup = SandboxSetup()
    """What its fence needs from whoever starts it."""
    descriptors: tuple[int, ...] = ()
    """Open here and handed over besides the streams, numbered on after the inputs of the fence."""

    def __repr__(self) -> str:
        # Environment and input may hold secrets, and representations end up in logs.
        return f"Command(argv={self.argv!r}, cwd={str(self.cwd)!r})"


class Limits(msgspec.Struct, frozen=True):
    """How long a command may run and how much of its output is kept."""

    wall_seconds: float | None
    output_bytes: int = MEBIBYTE
    """Kept of each stream: half of it from the beginning, half from the end."""
    grace_seconds: float = 2.0
    """Between asking processes to end and killing them."""
    total_bytes: int | None = None
    """Written to both streams together, after which the command is ended; unlimited by default."""
    niceness: int = 0
    """How much less urgent it is than the runtime, as `nice` counts."""


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended, when nothing of it is left."""

    exit_code: int | None
    signal: int | None
    stdout: Captured
    stderr: Captured
    duration_ms: int
    ended_by: EndedBy
    survivors: tuple[int, ...] = ()
    """Processes that the operating system did not let this user end, such as those of `sudo`."""
    exceeded: str | None = None
    """The limit that the command was ended for, if `ended_by` says so."""
    quarantined: tuple[Quarantined, ...] = ()
    """What it made that programs outside would obey, and that was moved aside."""
    counted: Mapping[str, int] = {}
    """What the kernel counted for it, where there are control groups: peaks, and limits that were met."""
    removed: Mapping[str, Any] | None = None
    """What it wrote beyond its limit of disk and was removed: `files`, `bytes`, the first `paths`, and what is left."""


def shell_command(text: str) -> tuple[str, ...]:
    """The argument vector that runs a line of shell, never in a login shell, which would change `PATH`."""
    shell = next((path for path in _SHELLS if Path(path).exists()), _SHELLS[-1])
    # A shell takes a first word that begins like an option for one, even after `-c`.
    return (shell, "-c", f" {text}" if text.startswith(("-", "+")) else text)


def check_command(command: Command) -> None:
    """Refuse what no operating system could start."""
    if not command.argv or not command.argv[0]:
        raise ValidationFailed("a command needs a program to run", hint="name it as the first element of `argv`")
    if len(command.descriptors) > MAX_DESCRIPTORS:
        raise ValidationFailed(f"a command gets {MAX_DESCRIPTORS} descriptors at most", hint="hand over fewer")
    for name in command.environment:
        if not name or "=" in name:
            raise ValidationFailed(f"`{name!a}` is not the name of an environment variable", hint="leave out the `=`")
    if sum(map(_size, _texts(command))) > MAX_REQUEST:
        raise too_long_error(command.argv[0])


def find_program(command: Command) -> str:
    """Where the program of a command is, searched as the command itself would do it."""
    if not _may_exist(command.cwd, stat.S_ISDIR):
        raise missing_directory_error(command.cwd)
    name = command.argv[0]
    refused: list[Path] = []
    for candidate in _candidates(command):
        if os.access(candidate, os.X_OK) and _may_exist(candidate, stat.S_ISREG):
            return str(candidate)
        if _may_exist(candidate, bool):
            refused.append(candidate)
    if refused:
        hint = "name a program, or give the file to its interpreter"
        raise AccessRefused(f"`{refused[0]}` is not executable by this user", hint=hint)
    if "/" in name:
        raise NotFound(f"the program `{name}` does not exist", hint="check the path; it is relative to `cwd`")
    raise NotFound(f"`{name}` is not a program on PATH", hint="install it, or give its whole path")


def _may_exist(path: Path, kind: Callable[[int], bool]) -> bool:
    """Whether something of this kind is there, or something that this user may not even look at."""
    try:
        return kind(path.stat().st_mode)
    except PermissionError:
        return True
    except OSError:
        return False


def _candidates(command: Command) -> Iterator[Path]:
    name = command.argv[0]
    if "/" in name:
        yield command.cwd.absolute() / name
        return
    for directory in command.environment.get("PATH", os.defpath).split(os.pathsep):
        if directory:  # an empty element means `cwd`, where anybody may have put a program of any name
            yield command.cwd.absolute() / directory / name


def _texts(command: Command) -> Iterator[tuple[str, str]]:
    """Every text the system is given, with what to call it; the values of variables may be secret."""
    yield "the working directory", str(command.cwd)
    for position, argument in enumerate(command.argv):
        yield f"the argument {position}", argument
    for name, value in command.environment.items():
        yield "the name of an environment variable", name
        yield f"the environment variable `{name!a}`", value


def _size(labeled_text: tuple[str, str]) -> int:
    label, text = labeled_text
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError:
        raise ValidationFailed(f"{label} holds characters that the system cannot represent") from None
    if b"\0" in data:
        raise ValidationFailed(f"{label} holds a NUL byte, which the system cannot represent", hint="take it out")
    return len(data) + 1


def too_long_error(program: str) -> ValidationFailed:
    """The error for more arguments than the system accepts."""
    return ValidationFailed(
        f"the arguments of `{program}` are longer than the system accepts",
        hint="write them to a file, or send them as `stdin`",
    )


def missing_directory_error(directory: Path) -> NotFound:
    """The error for a working directory that is not there."""
    return NotFound(f"the working directory `{directory}` does not exist", hint="create it, or choose another")


def start_error(program: str, directory: Path, *, step: str, number: int) -> SkillsRuntimeError:
    """The error for a step on the way to the program that the system refused."""
    match step, number:
        case "cwd", errno.ENOENT | errno.ENOTDIR:
            return missing_directory_error(directory)
        case "cwd", errno.EACCES | errno.EPERM:
            return AccessRefused(f"the working directory `{directory}` may not be entered by this user")
        case "mounts", _:
            return SandboxError(
                "the workspace changed while the sandbox was put up",
                hint="try again; a command that runs at the same time may have moved a directory or made a link",
            )
        case "group" | "limits", _:
            return SandboxError(
                f"the limits of a command cannot be set: {os.strerror(number)}",
                hint="`skills-runtime sandbox doctor` tells which limits this machine can keep",
            )
        case "exec", errno.ENOENT:
            return NotFound(f"the interpreter that `{program}` asks for does not exist", hint="see its first line")
        case "exec", errno.EACCES | errno.EPERM:
            return AccessRefused(f"`{program}` may not be executed by this user", hint="change its permissions")
        case "exec", errno.ENOEXEC:
            return ValidationFailed(
                f"`{program}` is not a program of this machine", hint="begin a script with `#!` and its interpreter"
            )
        case "exec", errno.E2BIG:
            return too_long_error(program)
        case _:
            return ToolError("unknown", f"`{program}` could not be started: {os.strerror(number)}", hint="try again")


def no_capacity_error(error: OSError) -> ToolError:
    """The error for a machine that has no room for another command."""
    return ToolError("unknown", f"no command can be started now: {error.strerror}", hint="end some, then try again")


def lost_supervisor_error(program: str, pid: int | None) -> ToolError:
    """The error for a command whose supervisor was killed, so that nobody knows what became of it."""
    unknown = "what became of" if pid else "whether there was a start of"
    return ToolError(
        "unknown",
        f"{unknown} `{program}` is unknown: the process that watched it was killed",
        hint="a command must not signal processes that it did not start",
    )
