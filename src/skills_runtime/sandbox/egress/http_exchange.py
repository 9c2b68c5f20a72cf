"""Forward one request and its response, both serialized again from the parsed form."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from skills_runtime.sandbox.egress.authorizer import Flow
from skills_runtime.sandbox.egress.http_messages import (
    LAST_CHUNK,
    Framing,
    Request,
    Response,
    encode_chunk,
    parse_chunk_end,
    parse_chunk_size,
    parse_last_line,
    parse_response,
    render_request_head,
    render_response_head,
)
from skills_runtime.sandbox.egress.records import EgressLimits
from skills_runtime.sandbox.egress.rules import Incomplete, Parsed, Refused, Stopped
from skills_runtime.sandbox.egress.streams import MAX_READ_BYTES, IdleLimit, Peer

MAX_INTERIM = 8
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

Sink = Callable[[bytes], Awaitable[None]]


class Exchange:
    """Forwards one request and returns its response; the server connection is used once."""

    def __init__(self, client: Peer, server: Peer, request: Request, flow: Flow, limits: EgressLimits) -> None:
        self._client = client
        self._server = server
        self._request = request
        self._flow = flow
        self._limits = limits

    async def run(self) -> bool:
        """Return whether the client may send another request afterwards."""
        async with IdleLimit(self._limits.idle_seconds) as idle:
            await self._to_server(idle, render_request_head(self._request))
            upload = asyncio.create_task(self._upload(idle))
            download = asyncio.create_task(self._download(idle))
            try:
                await asyncio.wait({upload, download}, return_when=asyncio.FIRST_COMPLETED)
                if upload.done():
                    upload.result()  # an invalid body ends the exchange at once
                keep_alive = await download
                return keep_alive and upload.done() and upload.result()
            finally:
                upload.cancel()
                download.cancel()
                await asyncio.gather(upload, download, return_exceptions=True)

    async def _upload(self, idle: IdleLimit) -> bool:
        """Return whether the whole body went out; a server may answer without reading it."""
        framing = self._request.framing
        if framing.kind != "none" and self._request.headers.get("expect") and self._request.minor_version == 1:
            await self._client.send(CONTINUE)
        try:
            await copy_body(self._client, framing, partial(self._to_server, idle, chunked=framing.kind == "chunked"))
            if framing.kind == "chunked":
                await self._to_server(idle, LAST_CHUNK)
        except OSError:
            return False
        return True

    async def _download(self, idle: IdleLimit) -> bool:
        response = await self._response()
        chunked = response.framing.kind == "chunked" and self._request.minor_version == 1
        keep_alive = self._request.keeps_alive and response.framing.kind != "until_close"
        self._client.response_started = True
        await self._to_client(idle, render_response_head(response, self._request, keep_alive=keep_alive))
        await copy_body(self._server, response.framing, partial(self._to_client, idle, chunked=chunked))
        if chunked:
            await self._to_client(idle, LAST_CHUNK)
        self._client.response_started = False
        return keep_alive

    async def _response(self) -> Response:
        parse = partial(parse_response, limit=self._limits.head_bytes, method=self._request.method)
        try:
            for _ in range(MAX_INTERIM):
                response = await self._server.parse_next(parse, self._limits.idle_seconds)
                if response is None:
                    break
                if not response.is_interim:
                    return response
        except Stopped as stop:
            raise Stopped(Refused("unreachable", f"the answer cannot be used: {stop.refused.reason}")) from stop
        except OSError as error:
            raise Stopped(Refused("unreachable", "the server cut the connection")) from error
        raise Stopped(Refused("unreachable", "the server did not answer"))

    async def _to_server(self, idle: IdleLimit, data: bytes, *, chunked: bool = False) -> None:
        data = encode_chunk(data) if chunked else data
        self._flow.count_sent(len(data))
        idle.reset()
        await self._server.send(data)
        idle.reset()

    async def _to_client(self, idle: IdleLimit, data: bytes, *, chunked: bool = False) -> None:
        data = encode_chunk(data) if chunked else data
        self._flow.count_received(len(data))
        idle.reset()
        await self._client.send(data)
        idle.reset()


async def copy_body(source: Peer, framing: Framing, sink: Sink) -> None:
    """Copy a body from source to sink; only errors of the sink propagate unchanged."""
    match framing.kind:
        case "none":
            return
        case "length":
            await _copy(source, framing.length, sink)
        case "chunked":
            while size := await _expect(source, parse_chunk_size):
                await _copy(source, size, sink)
                await _expect(source, parse_chunk_end)
            await _expect(source, parse_last_line)
        case "until_close":
            while piece := await _read(source, MAX_READ_BYTES):
                await sink(piece)


async def _copy(source: Peer, count: int, sink: Sink) -> None:
    while count:
        piece = await _read(source, min(count, MAX_READ_BYTES))
        if not piece:
            raise Stopped(_CUT)
        count -= len(piece)
        await sink(piece)


async def _read(source: Peer, most: int) -> bytes:
    try:
        return await source.read(most)
    except OSError as error:
        raise Stopped(_CUT) from error


async def _expect(source: Peer, parse: Callable[[bytes], Parsed[int] | Incomplete | Refused]) -> int:
    try:
        value = await source.parse_next(parse)
    except OSError as error:
        raise Stopped(_CUT) from error
    if value is None:
        raise Stopped(_CUT)
    return value


_CUT = Refused("closed", "the connection was cut in the middle of a body")
