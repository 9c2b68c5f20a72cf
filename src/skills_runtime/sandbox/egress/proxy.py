"""The proxy: accepts connections on a listener, and serves HTTP, CONNECT and SOCKS5 on the same port."""

import asyncio
import errno
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import IPv4Address, IPv6Address

from skills_runtime.sandbox.egress.authorizer import EgressAuthorizer
from skills_runtime.sandbox.egress.http_exchange import Exchange
from skills_runtime.sandbox.egress.http_messages import ESTABLISHED, parse_request, render_refusal
from skills_runtime.sandbox.egress.records import EgressPorts, Protocol
from skills_runtime.sandbox.egress.rules import (
    Authority,
    Incomplete,
    Parsed,
    Refused,
    Stopped,
    canonical_host,
    escape_text,
    host_from_address,
)
from skills_runtime.sandbox.egress.streams import Peer
from skills_runtime.sandbox.egress.tunnel import tunnel

VERSION = 5
USE_NO_LOGIN = b"\x05\x00"
NO_METHOD = b"\x05\xff"
SUCCEEDED = 0
_FAILED = 1
_CODES = {
    "host_invalid": 8,
    "not_allowed": 2,
    "denied": 2,
    "address_blocked": 2,
    "name_mismatch": 2,
    "unreachable": 4,
}
_NO_LOGIN = 0
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
SOCKS_5 = 0x05
_CLIENT_GONE = (errno.ECONNABORTED, errno.EAGAIN, errno.EINTR, errno.EPROTO)
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
RETRY_SECONDS = 0.1


@asynccontextmanager
async def egress_proxy(listener: socket.socket, ports: EgressPorts) -> AsyncGenerator[None]:
    """Serve the listener while the block runs; afterwards it and every connection are closed.

    An error of a callback, such as a decision that cannot be recorded, ends the proxy at once: nothing passes any
    more, and the block raises the error at its end.
    """
    serving = asyncio.create_task(serve_egress(listener, ports))
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait([serving])
        listener.close()  # a task cancelled before its first step could not close it
    if not serving.cancelled():
        serving.result()


async def serve_egress(listener: socket.socket, ports: EgressPorts) -> None:
    """Serve until cancelled, or until the listener is shut down and every connection has ended.

    Closes the listener and all connections before it returns.
    """
    authorizer = EgressAuthorizer(ports)
    semaphore = asyncio.Semaphore(ports.limits.connections)
    try:
        listener.settimeout(0)
        async with asyncio.TaskGroup() as group:
            while True:
                await semaphore.acquire()
                connection = await _accept(listener)
                if connection is None:
                    break
                serving = group.create_task(serve_connection(connection, authorizer))
                serving.add_done_callback(partial(_release, connection, semaphore))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        listener.close()
        await authorizer.close()


def _release(connection: socket.socket, semaphore: asyncio.Semaphore, _: asyncio.Task[None]) -> None:
    connection.close()  # a task cancelled before its first step could not close it
    semaphore.release()


