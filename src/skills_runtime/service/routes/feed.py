"""The feed over HTTP: small messages that say which run, or which inbox, is worth another look."""

import asyncio
from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from skills_runtime.service.responses import EVERYWHERE, failures
from skills_runtime.service.sse import HEADERS, RETRY, SLOW_SECONDS
from skills_runtime.service.state import runs_of
from skills_runtime.service.streams.feed import Feed, Reader

router = APIRouter(prefix="/api/v1/feed", tags=["events"])


class FeedStream(Response):
    """Sends what a reader gets, until the client leaves, is too slow, or the service stops."""

    def __init__(self, feed: Feed, reader: Reader, headers: Mapping[str, str] = HEADERS) -> None:
        super().__init__(headers=dict(headers))
        del self.headers["content-length"]
        self._feed = feed
        self._reader = reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client."""
        del scope
        runs = asyncio.create_task(self._send(send))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({runs, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._feed.leave(self._reader)
            for task in (runs, gone):
                task.cancel()
            await asyncio.wait({runs, gone})

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await _pass_on(send, RETRY)
        while (data := await self._reader.waiting.get()) is not None:
            await _pass_on(send, data)
        await _pass_on(send, b"", more=False)


@router.get(
    "",
    responses={
        200: {"description": "What changed, as it changes.", "content": {"text/event-stream": {}}},
        **failures(*EVERYWHERE),
    },
    response_class=FeedStream,
)
async def follow_feed(request: Request) -> Response:
    """Follow all runs of the workspace: each message names one that changed, and nothing is told twice."""
    state = request.app.state
    if not hasattr(state, "feed"):
        parts = getattr(state, "parts", None)
        state.feed = Feed(runs_of(request), parts.stopping.is_set if parts else bool)
    feed: Feed = state.feed
    return FeedStream(feed, feed.listen())


async def _pass_on(send: Send, data: bytes, *, more: bool = True) -> None:
    body: Message = {"type": "http.response.body", "body": data, "more_body": more}
    async with asyncio.timeout(SLOW_SECONDS):
        await send(body)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
