"""Retry failed requests, but only before the first piece of an answer; every wait is recorded.

Each wait is emitted as an event of the stream, so that it appears in the log.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

import msgspec

from skills_runtime.errors import ModelError
from skills_runtime.ports import ChatRequest, ChatStreamEvent

MAX_RETRY_AFTER_SECONDS = 120.0
"""Longest `Retry-After` that is honored; with a longer one the error is reported at once."""


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and with which delays to retry."""

    max_retries: int = 3
    base_delay_sec: float = 0.5
    cap_delay_sec: float = 8.0
    jitter_ratio: float = 0.1

    def delay(self, attempt: int, retry_after_sec: float | None, jitter: float) -> float | None:
        """Return the seconds to wait before attempt `attempt + 1`, or `None` to give up; `jitter` is in [0, 1)."""
        if attempt > self.max_retries:
            return None
        if retry_after_sec is not None:
            return retry_after_sec if retry_after_sec <= MAX_RETRY_AFTER_SECONDS else None
        delay = min(self.cap_delay_sec, self.base_delay_sec * 2 ** (attempt - 1))
        return delay * (1 + self.jitter_ratio * jitter)


class StreamingBackend(Protocol):
    """A backend whose stream can be closed early."""

    def stream_chat(self, request: ChatRequest) -> AsyncGenerator[ChatStreamEvent]:
        """Stream one answer."""
        ...


def _random_jitter() -> float:
    import random

    return random.random()


class RetryingBackend:
    """Backend that retries transient failures as long as nothing was answered yet."""

    def __init__(
        self,
        backend: StreamingBackend,
        policy: RetryPolicy,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        self._backend = backend
        self._policy = policy
        self._sleep = sleep
        self._jitter = jitter or _random_jitter

    async def stream_chat(self, request: ChatRequest) -> AsyncGenerator[ChatStreamEvent]:
        """Stream one answer, emitting an event before every wait."""
        attempt = 0
        while True:
            attempt += 1
            has_started = False
            try:
                async with aclosing(self._backend.stream_chat(request)) as stream:
                    async for event in stream:
                        has_started = True
                        yield event
            except ModelError as error:
                delay = self._policy.delay(attempt, error.retry_after_sec, self._jitter()) if error.retryable else None
                if has_started or delay is None:
                    raise
                yield _retry_event(error, attempt, self._policy.max_retries, delay)
                await self._sleep(delay)
            else:
                return

    async def aclose(self) -> None:
        """Close the connections of the wrapped backend."""
        close: Callable[[], Awaitable[None]] | None = getattr(self._backend, "aclose", None)
        if close is not None:
            await close()


def _retry_event(error: ModelError, attempt: int, max_retries: int, delay: float) -> ChatStreamEvent:
    retry_after_sec = error.retry_after_sec
    return ChatStreamEvent(
        type="retry_scheduled",
        retry={
            "error_kind": error.kind,
            "message": error.message,
            "attempt": attempt,
            "max_retries": max_retries,
            "delay_ms": round(delay * 1000),
            "retry_after_ms": None if retry_after_sec is None else round(retry_after_sec * 1000),
        },
    )
