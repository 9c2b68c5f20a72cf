"""Encoding of requests and answers, and the identity of the peer.

JSON, each on one line, with limits on size and time. A request ends with a line feed or, from older clients, with the
end of the stream.
"""

import asyncio
import hmac
import os
import select
import socket
import struct
from typing import Any, NamedTuple

import msgspec

from skills_runtime.errors import AccessRefused, SkillsRuntimeError, ToolError, ValidationFailed

MAX_REQUEST = 1 << 20
READ_SECONDS = 10.0
"""How long a client may take to send its request."""

INTERNAL = "internal"
"""Kind of an internal error; the log of the server has the details."""

EMPTY_PARAMS = msgspec.Raw(b"{}")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a client."""

    method: str
    params: msgspec.Raw = EMPTY_PARAMS
    secret: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a request."""

    ok: bool
    data: Any = None
    error_kind: str | None = None
    error: str | None = None
    hint: str = ""


async def read_request(reader: asyncio.StreamReader, *, seconds: float = READ_SECONDS) -> bytes:
    """Read the bytes of a request; empty if the client disconnected without sending any."""
    try:
        async with asyncio.timeout(seconds):
            return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError:
        raise ValidationFailed(
            f"a request may have at most {MAX_REQUEST} bytes", hint="write longer data to a file in the workspace"
        ) from None
    except TimeoutError:
        raise ToolError(
            "timeout", f"the request was not complete within {seconds:g} s", hint="send it in one go, and end the line"
        ) from None


def parse_request(data: bytes, *, secret: str) -> Request:
    """Decode a request and check its secret."""
    try:
        request = msgspec.json.decode(data, type=Request)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise ValidationFailed(
            "the request is not a JSON object with `method`, `params` and `secret`", hint="see `RuntimeClient`"
        ) from None
    # Constant time, so that the duration of a refusal reveals nothing about the secret.
    if not hmac.compare_digest(request.secret.encode(errors="surrogatepass"), secret.encode()):
        raise AccessRefused("the secret is wrong", hint="read it from `server.json`, after connecting")
    return request


def success(data: Any) -> bytes:
    """Encode the answer to a successful request."""
    return _line(Answer(ok=True, data=data))


def failure(error: BaseException) -> bytes:
    """Encode the answer to a failed request."""
    if isinstance(error, SkillsRuntimeError):
        return _line(Answer(ok=False, error_kind=error.kind, error=error.message, hint=error.hint))
    text = "the server met an error it does not know"
    return _line(Answer(ok=False, error_kind=INTERNAL, error=text, hint="see `server.stderr.log`"))


def parse_answer(answer: bytes) -> Any:
    """Return the data of an answer, or raise the error in it."""
    try:
        decoded = msgspec.json.decode(answer, type=Answer)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise ToolError("unknown", "the peer is not a runtime server", hint="stop it, and try again") from None
    if decoded.ok:
        return decoded.data
    kind = "unknown" if decoded.error_kind in (None, INTERNAL) else decoded.error_kind
    raise ToolError(kind, decoded.error or "the server refused", hint=decoded.hint)


def _line(answer: Answer) -> bytes:
    return msgspec.json.encode(answer) + b"\n"


_CREDENTIALS = struct.Struct("3i")


class Peer(NamedTuple):
    """A process and its user."""

    pid: int
    uid: int
    gid: int


def read_peer(connection: "socket.socket | SocketLike") -> Peer:
    """Return the process and user at the other end of a connection."""
    return Peer(*_CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)))


def check_peer(connection: "socket.socket | SocketLike", *, user: int | None = None) -> Peer:
    """Return the peer, or raise if it is another user."""
    peer = read_peer(connection)
    if peer.uid != (os.geteuid() if user is None else user):
        raise AccessRefused("only the user who runs this server may use it", hint="start one of your own")
    return peer


def is_hung_up(descriptor: int) -> bool:
    """Return whether the peer has closed the connection, not only its sending side."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, events in poll.poll(0))


class SocketLike:
    """The methods of a socket that a transport exposes."""

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes:
        """Return an option of the socket."""
        raise NotImplementedError

    def fileno(self) -> int:
        """Return the number of its descriptor."""
        raise NotImplementedError
