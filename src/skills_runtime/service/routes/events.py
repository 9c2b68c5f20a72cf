"""Events over HTTP: pages and streams of a run's events, and the feed of changes in the workspace."""

import asyncio
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from skills_runtime.service.responses import COMMON_STATUSES, failure_responses
from skills_runtime.service.run_documents import EventPage, RunId, studio_failures
from skills_runtime.service.state import runs_of, streams_of
from skills_runtime.service.streams import LogTail
from skills_runtime.service.streams.feed import Feed, Reader
from skills_runtime.service.streams.sse import (
    HEADERS,
    RETRY,
    SLOW_SECONDS,
    EventStream,
    from_seq,
    retry_response,
    wait_disconnected,
)

run_events = APIRouter(prefix="/api/v1/runs", tags=["events"])
feed = APIRouter(prefix="/api/v1/feed", tags=["events"])

PAGE_BYTES = 4 << 20
_STREAM = "text/event-stream"
AfterSeq = Annotated[int | None, Query(ge=-1, le=10**15 - 1, description="Only events after this number.")]
LastEventId = Annotated[str | None, Header(max_length=100, description="Sent by a browser when it reconnects.")]


@run_events.get(
    "/{run_id}/events",
    status_code=200,
    response_model=EventPage,
    responses={
        200: {
            "description": "A page, or a stream if the client accepts `text/event-stream`.",
            "content": {_STREAM: {}},
        },
        204: {"description": "The run has ended, and the client has seen all events."},
        **failure_responses(*COMMON_STATUSES, 404, 409),
    },
)
async def list_events(
    request: Request,
    run_id: RunId,
    after: AfterSeq = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    last_event_id: LastEventId = None,
) -> Response:
    """Return a page of events as stored in the log, or a stream if the client accepts `text/event-stream`."""
    if _STREAM in request.headers.get("accept", ""):
        return open_stream(request, run_id, from_seq(after, last_event_id))
    return await asyncio.to_thread(_page, request, run_id, 0 if after is None else after + 1, limit)


@run_events.get(
    "/{run_id}/events/stream",
    status_code=200,
    responses={
        200: {
            "description": "The events, one message each; `id` is the number of the event.",
            "content": {_STREAM: {}},
        },
        204: {"description": "The run has ended, and the client has seen all events."},
        **studio_failures(*COMMON_STATUSES, 404, 409),
    },
    response_class=EventStream,
)
async def stream_events(
    request: Request, run_id: RunId, after: AfterSeq = None, last_event_id: LastEventId = None
) -> Response:
    """Stream all events from a number on, existing and new ones, until the run ends."""
    return open_stream(request, run_id, from_seq(after, last_event_id))


def open_stream(request: Request, run_id: str, first: int) -> Response:
    """Return the stream of a run, or 204, which makes a browser stop reconnecting."""
    paths, streams = runs_of(request).find(run_id), streams_of(request)
    if streams.is_closed:
        return retry_response()
    listener = streams.listen(paths, from_seq=first)
    if listener.is_exhausted:
        listener.close()
        return Response(status_code=204)
    return EventStream(listener)


def _page(request: Request, run_id: str, first: int, limit: int) -> Response:
    tail = LogTail(runs_of(request).find(run_id), from_seq=first)
    try:
        page, ended = tail.read(PAGE_BYTES, max_frames=limit), tail.ended
    finally:
        tail.close()
    following = page[-1].seq if page else first - 1
    # Send the lines unchanged: re-encoding could break their authentication codes.
    body = b'{"events":[%b],"next_after":%d,"ended":%b}' % (
        b",".join(frame.line for frame in page),
        following,
        b"true" if ended else b"false",
    )
    return Response(body, media_type="application/json")


class FeedStream(Response):
    """Send the messages of a reader until the client disconnects, is too slow, or the service stops."""

    def __init__(self, feed: Feed, reader: Reader, headers: Mapping[str, str] = HEADERS) -> None:
        super().__init__(headers=dict(headers))
        del self.headers["content-length"]
        self._feed = feed
        self._reader = reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client."""
        del scope
        sending = asyncio.create_task(self._send(send))
        disconnected = asyncio.create_task(wait_disconnected(receive))
        try:
            await asyncio.wait({sending, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feed.leave(self._reader)
            for task in (sending, disconnected):
                task.cancel()
            await asyncio.wait({sending, disconnected})

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await _send_piece(send, RETRY)
        while (data := await self._reader.queue.get()) is not None:
            await _send_piece(send, data)
        await _send_piece(send, b"", more=False)


@feed.get(
    "",
    status_code=200,
    responses={
        200: {"description": "A stream of changes.", "content": {"text/event-stream": {}}},
        **failure_responses(*COMMON_STATUSES),
    },
    response_class=FeedStream,
)
async def follow_feed(request: Request) -> Response:
    """Stream changes of all runs in the workspace; each message names one changed run."""
    state = request.app.state
    if not hasattr(state, "feed"):
        service = getattr(state, "service", None)
        state.feed = Feed(runs_of(request), service.stopping.is_set if service else bool)
    feed: Feed = state.feed
    return FeedStream(feed, feed.listen())


async def _send_piece(send: Send, data: bytes, *, more: bool = True) -> None:
    body: Message = {"type": "http.response.body", "body": data, "more_body": more}
    async with asyncio.timeout(SLOW_SECONDS):
        await send(body)


router = APIRouter()
router.include_router(run_events)
router.include_router(feed)
