"""Why a command did not start, as an error of ours."""

import errno
import os
from pathlib import Path

from skills_runtime.errors import AccessRefused, NotFound, SandboxError, SkillsRuntimeError, ToolError, ValidationFailed


def too_long(program: str) -> ValidationFailed:
    """The error for more arguments than the system accepts."""
    return ValidationFailed(
        f"the arguments of `{program}` are longer than the system accepts",
        hint="write them to a file, or send them as `stdin`",
    )


def no_directory(directory: Path) -> NotFound:
    """The error for a working directory that is not there."""
    return NotFound(f"the working directory `{directory}` does not exist", hint="create it, or choose another")


def not_started(program: str, directory: Path, *, step: str, number: int) -> SkillsRuntimeError:
    """The error for a step on the way to the program that the system refused."""
    match step, number:
        case "cwd", errno.ENOENT | errno.ENOTDIR:
            return no_directory(directory)
        case "cwd", errno.EACCES | errno.EPERM:
            return AccessRefused(f"the working directory `{directory}` may not be entered by this user")
        case "placeholder", _:
            return SandboxError(
                f"the protected names of the workspace cannot be kept free: {os.strerror(number)}",
                hint="see that the workspace is a real directory, with room on its disk and no links of those names",
            )
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
            return too_long(program)
        case _:
            return ToolError("unknown", f"`{program}` could not be started: {os.strerror(number)}", hint="try again")


def unavailable(error: OSError) -> ToolError:
    """The error for a machine that has no room for another command."""
    return ToolError("unknown", f"no command can be started now: {error.strerror}", hint="end some, then try again")


def lost(program: str, pid: int | None) -> ToolError:
    """The error for a command whose supervisor was killed, so that nobody knows what became of it."""
    unknown = "what became of" if pid else "whether there was a start of"
    return ToolError(
        "unknown",
        f"{unknown} `{program}` is unknown: the process that watched it was killed",
        hint="a command must not signal processes that it did not start",
    )
