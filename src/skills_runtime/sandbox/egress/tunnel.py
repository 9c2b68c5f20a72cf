"""Relay a tunnel to one host: TLS with that server name, or HTTP for it, and nothing else.

The server name is read from the ClientHello, which is parsed only as far as needed.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from skills_runtime.sandbox.egress.authorizer import Flow
from skills_runtime.sandbox.egress.http_exchange import Exchange
from skills_runtime.sandbox.egress.http_messages import TLS_REFUSED, parse_request, render_refusal
from skills_runtime.sandbox.egress.records import EgressLimits
from skills_runtime.sandbox.egress.rules import Authority, Host, Incomplete, Parsed, Refused, Stopped, canonical_host
from skills_runtime.sandbox.egress.streams import IdleLimit, Peer, run_all

MAX_HELLO = 16384
"""Bytes of a ClientHello; real ones have less than 3,000."""

_HANDSHAKE = 22
_CLIENT_HELLO = 1
_RECORD_HEAD = 5
_MESSAGE_HEAD = 4
_MAX_RECORD = 16384
_MAX_RECORDS = 64
_SERVER_NAME = 0
# Encrypted Client Hello and its older draft: the readable name is not the one that counts.
_ENCRYPTED = (0xFE0D, 0xFFCE)


class _Malformed(Exception):
    """The bytes violate the standard."""


class _Bytes:
    """Reads integers and fields of a message, never beyond its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offset = 0

    @property
    def is_at_end(self) -> bool:
        return self._offset == len(self._data)

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def take(self, length: int) -> bytes:
        piece = self._data[self._offset : self._offset + length]
        if len(piece) < length:
            raise _Malformed("a part is longer than the whole")
        self._offset += length
        return piece

    def vector(self, width: int, least: int, most: int) -> bytes:
        length = self.number(width)
        if not least <= length <= most:
            raise _Malformed("a part has an impossible length")
        return self.take(length)


def parse_server_name(data: bytes) -> Parsed[Host] | Incomplete | Refused:
    """Parse the server name in the ClientHello at the start of the data; ignore bytes after its last record."""
    try:
        handshake = _read_handshake(data)
        if isinstance(handshake, Incomplete):
            return handshake
        message, consumed = handshake
        extensions = dict(_parse_extensions(message))
        if any(number in extensions for number in _ENCRYPTED):
            return Refused("name_mismatch", "TLS hides the server name (Encrypted Client Hello)")
        if _SERVER_NAME not in extensions:
            return Refused("name_mismatch", "TLS names no server (no SNI)")
        host = canonical_host(_parse_server_name_extension(extensions[_SERVER_NAME]))
    except _Malformed as error:
        return Refused("request_invalid", f"this is not the beginning of TLS: {error}")
    if isinstance(host, Refused):
        return Refused("name_mismatch", f"TLS names a server that cannot be one: {host.reason}", host.about)
    return Parsed(host, consumed)


def _read_handshake(data: bytes) -> tuple[bytes, int] | Incomplete:
    """Return the whole handshake message, joined from its records."""
    message, offset = b"", 0
    for _ in range(_MAX_RECORDS):
        head = data[offset : offset + _RECORD_HEAD]
        if head and head[0] != _HANDSHAKE:
            raise _Malformed("the first record is not a handshake")
        if len(head) > 1 and head[1] != 3:
            raise _Malformed("the version is unknown")
        if len(head) == _RECORD_HEAD and not 0 < int.from_bytes(head[3:], "big") <= _MAX_RECORD:
            raise _Malformed("a record has an impossible length")
        if len(head) < _RECORD_HEAD:
            return Incomplete()
        length = int.from_bytes(head[3:], "big")
        message += data[offset + _RECORD_HEAD : offset + _RECORD_HEAD + length]
        total = _message_length(message)
        if len(message) > total:
            raise _Malformed("something follows the first message at once")
        offset += _RECORD_HEAD + length
        if offset > len(data):
            return Incomplete()
        if len(message) == total:
            return message[_MESSAGE_HEAD:], offset
    raise _Malformed("the first message comes in too many pieces")


