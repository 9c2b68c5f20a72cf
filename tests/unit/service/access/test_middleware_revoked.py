"""A key that is revoked while its owner listens."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from skills_runtime.clock import SystemClock
from skills_runtime.service.access.keys import KeyFile
from skills_runtime.service.access.limits import RateLimiter
from skills_runtime.service.access.middleware import CHECK_SECONDS, AccessMiddleware
from skills_runtime.service.access.request_authorizer import RequestAuthorizer

PATIENCE_SECONDS = 60


class Stream:
    """An app that says a word whenever it is asked to, until its client is gone."""

    def __init__(self, media_type: bytes) -> None:
        self._media_type = media_type
        self.words: asyncio.Queue[bytes] = asyncio.Queue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", self._media_type)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        task = asyncio.ensure_future(receive())
        while not task.done():
            word = asyncio.create_task(self.words.get())
            await asyncio.wait({word, task}, return_when=asyncio.FIRST_COMPLETED)
            if word.done():
                await send({"type": "http.response.body", "body": word.result(), "more_body": True})
            word.cancel()


async def _never() -> Message:
    """Wait for a client that says nothing."""
    await asyncio.Event().wait()
    raise AssertionError


class Listener:
    """One request for a stream, behind the real gate, with a clock that the test moves."""

    def __init__(self, state: Path, media_type: bytes = b"text/event-stream; charset=utf-8") -> None:
        self.now = 0.0
        self.keys = KeyFile(state, SystemClock().now)
        _, self._secret = self.keys.create("mine", ["read"])
        self._app = Stream(media_type)
        self._heard: asyncio.Queue[Message] = asyncio.Queue()
        rate = RateLimiter(per_second=1e6, burst=1000, monotonic=lambda: self.now)
        gate = RequestAuthorizer(allowed_hosts=(), token="t" * 43, find_key=self.keys.find)
        self._gated = AccessMiddleware(
            self._app, authorizer=gate, rate=rate, failures=rate, routes=list, monotonic=lambda: self.now
        )

    async def listen(self) -> None:
        headers = [(b"host", b"127.0.0.1:8000"), (b"authorization", f"Bearer {self._secret}".encode())]
        scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/api/v1/feed", "query_string": b""}
        scope |= {"headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000)}
        await self._gated(scope, _never, self._heard.put)

    async def hear(self, word: bytes) -> Message:
        """What the client gets when the app says this."""
        self._app.words.put_nowait(word)
        while True:
            message = await asyncio.wait_for(self._heard.get(), PATIENCE_SECONDS)
            if message["type"] == "http.response.body":
                return message


async def test_a_stream_ends_when_its_key_is_revoked(tmp_path: Path) -> None:
    listener = Listener(tmp_path)
    serving = asyncio.create_task(listener.listen())
    assert (await listener.hear(b"one"))["body"] == b"one"
    listener.keys.revoke("mine")
    listener.now += CHECK_SECONDS
    last = await listener.hear(b"two")
    assert (last["body"], last["more_body"]) == (b"", False)
    await asyncio.wait_for(serving, PATIENCE_SECONDS)


async def test_a_stream_continues_while_its_key_is_valid(tmp_path: Path) -> None:
    listener = Listener(tmp_path)
    serving = asyncio.create_task(listener.listen())
    for word in (b"one", b"two", b"three"):
        listener.now += CHECK_SECONDS
        assert (await listener.hear(word))["body"] == word
    serving.cancel()


@pytest.mark.parametrize("media_type", [b"application/octet-stream", b"application/json"])
async def test_what_ends_by_itself_is_not_cut_in_the_middle(tmp_path: Path, media_type: bytes) -> None:
    listener = Listener(tmp_path, media_type)
    serving = asyncio.create_task(listener.listen())
    assert (await listener.hear(b"one"))["body"] == b"one"
    listener.keys.revoke("mine")
    listener.now += CHECK_SECONDS
    assert (await listener.hear(b"two"))["body"] == b"two"
    serving.cancel()
