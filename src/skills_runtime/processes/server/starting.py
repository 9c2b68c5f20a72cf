"""Starts the server of a workspace as a process of its own, which outlives whoever needed it first."""

import os
import select
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skills_runtime.errors import SkillsRuntimeError, ToolError
from skills_runtime.processes.server import wire
from skills_runtime.processes.server.place import STANDARD_ERROR, STANDARD_OUTPUT, Place
from skills_runtime.processes.server.registry import MARKER
from skills_runtime.processes.supervised import MARKER as PROCESS_MARKER

READY = 3
"""The descriptor on which the server says that it is there, or why not."""

_BOOT = (
    "import os, sys; os.fork() and os._exit(0); os.setsid(); os.chdir('/'); sys.path.append(sys.argv[1]);"
    " from skills_runtime.engine.runtime_server import main; main(sys.argv[2:])"
)
"""Forks before anything is loaded, so that the server is nobody's child and never becomes a zombie."""

_PACKAGES = str(Path(__file__).parents[3])


def start_server(place: Place, environment: Mapping[str, str], *, idle_seconds: float, timeout_seconds: float) -> None:
    """Start a server and wait until it serves; raises what kept it from doing so."""
    heard, told = os.pipe()
    try:
        try:
            _spawn(place, environment, told, idle_seconds=idle_seconds)
        finally:
            os.close(told)
        _check(place, _hear(heard, timeout_seconds))
    finally:
        os.close(heard)


def _spawn(place: Place, environment: Mapping[str, str], told: int, *, idle_seconds: float) -> None:
    if not sys.executable:
        raise ToolError("unknown", "no Python interpreter is known to start a server with", hint="see `sys.executable`")
    logs = [place.open_log(STANDARD_OUTPUT), place.open_log(STANDARD_ERROR)]
    try:
        pid = os.posix_spawn(
            sys.executable,
            # -P: the directory somebody happens to stand in must not offer modules.
            [sys.executable, "-P", "-c", _BOOT, _PACKAGES, str(place.workspace_root), repr(idle_seconds)],
            _clean(environment),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                *((os.POSIX_SPAWN_DUP2, log, number) for number, log in enumerate(logs, start=1)),
                (os.POSIX_SPAWN_DUP2, told, READY),
            ],
            setsigmask=(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )
    except OSError as error:
        raise ToolError("unknown", f"no server can be started: {error.strerror}", hint="try again") from error
    finally:
        for log in logs:
            os.close(log)
    os.waitpid(pid, 0)  # only the process that forks the server


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what marks the processes of a session: the server belongs to none."""
    return {name: value for name, value in environment.items() if name not in (MARKER, PROCESS_MARKER)}


def _hear(heard: int, timeout_seconds: float) -> bytes:
    poll = select.poll()
    poll.register(heard, select.POLLIN)
    if not poll.poll(timeout_seconds * 1000):
        raise ToolError(
            "timeout", f"the runtime server was not ready within {timeout_seconds:g} s", hint="see `server.stderr.log`"
        )
    return os.read(heard, select.PIPE_BUF)


def _check(place: Place, said: bytes) -> Any:
    if not said:
        raise ToolError(
            "unknown", "the runtime server ended before it served", hint=f"see `{place.path / STANDARD_ERROR}`"
        )
    return wire.outcome(said)


def tell_ready(error: SkillsRuntimeError | None = None) -> None:
    """Say to whoever started this process that it serves, or why it does not."""
    try:
        os.write(READY, wire.success({"pid": os.getpid()}) if error is None else wire.failure(error))
        os.close(READY)
    except OSError:  # started by hand, or whoever wanted it has gone
        return