def _message_length(message: bytes) -> int:
    """Return the length of the message with its header; the maximum while it is unknown."""
    if message and message[0] != _CLIENT_HELLO:
        raise _Malformed("the first message is not a ClientHello")
    if len(message) < _MESSAGE_HEAD:
        return MAX_HELLO
    length = _MESSAGE_HEAD + int.from_bytes(message[1:_MESSAGE_HEAD], "big")
    if length > MAX_HELLO:
        raise _Malformed("the ClientHello is too long")
    return length


def _parse_extensions(message: bytes) -> Iterator[tuple[int, bytes]]:
    hello = _Bytes(message)
    hello.take(2 + 32)
    hello.vector(1, 0, 32)
    if len(hello.vector(2, 2, 0xFFFE)) % 2:
        raise _Malformed("the cipher suites are incomplete")
    hello.vector(1, 1, 255)
    extensions = _Bytes(b"" if hello.is_at_end else hello.vector(2, 0, 0xFFFF))
    if not hello.is_at_end:
        raise _Malformed("something follows the extensions")
    seen: set[int] = set()
    while not extensions.is_at_end:
        number = extensions.number(2)
        if number in seen:
            raise _Malformed("an extension appears twice")
        seen.add(number)
        yield number, extensions.vector(2, 0, 0xFFFF)


def _parse_server_name_extension(extension: bytes) -> str:
    outer = _Bytes(extension)
    names = _Bytes(outer.vector(2, 1, 0xFFFF))
    kind, name = names.number(1), names.vector(2, 1, 255)
    if kind != 0 or not names.is_at_end or not outer.is_at_end:
        raise _Malformed("the server name is not exactly one host name")
    if not name.isascii():
        raise _Malformed("the server name is not ASCII")
    return name.decode("ascii")


TLS_HANDSHAKE = 0x16


async def tunnel(client: Peer, server: Peer, authority: Authority, flow: Flow, limits: EgressLimits) -> None:
    """Relay bytes in both directions once the first bytes show the real destination."""
    if flow.rule.raw == "allowed":
        await relay(client, server, flow, limits.idle_seconds)
        return
    first = await client.peek(limits.idle_seconds)
    if not first:
        return
    if first[0] == TLS_HANDSHAKE:
        try:
            await client.parse_next(partial(_check_server_name, authority=authority), limits.idle_seconds)
        except Stopped as stop:
            raise Stopped(stop.refused, TLS_REFUSED) from stop
        await relay(client, server, flow, limits.idle_seconds)
    elif first[:1].isupper():
        await _serve_http(client, server, authority, flow, limits)
    else:
        raise Stopped(Refused("request_invalid", "the tunnel carries neither TLS nor HTTP"))


async def _serve_http(client: Peer, server: Peer, authority: Authority, flow: Flow, limits: EgressLimits) -> None:
    """Serve each request of the tunnel separately, connecting only to the address checked for it."""
    parse = partial(parse_request, limit=limits.head_bytes, tunnel=authority)
    spare: Peer | None = server
    try:
        while request := await client.parse_next(parse, limits.idle_seconds):
            with spare or await flow.connect() as peer:
                keep_alive = await Exchange(client, peer, request, flow, limits).run()
            spare = None
            if not keep_alive:
                return
    except Stopped as stop:
        raise Stopped(stop.refused, render_refusal(stop.refused)) from stop


async def relay(client: Peer, server: Peer, flow: Flow, idle_seconds: float) -> None:
    """Relay bytes in both directions until both ends have finished writing."""
    async with IdleLimit(idle_seconds) as idle:
        await run_all(
            _pump(client, server, flow.count_sent, idle),
            _pump(server, client, flow.count_received, idle),
        )


async def _pump(source: Peer, sink: Peer, count: Callable[[int], None], idle: IdleLimit) -> None:
    while piece := await source.read():
        count(len(piece))
        idle.reset()
        await sink.send(piece)
        idle.reset()
    with suppress(OSError):
        sink.end_writing()


def _check_server_name(data: bytes, authority: Authority) -> Parsed[Host] | Incomplete | Refused:
    """Return the server name if it is the tunnel's; its bytes stay buffered for the server."""
    server_name = parse_server_name(data)
    if not isinstance(server_name, Parsed):
        return server_name
    if server_name.value != authority.host:
        return Refused("name_mismatch", f"TLS names {server_name.value.text} instead", authority.text)
    return Parsed(server_name.value, 0)
