"""Values of a command: what to run, its limits, its result, and the errors of a failed start.

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
"""Most bytes of arguments and environment that any Linux accepts."""
_SHELLS = ("/bin/bash", "/bin/sh")


class Command(msgspec.Struct, frozen=True):
    """A program with its arguments, directory, environment and input."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """The whole environment: nothing is inherited from the runtime."""
    stdin: bytes = b""
    setup: SandboxSetup = SandboxSetup()
    """What the supervisor needs to set up its sandbox."""
    descriptors: tuple[int, ...] = ()
    """Open descriptors to pass besides the streams, numbered after the inputs of the sandbox."""

    def __repr__(self) -> str:
        # Environment and input may hold secrets, and representations end up in logs.
        return f"Command(argv={self.argv!r}, cwd={str(self.cwd)!r})"


class Limits(msgspec.Struct, frozen=True):
    """Time limit of a command and how much of its output is captured."""

    wall_seconds: float | None
    output_bytes: int = MEBIBYTE
    """Captured of each stream: half from the start, half from the end."""
    grace_seconds: float = 2.0
    """Time between SIGTERM and SIGKILL."""
    total_bytes: int | None = None
    """Limit for both streams together, after which the command is ended; unlimited by default."""
    niceness: int = 0
    """Added to the nice value of the runtime."""


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a command whose processes are all gone."""

    exit_code: int | None
    signal: int | None
    stdout: Captured
    stderr: Captured
    duration_ms: int
    ended_by: EndedBy
    survivors: tuple[int, ...] = ()
    """Processes that this user may not signal, such as those of `sudo`."""
    exceeded: str | None = None
    """The limit for which the command was ended, if `ended_by` says so."""
    quarantined: tuple[Quarantined, ...] = ()
    """New files that programs outside the sandbox would obey, and that were moved aside."""
    counted: Mapping[str, int] = {}
    """Counters of its control groups, if there are any: peaks, and limits that were reached."""
    removed: Mapping[str, Any] | None = None
    """Files removed because they exceeded its disk limit: `files`, `bytes`, the first `paths`, and what is left."""


def shell_command(text: str) -> tuple[str, ...]:
    """Return the argument vector for a shell line; never a login shell, which would change `PATH`."""
    shell = next((path for path in _SHELLS if Path(path).exists()), _SHELLS[-1])
    # A shell parses a first word that begins with a dash as an option, even after `-c`.
    return (shell, "-c", f" {text}" if text.startswith(("-", "+")) else text)


def check_command(command: Command) -> None:
    """Raise for a command that no operating system could start."""
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
    """Find the program of a command with the `PATH` and directory of the command."""
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
    """Return whether a file of this kind exists, or one that this user may not inspect."""
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
        if directory:  # an empty element means `cwd`, where a program of any name may lie
            yield command.cwd.absolute() / directory / name


def _texts(command: Command) -> Iterator[tuple[str, str]]:
    """Yield every text passed to the system with a label for errors; values of variables may be secret."""
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
        raise ValidationFailed(f"{label} holds a NUL byte, which the system cannot represent", hint="remove it")
    return len(data) + 1


def too_long_error(program: str) -> ValidationFailed:
    """Return the error for more arguments than the system accepts."""
    return ValidationFailed(
        f"the arguments of `{program}` are longer than the system accepts",
        hint="write them to a file, or send them as `stdin`",
    )


def missing_directory_error(directory: Path) -> NotFound:
    """Return the error for a missing working directory."""
    return NotFound(f"the working directory `{directory}` does not exist", hint="create it, or choose another")


def start_error(program: str, directory: Path, *, step: str, number: int) -> SkillsRuntimeError:
    """Return the error for a failed step of starting a program."""
    match step, number:
        case "cwd", errno.ENOENT | errno.ENOTDIR:
            return missing_directory_error(directory)
        case "cwd", errno.EACCES | errno.EPERM:
            return AccessRefused(f"the working directory `{directory}` may not be entered by this user")
        case "mounts", _:
            return SandboxError(
                "the workspace changed while the sandbox was set up",
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
                f"`{program}` cannot be executed on this machine", hint="start a script with `#!` and its interpreter"
            )
        case "exec", errno.E2BIG:
            return too_long_error(program)
        case _:
            return ToolError("unknown", f"`{program}` could not be started: {os.strerror(number)}", hint="try again")


def no_capacity_error(error: OSError) -> ToolError:
    """Return the error for a machine without capacity for another command."""
    return ToolError("unknown", f"no command can be started now: {error.strerror}", hint="end some, then try again")


def lost_supervisor_error(program: str, pid: int | None) -> ToolError:
    """Return the error for a command whose supervisor was killed, so that its outcome is unknown."""
    unknown = "what became of" if pid else "whether there was a start of"
    return ToolError(
        "unknown",
        f"{unknown} `{program}` is unknown: the process that watched it was killed",
        hint="a command must not signal processes that it did not start",
    )
