"""One client from its first byte: SOCKS5 or HTTP, request after request, until it is refused or gone."""

import socket
from functools import partial

from skills_runtime.sandbox.egress.checkpoint import Checkpoint
from skills_runtime.sandbox.egress.exchange import Exchange
from skills_runtime.sandbox.egress.hosts import Authority
from skills_runtime.sandbox.egress.record import Protocol
from skills_runtime.sandbox.egress.streams import Peer
from skills_runtime.sandbox.egress.tunnel import tunnel
from skills_runtime.sandbox.egress.values import Refused, Stopped
from skills_runtime.sandbox.egress.wire.request import Request, parse_request
from skills_runtime.sandbox.egress.wire.socks import NO_METHOD, USE_NO_LOGIN, parse_greeting, parse_socks_request, reply
from skills_runtime.sandbox.egress.wire.writing import ESTABLISHED, refusal

SOCKS_5 = 0x05


async def serve_connection(connection: socket.socket, checkpoint: Checkpoint) -> None:
    """Serve one client to its end; a client that is cut off or says nothing for long is an end like any other."""
    with Peer(connection) as client:
        try:
            first = await client.peek(checkpoint.ports.limits.idle_seconds)
            if first[:1] == bytes((SOCKS_5,)):
                await _serve_socks(client, checkpoint)
            elif first[:1].isupper():
                await _serve_http(client, checkpoint)
            elif first:
                checkpoint.refuse("unknown", Refused("request_invalid", "this is neither HTTP nor SOCKS5"))
        except OSError:
            return


async def _serve_http(client: Peer, checkpoint: Checkpoint) -> None:
    limits = checkpoint.ports.limits
    parse = partial(parse_request, limit=limits.head_bytes)
    keeps = True
    while keeps:
        try:
            request = await client.take(parse, limits.idle_seconds)
        except Stopped as stop:
            _note(checkpoint, "http", stop.refused)
            await client.farewell(refusal(stop.refused))
            return
        if request is None:
            return
        try:
            keeps = await _pass_on(client, checkpoint, request)
        except Stopped as stop:
            await client.farewell(refusal(stop.refused))
            return
    await client.farewell()


async def _pass_on(client: Peer, checkpoint: Checkpoint, request: Request) -> bool:
    if request.method == "CONNECT":
        await _open_tunnel(client, checkpoint, "connect", request.authority, ESTABLISHED)
        return False
    flow = await checkpoint.pass_through("http", request.authority)
    with flow, await flow.connect() as server:
        return await Exchange(client, server, request, flow, checkpoint.ports.limits).run()


async def _serve_socks(client: Peer, checkpoint: Checkpoint) -> None:
    seconds = checkpoint.ports.limits.idle_seconds
    try:
        if not await client.take(parse_greeting, seconds):
            checkpoint.refuse("socks5", Refused("request_invalid", "the client insists on a login"))
            await client.farewell(NO_METHOD)
            return
        await client.send(USE_NO_LOGIN)
        authority = await client.take(parse_socks_request, seconds)
    except Stopped as stop:
        _note(checkpoint, "socks5", stop.refused)
        await client.farewell(reply(stop.refused))
        return
    if authority is None:
        return
    try:
        await _open_tunnel(client, checkpoint, "socks5", authority, reply(None))
    except Stopped as stop:
        await client.farewell(reply(stop.refused))


async def _open_tunnel(
    client: Peer, checkpoint: Checkpoint, protocol: Protocol, authority: Authority, answer: bytes
) -> None:
    flow = await checkpoint.pass_through(protocol, authority)
    opened = False
    try:
        with flow, await flow.connect() as server:
            await client.send(answer)
            opened = True
            await tunnel(client, server, authority, flow, checkpoint.ports.limits)
    except Stopped as stop:
        if not opened:
            raise
        await client.farewell(stop.last_words)


def _note(checkpoint: Checkpoint, protocol: Protocol, refused: Refused) -> None:
    """Record what could not be understood; a client that went away has asked for nothing."""
    if refused.kind != "closed":
        checkpoint.refuse(protocol, refused)
