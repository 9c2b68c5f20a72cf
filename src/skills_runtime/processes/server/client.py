"""Client side of the server: start it, connect, check the peer, send a request and read the answer."""

import errno
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import SkillsRuntimeError, ToolError, ValidationFailed
from skills_runtime.processes.server import protocol
from skills_runtime.processes.server.directory import (
    SERVER,
    STANDARD_ERROR,
    STANDARD_OUTPUT,
    NoServer,
    RuntimeDirectory,
)
from skills_runtime.processes.server.protocol import check_peer
from skills_runtime.processes.server.registry import MARKER
from skills_runtime.processes.server.runtime_server import ServerInfo
from skills_runtime.processes.supervised import MARKER as PROCESS_MARKER

RETRY_SECONDS = 0.01
MAX_ANSWER = 64 << 20


def connect(runtime_dir: RuntimeDirectory, deadline: float | None) -> socket.socket:
    """Connect to the server of this user; raises `NoServer` if there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        while True:
            try:
                connection.settimeout(_remaining(deadline))
                connection.connect(runtime_dir.address)
                break
            except BlockingIOError:  # the backlog of the socket is full
                time.sleep(RETRY_SECONDS)
        check_peer(connection)
    except OSError as error:
        connection.close()
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED):
            raise NoServer(f"no runtime server runs for `{runtime_dir.workspace_root}`") from None
        raise _connection_error(error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def read_server_info(runtime_dir: RuntimeDirectory) -> ServerInfo:
    """Read how to talk to the server from `server.json`."""
    data = runtime_dir.read(SERVER)
    try:
        return msgspec.json.decode(data or b"", type=ServerInfo)
    except msgspec.DecodeError:
        raise NoServer(f"`{runtime_dir.path / SERVER}` does not describe a server") from None


def send_request(
    runtime_dir: RuntimeDirectory,
    connection: socket.socket,
    method: str,
    params: Mapping[str, Any],
    *,
    deadline: float | None,
) -> Any:
    """Send a request and return the data of the answer; raises `NoServer` if it was not read completely."""
    request = (
        msgspec.json.encode({"method": method, "params": params, "secret": read_server_info(runtime_dir).secret})
        + b"\n"
    )
    if len(request) > protocol.MAX_REQUEST:
        raise ValidationFailed(
            f"a request may have at most {protocol.MAX_REQUEST} bytes", hint="write longer data to a file"
        )
    try:
        # Refused before the whole request was sent; the answer has the reason.
        with suppress(BrokenPipeError):
            connection.settimeout(_remaining(deadline))
            connection.sendall(request)
        answer = bytearray()
        while not answer.endswith(b"\n") and len(answer) < MAX_ANSWER:
            connection.settimeout(_remaining(deadline))
            piece = connection.recv(1 << 16)
            if not piece:
                break
            answer += piece
    except ConnectionResetError:
        # The kernel says so only when a part of the request was never read, so nothing can have been done.
        raise NoServer("the runtime server has exited") from None
    except OSError as error:
        raise _connection_error(error) from error
    if not answer.endswith(b"\n"):
        text = f"the runtime server died before it answered `{method}`"
        raise ToolError("unknown", text, hint="check what was done, then retry")
    return protocol.parse_answer(bytes(answer))


def _remaining(deadline: float | None) -> float | None:
    """Return the seconds until the deadline; positive, because 0 would make the socket non-blocking."""
    return None if deadline is None else max(deadline - time.monotonic(), 0.001)


def _connection_error(error: OSError) -> ToolError:
    if isinstance(error, TimeoutError):
        return ToolError(
            "timeout", "the runtime server did not answer in time", hint="`skills-runtime runtime status` tells more"
        )
    return ToolError("unknown", f"the runtime server cannot be reached: {os.strerror(error.errno or 0)}", hint="retry")


READY = 3
"""Descriptor on which the server reports that it is ready, or why it failed."""

# Forks before loading anything, so that init adopts the server and it never becomes a zombie.
_BOOT = (
    "import os, sys; os.fork() and os._exit(0); os.setsid(); os.chdir('/'); sys.path.append(sys.argv[1]);"
    " from skills_runtime.engine.runtime_server import main; main(sys.argv[2:])"
)

_PACKAGES = str(Path(__file__).parents[3])


def start_server(
    runtime_dir: RuntimeDirectory, environment: Mapping[str, str], *, idle_seconds: float, timeout_seconds: float
) -> None:
    """Start a server and wait until it is ready; raises the error that it reports."""
    read_end, write_end = os.pipe()
    try:
        try:
            _spawn(runtime_dir, environment, write_end, idle_seconds=idle_seconds)
        finally:
            os.close(write_end)
        poll = select.poll()
        poll.register(read_end, select.POLLIN)
        if not poll.poll(timeout_seconds * 1000):
            raise ToolError(
                "timeout",
                f"the runtime server was not ready within {timeout_seconds:g} s",
                hint="see `server.stderr.log`",
            )
        answer = os.read(read_end, select.PIPE_BUF)
        if not answer:
            raise ToolError(
                "unknown",
                "the runtime server ended before it was ready",
                hint=f"see `{runtime_dir.path / STANDARD_ERROR}`",
            )
        protocol.parse_answer(answer)
    finally:
        os.close(read_end)


def _spawn(
    runtime_dir: RuntimeDirectory, environment: Mapping[str, str], ready_fd: int, *, idle_seconds: float
) -> None:
    if not sys.executable:
        raise ToolError("unknown", "no Python interpreter is available to start a server", hint="see `sys.executable`")
    logs = [runtime_dir.open_log(STANDARD_OUTPUT), runtime_dir.open_log(STANDARD_ERROR)]
    try:
        pid = os.posix_spawn(
            sys.executable,
            # -P: never import from the working directory.
            [sys.executable, "-P", "-c", _BOOT, _PACKAGES, str(runtime_dir.workspace_root), repr(idle_seconds)],
            {name: value for name, value in environment.items() if name not in (MARKER, PROCESS_MARKER)},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                *((os.POSIX_SPAWN_DUP2, log, number) for number, log in enumerate(logs, start=1)),
                (os.POSIX_SPAWN_DUP2, ready_fd, READY),
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


def report_ready(error: SkillsRuntimeError | None = None) -> None:
    """Report to the parent process that the server is ready, or why it failed."""
    try:
        os.write(READY, protocol.success({"pid": os.getpid()}) if error is None else protocol.failure(error))
        os.close(READY)
    except OSError:  # started by hand, or its starter has exited
        return
