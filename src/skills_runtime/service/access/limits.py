"""Limits for clients: size of requests, request rate, and time to send."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skills_runtime.service.access.callers import ANONYMOUS, Caller
from skills_runtime.service.problems import Problem, problem_response

MAX_CALLERS = 10_000
"""Maximum number of remembered callers; the least recent are forgotten."""


MAX_UNAUTHENTICATED_BYTES = 32 << 20
"""Total size of the bodies of unauthenticated requests in progress."""


class ByteBudget:
    """Bytes that several requests share; each releases its bytes when it is answered."""

    def __init__(self, size: int) -> None:
        self._available = size

    def reserve(self, count: int) -> bool:
        """Reserve bytes; return false if too few are available."""
        if count > self._available:
            return False
        self._available -= count
        return True

    def release(self, count: int) -> None:
        """Release reserved bytes."""
        self._available += count


class RateLimiter:
    """Token bucket for each caller."""

    def __init__(self, *, per_second: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._monotonic = monotonic
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def consume(self, caller: str) -> int:
        """Take a token; return the whole seconds to wait if none is left, or zero."""
        now = self._monotonic()
        tokens, refilled_at = self._buckets.get(caller, (self._burst, now))
        tokens = min(self._burst, tokens + (now - refilled_at) * self._per_second)
        allowed = tokens >= 1
        self._buckets[caller] = (tokens - 1 if allowed else tokens, now)
        self._buckets.move_to_end(caller)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1 - tokens) / self._per_second))


def too_many_requests(seconds: int, message: str = "too many requests") -> Problem:
    """Return the problem for exceeded rate limits."""
    headers = {"Retry-After": str(seconds)}
    return Problem(status=429, kind="too_many_requests", message=message, hint="try again later", headers=headers)


class _TooLong(Exception):
    """A body without a declared length has become too long."""


class _TooMuch(Exception):
    """Unauthenticated requests are too large in total."""


class _TooSlow(Exception):
    """A body did not arrive in time."""


class BodyLimit:
    """Refuse requests that are too long, before or while they are read, and those that never end."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_bytes: int,
        max_seconds: float,
        unauthenticated: ByteBudget,
        path_limits: Mapping[str, int] | None = None,
    ) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._max_seconds = max_seconds
        self._unauthenticated = unauthenticated
        self._path_limits = path_limits or {}
        """Higher limits for some paths, such as the import of archives."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request whose body is small enough."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        limit = max(self._max_bytes, self._path_limits.get(scope["path"], 0))
        if not length.isdigit() or int(length[:20]) > limit:
            await problem_response(scope["path"], _too_large(limit))(scope, receive, send)
            return
        caller: Caller = scope.get("state", {}).get("caller", ANONYMOUS)
        body = _LimitedBody(
            receive, limit, self._max_seconds, self._unauthenticated if caller.kind == "nobody" else None
        )
        response = _ResponseState(send)
        try:
            await self._app(scope, body.receive, response.send)
        except (_TooLong, _TooMuch, _TooSlow) as error:
            if response.started:
                raise
            await problem_response(scope["path"], self._problem(error, limit))(scope, receive, send)
        finally:
            body.give_back()

    def _problem(self, error: Exception, limit: int) -> Problem:
        if isinstance(error, _TooLong):
            return _too_large(limit)
        if isinstance(error, _TooMuch):
            refusal = too_many_requests(1, "too many unauthenticated requests are in progress")
            return msgspec.structs.replace(refusal, headers={**refusal.headers, "Connection": "close"})
        message = f"the request was not received within {self._max_seconds:g} seconds"
        return Problem(status=408, kind="timeout", message=message, headers={"Connection": "close"})


def _too_large(limit: int) -> Problem:
    message = f"the request is larger than {limit} bytes"
    return Problem(status=413, kind="too_large", message=message, headers={"Connection": "close"})


class _LimitedBody:
    """Count the received bytes; for an anonymous caller they are reserved from `shared`."""

    def __init__(self, receive: Receive, max_bytes: int, max_seconds: float, shared: ByteBudget | None) -> None:
        self._receive = receive
        self._left = max_bytes
        self._seconds = max_seconds
        self._shared = shared
        self._deadline = asyncio.get_running_loop().time() + max_seconds
        self._reserved = 0
        self._complete = False

    async def receive(self) -> Message:
        if self._complete:  # from here on only a disconnect can arrive
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise _TooSlow from None
        size = len(message.get("body", b""))
        if self._shared is not None and not self._shared.reserve(size):
            raise _TooMuch
        self._reserved += size
        if self._shared is None:  # an anonymous caller gets one deadline for the whole body, others one for each piece
            self._deadline = asyncio.get_running_loop().time() + self._seconds
        self._left -= size
        self._complete = not message.get("more_body", False)
        if self._left < 0:
            raise _TooLong
        return message

    def give_back(self) -> None:
        if self._shared is not None:
            self._shared.release(self._reserved)


class _ResponseState:
    """Remembers whether a response has started."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def send(self, message: Message) -> None:
        self.started = True
        await self._send(message)
