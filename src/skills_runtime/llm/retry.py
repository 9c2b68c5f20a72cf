"""Trying again: before the first piece of an answer only, as long as the provider asks for, and never in secret.

Each wait is announced as an event of the stream, so that the log tells of it.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

import msgspec

from skills_runtime.errors import ModelError
from skills_runtime.ports import ChatRequest, ChatStreamEvent

MAX_RETRY_AFTER_SECONDS = 120.0
"""Seconds; a provider that wants more is taken at its word and the error is reported."""


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how soon."""

    max_retries: int = 3
    base_delay_sec: float = 0.5
    cap_delay_sec: float = 8.0
    jitter_ratio: float = 0.1

    def delay(self, attempt: int, retry_after_sec: float | None, jitter: float) -> float | None:
        """Seconds to wait before try `attempt + 1`, or None when it is not worth it; `luck` is in [0, 1)."""
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
    """A backend that asks again when the failure may pass and nothing was answered yet."""

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
        """Stream one answer, announcing every wait before it."""
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
        """Close the connections of the backend behind."""
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
