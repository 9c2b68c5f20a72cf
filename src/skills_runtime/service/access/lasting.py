"""Answers that last: a stream ends when whoever listens to it may not any more."""

import asyncio
from collections.abc import Callable

from starlette.types import Message, Receive, Send

LOOK_SECONDS = 2.0
"""How long a stream may go on after a key was revoked, at most; one that says nothing ends before its next word."""
STREAM = b"text/event-stream"


class Lasting:
    """The two ends of a connection, for as long as its caller is valid; only streams of events are looked after."""

    def __init__(
        self, receive: Receive, send: Send, *, valid: Callable[[], bool], monotonic: Callable[[], float]
    ) -> None:
        self._receive = receive
        self._send = send
        self._valid = valid
        self._monotonic = monotonic
        self._looked = monotonic()
        self._streams = False
        self._cut = asyncio.Event()

    async def send(self, message: Message) -> None:
        """Pass on a piece, or end the answer in its place."""
        if self._cut.is_set():
            return
        if message["type"] == "http.response.start":
            self._streams = any(
                name.lower() == b"content-type" and value.startswith(STREAM) for name, value in message["headers"]
            )
        elif self._streams and self._is_over():
            self._cut.set()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def receive(self) -> Message:
        """The next word of the client, who counts as gone when the answer was ended."""
        if not self._streams:
            return await self._receive()
        hearing, cut = asyncio.ensure_future(self._receive()), asyncio.ensure_future(self._cut.wait())
        try:
            await asyncio.wait({hearing, cut}, return_when=asyncio.FIRST_COMPLETED)
            return hearing.result() if hearing.done() else {"type": "http.disconnect"}
        finally:
            for task in (hearing, cut):
                task.cancel()

    def _is_over(self) -> bool:
        now = self._monotonic()
        if now - self._looked < LOOK_SECONDS:
            return False
        self._looked = now
        return not self._valid()
