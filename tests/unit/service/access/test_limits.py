"""How much is taken from a client: how often, how long, how slowly."""

import asyncio
from typing import Any

from skills_runtime.service.access.callers import ANONYMOUS, Caller
from skills_runtime.service.access.limits import MAX_CALLERS, BodyLimit, ByteBudget, RateLimiter


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


def test_a_client_over_the_rate_limit_waits_until_there_is_room_again() -> None:
    clock = Clock()
    rate = RateLimiter(per_second=0.5, burst=2, monotonic=clock.monotonic)
    assert [rate.consume("a") for _ in range(3)] == [0, 0, 2]
    assert rate.consume("b") == 0
    clock.seconds = 2.0
    assert [rate.consume("a"), rate.consume("a")] == [0, 2]


def test_callers_without_number_are_forgotten() -> None:
    rate = RateLimiter(per_second=1, burst=1, monotonic=Clock().monotonic)
    rate.consume("first")
    for number in range(MAX_CALLERS):
        rate.consume(str(number))
    assert rate.consume("first") == 0


async def _answer(limit: int, pieces: list[bytes], length: bytes | None, *, seconds: float = 60.0) -> tuple[int, bytes]:
    """The status of a request whose body comes in pieces; where they end without an end nothing more comes."""
    sent: list[dict[str, Any]] = []
    waiting = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]

    async def receive() -> Any:
        if waiting:
            return waiting.pop(0)
        return await asyncio.Future()

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})

    headers = [(b"content-length", length)] if length is not None else []
    scope = {"type": "http", "path": "/api/x", "method": "POST", "headers": headers}
    if pieces and pieces[-1] == b"":
        waiting[-1]["more_body"] = False
    budget = ByteBudget(1000)
    await BodyLimit(app, max_bytes=limit, max_seconds=seconds, unauthenticated=budget)(scope, receive, send)
    assert budget.reserve(1000), "everything is given back"
    return sent[0]["status"], sent[1]["body"] if len(sent) > 1 else b""


async def test_a_body_of_just_the_longest_length_is_taken() -> None:
    assert (await _answer(4, [b"1234", b""], b"4"))[0] == 200


async def test_a_body_that_says_it_is_too_long_is_not_read() -> None:
    status, body = await _answer(4, [], b"5")
    assert (status, b'"code": "too_large"' in body) == (413, True)


async def test_a_body_that_becomes_too_long_is_refused() -> None:
    assert (await _answer(4, [b"123", b"45", b""], None))[0] == 413


async def test_a_length_that_is_no_number_is_refused() -> None:
    assert (await _answer(4, [], b"-1"))[0] == 413
    assert (await _answer(4, [], b"9" * 5000))[0] == 413


async def test_a_body_that_never_ends_is_given_up() -> None:
    assert (await _answer(4, [b"1"], b"4", seconds=0.01))[0] == 408


async def _held(caller: Caller, count: int) -> list[int]:
    """The statuses of requests of ten bytes each that are all under way at once, in a budget of twenty-five."""
    enough, statuses = asyncio.Event(), list[int]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await enough.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"1234567890", "more_body": False}

    async def send(message: Any) -> None:
        if "status" in message:
            statuses.append(message["status"])
            enough.set()

    limit = BodyLimit(app, max_bytes=10, max_seconds=60, unauthenticated=ByteBudget(25))
    scope: dict[str, Any] = {
        "type": "http",
        "path": "/api/x",
        "method": "POST",
        "headers": [],
        "state": {"caller": caller},
    }
    if caller.kind != "nobody":
        enough.set()
    await asyncio.gather(*(limit(scope, receive, send) for _ in range(count)))
    return sorted(statuses)


async def test_bodies_of_unknown_callers_are_bounded_together() -> None:
    assert await _held(ANONYMOUS, 4) == [200, 200, 429, 429]


async def test_bodies_of_known_callers_are_not_counted_together() -> None:
    caller = Caller(kind="token", name="owner")
    assert await _held(caller, 4) == [200] * 4