async def _accept(listener: socket.socket) -> socket.socket | None:
    """Return the next connection; None once the listener is shut down."""
    while True:
        # Wait until a client connects; not `sock_accept`, which loses a connection when it is cancelled.
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(listener, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(listener)
        try:
            connection, _ = listener.accept()
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            if error.errno in _EXHAUSTED:
                await asyncio.sleep(RETRY_SECONDS)
            elif error.errno not in _CLIENT_GONE:
                raise
        else:
            return connection


async def serve_connection(connection: socket.socket, authorizer: EgressAuthorizer) -> None:
    """Serve one client to its end; a timeout or a closed connection is an ordinary end."""
    with Peer(connection) as client:
        try:
            first = await client.peek(authorizer.ports.limits.idle_seconds)
            if first[:1] == bytes((SOCKS_5,)):
                await _serve_socks(client, authorizer)
            elif first[:1].isupper():
                await _serve_http(client, authorizer)
            elif first:
                authorizer.refuse("unknown", Refused("request_invalid", "this is neither HTTP nor SOCKS5"))
        except OSError:
            return


async def _serve_http(client: Peer, authorizer: EgressAuthorizer) -> None:
    limits = authorizer.ports.limits
    parse = partial(parse_request, limit=limits.head_bytes)
    keep_alive = True
    while keep_alive:
        try:
            request = await client.parse_next(parse, limits.idle_seconds)
        except Stopped as stop:
            _record_refusal(authorizer, "http", stop.refused)
            await client.send_and_close(render_refusal(stop.refused))
            return
        if request is None:
            return
        try:
            if request.method == "CONNECT":
                await _open_tunnel(client, authorizer, "connect", request.authority, ESTABLISHED)
                break
            flow = await authorizer.authorize("http", request.authority)
            with flow, await flow.connect() as server:
                keep_alive = await Exchange(client, server, request, flow, limits).run()
        except Stopped as stop:
            await client.send_and_close(render_refusal(stop.refused))
            return
    await client.send_and_close()


async def _serve_socks(client: Peer, authorizer: EgressAuthorizer) -> None:
    seconds = authorizer.ports.limits.idle_seconds
    try:
        if not await client.parse_next(parse_greeting, seconds):
            authorizer.refuse("socks5", Refused("request_invalid", "the client insists on a login"))
            await client.send_and_close(NO_METHOD)
            return
        await client.send(USE_NO_LOGIN)
        authority = await client.parse_next(parse_socks_request, seconds)
    except Stopped as stop:
        _record_refusal(authorizer, "socks5", stop.refused)
        await client.send_and_close(render_socks_reply(stop.refused))
        return
    if authority is None:
        return
    try:
        await _open_tunnel(client, authorizer, "socks5", authority, render_socks_reply(None))
    except Stopped as stop:
        await client.send_and_close(render_socks_reply(stop.refused))


async def _open_tunnel(
    client: Peer, authorizer: EgressAuthorizer, protocol: Protocol, authority: Authority, answer: bytes
) -> None:
    flow = await authorizer.authorize(protocol, authority)
    established = False
    try:
        with flow, await flow.connect() as server:
            await client.send(answer)
            established = True
            await tunnel(client, server, authority, flow, authorizer.ports.limits)
    except Stopped as stop:
        if not established:
            raise
        await client.send_and_close(stop.final_bytes)


def _record_refusal(authorizer: EgressAuthorizer, protocol: Protocol, refused: Refused) -> None:
    """Record a message that could not be parsed, unless the client closed the connection."""
    if refused.kind != "closed":
        authorizer.refuse(protocol, refused)


def parse_greeting(data: bytes) -> Parsed[bool] | Incomplete | Refused:
    """Parse a SOCKS5 greeting; return whether the client accepts no authentication."""
    if data and data[0] != VERSION:
        return _invalid("the greeting is not one of SOCKS5")
    if len(data) < 2:
        return Incomplete()
    if data[1] == 0:
        return _invalid("the greeting offers no way to log in or not to")
    end = 2 + data[1]
    return Parsed(_NO_LOGIN in data[2:end], end) if len(data) >= end else Incomplete()


def parse_socks_request(data: bytes) -> Parsed[Authority] | Incomplete | Refused:
    """Parse the destination of a SOCKS5 request."""
    for position, expected, problem in (
        (0, (VERSION,), "the request is not one of SOCKS5"),
        (1, (_CONNECT,), "only the command that connects is known"),
        (2, (0,), "the reserved byte is not zero"),
        (3, (_IPV4, _NAME, _IPV6), "the kind of address is unknown"),
    ):
        if len(data) <= position:
            return Incomplete()
        if data[position] not in expected:
            return _invalid(problem)
    if data[3] == _NAME and len(data) < 5:
        return Incomplete()
    start, length = {_IPV4: (4, 4), _IPV6: (4, 16), _NAME: (5, data[4] if len(data) > 4 else 0)}[data[3]]
    end = start + length + 2
    if len(data) < end:
        return Incomplete()
    raw = data[start : end - 2]
    if data[3] != _NAME:
        host = host_from_address(IPv4Address(raw) if data[3] == _IPV4 else IPv6Address(raw))
    elif raw.isascii():
        host = canonical_host(raw.decode("ascii"))
    else:
        host = Refused("host_invalid", "the host is not ASCII", escape_text(raw.decode("latin-1")))
    port = int.from_bytes(data[end - 2 : end], "big")
    if isinstance(host, Refused):
        return host
    return Parsed(Authority(host, port), end) if port else Refused("host_invalid", "the port is zero", host.text)


def render_socks_reply(refused: Refused | None) -> bytes:
    """Render the reply to a SOCKS5 request; clients that connect ignore its address."""
    code = SUCCEEDED if refused is None else _CODES.get(refused.kind, _FAILED)
    return bytes((VERSION, code, 0, _IPV4, 0, 0, 0, 0, 0, 0))


def _invalid(problem: str) -> Refused:
    return Refused("request_invalid", problem)
