"""Trying again: announced, bounded, as the provider asks, and never once an answer has begun."""

import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.errors import ModelError
from skills_runtime.llm import OpenAIChatBackend, RetryingBackend, RetryPolicy
from skills_runtime.ports import ChatRequest, ChatStreamEvent
from tests.support import model_server
from tests.support.model_server import Answer, breaks_off, refuses, says

REQUEST = ChatRequest(model="m", messages=[{"role": "user", "content": "go"}])


class Patience:
    """Sleeps at once and remembers for how long."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def stream(*answers: Answer, patience: Patience | None = None, max_retries: int = 2) -> list[ChatStreamEvent]:
    with model_server.start(answers) as server:
        plain = OpenAIChatBackend(base_url=server.base_url, api_key="k", timeout_sec=10)
        sleep = (patience or Patience()).sleep
        backend = RetryingBackend(plain, RetryPolicy(max_retries=max_retries), sleep=sleep, jitter=lambda: 0.0)
        try:
            return [event async for event in backend.stream_chat(REQUEST)]
        finally:
            await backend.aclose()


def limited(**headers: str) -> Answer:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(({"error": {"message": "slow down", "type": "test", "code": None}},), status=429, headers=named)


async def test_a_failure_that_may_pass_is_tried_again_and_announced() -> None:
    events = await stream(refuses(500), refuses(503), says("Hello"))
    assert [event.type for event in events] == ["retry_scheduled", "retry_scheduled", "text_delta", "completed"]
    assert [(event.retry or {})["delay_ms"] for event in events[:2]] == [500, 1000]


async def test_the_provider_says_how_long_to_wait() -> None:
    patience = Patience()
    await stream(limited(retry_after="7"), says("Hello"), patience=patience)
    assert patience.waits == [7.0]


async def test_the_provider_may_name_a_moment_instead() -> None:
    patience = Patience()
    soon = formatdate(time.time() + 60, usegmt=True)
    await stream(limited(retry_after=soon), says("Hello"), patience=patience)
    (wait,) = patience.waits
    assert 50 <= wait <= 61  # the service's own `Date` is the moment it counts from


async def test_a_provider_that_wants_too_much_is_not_waited_for() -> None:
    with pytest.raises(ModelError) as caught:
        await stream(limited(retry_after="3600"), says("Hello"))
    assert caught.value.kind == "rate_limited"


async def test_an_invalid_retry_after_is_ignored() -> None:
    patience = Patience()
    await stream(limited(retry_after="soon"), says("Hello"), patience=patience)
    assert patience.waits == [0.5]


async def test_tries_are_bounded() -> None:
    with pytest.raises(ModelError) as caught:
        await stream(refuses(500), refuses(500), refuses(500), max_retries=2)
    assert caught.value.kind == "server_error"


async def test_a_refused_key_is_not_tried_again() -> None:
    patience = Patience()
    with pytest.raises(ModelError):
        await stream(refuses(401), says("Hello"), patience=patience)
    assert patience.waits == []


async def test_an_answer_that_has_started_is_never_restarted() -> None:
    patience = Patience()
    with pytest.raises(ModelError):
        await stream(breaks_off("Hal"), says("Hello"), patience=patience)
    assert patience.waits == []


@given(st.integers(1, 50), st.floats(0, 1, exclude_max=True))
def test_a_delay_never_exceeds_its_cap_by_more_than_the_jitter(attempt: int, luck: float) -> None:
    policy = RetryPolicy(max_retries=100)
    delay = policy.delay(attempt, None, luck)
    assert delay is not None
    assert 0 < delay <= policy.cap_delay_sec * (1 + policy.jitter_ratio)


def test_an_explicit_zero_is_zero() -> None:
    assert RetryPolicy(base_delay_sec=0, jitter_ratio=0).delay(1, None, 0.5) == 0
