"""A log as server-sent events: replayed, then live, until the run ends or the client is too slow or disconnects."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from skills_runtime.errors import SkillsRuntimeError, ValidationFailed
from skills_runtime.service.streams import Listener

HEARTBEAT = b": alive\n\n"
"""A comment without an id, so that a reconnecting client continues after the last event."""
RETRY = b"retry: 1000\n\n"
SLOW_SECONDS = 30.0
"""Time limit for sending one piece; a slower client is disconnected and may reconnect."""
HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
}
_DIGITS = 15


def from_seq(after: int | None, last_event_id: str | None) -> int:
    """Return the first requested event; `Last-Event-ID` of a reconnecting browser wins over the query."""
    if last_event_id is None or not last_event_id.strip():
        return 0 if after is None else after + 1
    text = last_event_id.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise ValidationFailed("`Last-Event-ID` is not the number of an event", hint="send the last `id` you have seen")
    return int(text) + 1


def retry_response() -> Response:
    """Return a stream that ends at once: browsers reconnect after it, but not after an error."""
    return Response(RETRY, headers={**HEADERS, "connection": "close"})


class EventStream(Response):
    """Send what a listener receives; end when the client disconnects, the run ends or the service stops."""

    def __init__(self, listener: Listener, *, slow_seconds: float = SLOW_SECONDS) -> None:
        super().__init__(headers=dict(HEADERS))
        del self.headers["content-length"]
        self._listener = listener
        self._slow_seconds = slow_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client."""
        timeout = _SendTimeout(self._slow_seconds)
        work = asyncio.create_task(self._send(timeout.wrap(send)))
        disconnected = asyncio.create_task(wait_disconnected(receive))
        timeout.start(work)
        try:
            await asyncio.wait({work, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timeout.stop()
            for task in (work, disconnected):
                task.cancel()
            await asyncio.wait({work, disconnected})
            self._listener.close()
        if not work.cancelled():
            work.result()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": RETRY, "more_body": True})
        with suppress(SkillsRuntimeError, OSError):  # disconnect: the client gets the error when it reconnects
            while not self._listener.is_over:
                data = await self._listener.next()
                await send({"type": "http.response.body", "body": data or HEARTBEAT, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class _SendTimeout:
    """Cancel the response of a client that takes too long for one piece, with one timer for all pieces.

    A client that reads nothing fills only the buffers of its own connection until then.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def wrap(self, send: Send) -> Send:
        """Return a send function that records when a message started."""

        async def send_timed(message: Message) -> None:
            self._since = self._loop.time()
            await send(message)
            self._since = None

        return send_timed

    def start(self, work: "asyncio.Task[None]") -> None:
        """Check after a while, and cancel the work if one message takes too long."""
        remaining = self._seconds if self._since is None else self._since + self._seconds - self._loop.time()
        if remaining > 0:
            self._timer = self._loop.call_later(remaining, self.start, work)
        else:
            work.cancel()

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()


async def wait_disconnected(receive: Receive) -> None:
    """Return when the client has disconnected; the request body must have been read before."""
    while (await receive())["type"] != "http.disconnect":
        pass
