"""What goes through a tunnel: TLS for the right server, HTTP for the right host, or anything where a rule says so."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from skills_runtime.sandbox.egress.checkpoint import Flow
from skills_runtime.sandbox.egress.exchange import Exchange
from skills_runtime.sandbox.egress.hosts import Authority, Host
from skills_runtime.sandbox.egress.record import EgressLimits
from skills_runtime.sandbox.egress.streams import IdleLimit, Peer, together
from skills_runtime.sandbox.egress.values import Parsed, Refused, Stopped, Wanting
from skills_runtime.sandbox.egress.wire.client_hello import parse_server_name
from skills_runtime.sandbox.egress.wire.request import parse_request
from skills_runtime.sandbox.egress.wire.writing import TLS_REFUSED, refusal

TLS_HANDSHAKE = 0x16


async def tunnel(client: Peer, server: Peer, authority: Authority, flow: Flow, limits: EgressLimits) -> None:
    """Let bytes through in both directions once the first of them show where they are really meant for."""
    if flow.rule.raw == "allowed":
        await relay(client, server, flow, limits.idle_seconds)
        return
    first = await client.peek(limits.idle_seconds)
    if not first:
        return
    if first[0] == TLS_HANDSHAKE:
        await _tls(client, server, authority, flow, limits)
    elif first[:1].isupper():
        await _http(client, server, authority, flow, limits)
    else:
        raise Stopped(Refused("request_invalid", "the tunnel carries neither TLS nor HTTP"))


async def _tls(client: Peer, server: Peer, authority: Authority, flow: Flow, limits: EgressLimits) -> None:
    try:
        await client.take(partial(_right_name, authority=authority), limits.idle_seconds)
    except Stopped as stop:
        raise Stopped(stop.refused, TLS_REFUSED) from stop
    await relay(client, server, flow, limits.idle_seconds)


async def _http(client: Peer, server: Peer, authority: Authority, flow: Flow, limits: EgressLimits) -> None:
    """Every request of the tunnel by itself, on connections to the address that was checked for the tunnel."""
    parse = partial(parse_request, limit=limits.head_bytes, tunnel=authority)
    spare: Peer | None = server
    try:
        while request := await client.take(parse, limits.idle_seconds):
            with spare or await flow.connect() as one:
                keeps = await Exchange(client, one, request, flow, limits).run()
            spare = None
            if not keeps:
                return
    except Stopped as stop:
        raise Stopped(stop.refused, refusal(stop.refused)) from stop


async def relay(client: Peer, server: Peer, flow: Flow, idle_seconds: float) -> None:
    """Bytes in both directions until both ends have said that nothing more comes."""
    async with IdleLimit(idle_seconds) as idle:
        await together(
            _pump(client, server, flow.sent, idle),
            _pump(server, client, flow.received, idle),
        )


async def _pump(source: Peer, sink: Peer, count: Callable[[int], None], idle: IdleLimit) -> None:
    while piece := await source.read():
        count(len(piece))
        idle.moved()
        await sink.send(piece)
        idle.moved()
    with suppress(OSError):
        sink.end_writing()


def _right_name(data: bytes, authority: Authority) -> Parsed[Host] | Wanting | Refused:
    """The server name, if it is that of the tunnel; its bytes stay where they are, for the server to read."""
    found = parse_server_name(data)
    if not isinstance(found, Parsed):
        return found
    if found.value != authority.host:
        return Refused("name_mismatch", f"TLS names {found.value.text} instead", authority.text)
    return Parsed(found.value, 0)
