"""A client's side of one request: connect, check who listens, ask, and hear the answer."""

import errno
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from skills_runtime.errors import ToolError, ValidationFailed
from skills_runtime.processes.server import wire
from skills_runtime.processes.server.peers import check_peer
from skills_runtime.processes.server.place import SERVER, NoServer, Place
from skills_runtime.processes.server.serve import ServerInfo

RETRY_SECONDS = 0.01
MAX_ANSWER = 64 << 20


def connect(place: Place, deadline: float | None) -> socket.socket:
    """A connection to the server of this user; raises `NoServer` when there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        while True:
            try:
                connection.settimeout(_left(deadline))
                connection.connect(place.address)
                break
            except BlockingIOError:  # too many wait already
                time.sleep(RETRY_SECONDS)
        check_peer(connection)
    except OSError as error:
        connection.close()
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED):
            raise NoServer(f"no runtime server serves `{place.workspace_root}`") from None
        raise _silence(error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def server_info(place: Place) -> ServerInfo:
    """How to talk with the server that listens."""
    data = place.read(SERVER)
    try:
        return msgspec.json.decode(data or b"", type=ServerInfo)
    except msgspec.DecodeError:
        raise NoServer(f"`{place.path / SERVER}` does not tell of a server") from None


def ask(
    place: Place, connection: socket.socket, method: str, params: Mapping[str, Any], *, deadline: float | None
) -> Any:
    """Ask for one thing over a connection; raises `NoServer` when nobody can have heard all of it."""
    request = msgspec.json.encode({"method": method, "params": params, "secret": server_info(place).secret}) + b"\n"
    if len(request) > wire.MAX_REQUEST:
        raise ValidationFailed(f"a request has {wire.MAX_REQUEST} bytes at most", hint="write what is longer to a file")
    try:
        with suppress(BrokenPipeError):  # refused before all was said; why can be read
            connection.settimeout(_left(deadline))
            connection.sendall(request)
        answer = _received(connection, deadline)
    except ConnectionResetError:
        # The kernel says so only when a part of the request was never read, so nothing can have been done.
        raise NoServer("the runtime server has left") from None
    except OSError as error:
        raise _silence(error) from error
    if not answer.endswith(b"\n"):
        text = f"the runtime server died before it answered `{method}`"
        raise ToolError("unknown", text, hint="see what was done, then ask again")
    return wire.outcome(answer)


def _received(connection: socket.socket, deadline: float | None) -> bytes:
    answer = bytearray()
    while not answer.endswith(b"\n") and len(answer) < MAX_ANSWER:
        connection.settimeout(_left(deadline))
        piece = connection.recv(1 << 16)
        if not piece:
            break
        answer += piece
    return bytes(answer)


def _left(deadline: float | None) -> float | None:
    """Seconds until the deadline; at least so many that a socket takes them for a limit."""
    return None if deadline is None else max(deadline - time.monotonic(), 0.001)


def _silence(error: OSError) -> ToolError:
    if isinstance(error, TimeoutError):
        return ToolError(
            "timeout", "the runtime server did not answer in time", hint="`skills-runtime runtime status` tells more"
        )
    return ToolError("unknown", f"the runtime server cannot be reached: {os.strerror(error.errno or 0)}", hint="retry")
