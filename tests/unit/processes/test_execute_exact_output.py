"""Never a byte lost, never a wrong end: the same command many times, over pipes and over terminals."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from skills_runtime.processes import Finished, Limits, PtySession, execute
from tests.support.examples import examples
from tests.unit.processes.conftest import Tagged

T = TypeVar("T")

LINES = b"".join(b"%d\n" % number for number in range(1, 100_001))
DIGEST = hashlib.sha256(LINES).hexdigest()
ON_A_TERMINAL = hashlib.sha256(LINES.replace(b"\n", b"\r\n")).hexdigest()
TIMES = examples(500)
"""Over each of the two ways."""
WIDTH = 4
PATIENCE_MS = 60_000


async def times(number: int, job: Callable[[int], Awaitable[T]]) -> list[T]:
    """The results of a job done many times, a few at once."""
    slots = asyncio.Semaphore(WIDTH)

    async def one(turn: int) -> T:
        async with slots:
            return await job(turn)

    return list(await asyncio.gather(*map(one, range(number))))


async def test_no_byte_is_lost_over_pipes(command: Tagged) -> None:
    async def count(_: int) -> Finished:
        return await execute(command("seq", "1", "100000"), Limits(60, output_bytes=1024))

    ends = {(done.exit_code, done.stdout.total, done.stdout.sha256) for done in await times(TIMES, count)}
    assert ends == {(0, len(LINES), DIGEST)}


async def test_no_byte_is_lost_over_terminals(command: Tagged) -> None:
    async def count(_: int) -> tuple[int | None, str]:
        session = await PtySession.start(command("seq", "1", "100000"), output_bytes=1024)
        try:
            reading = await session.read(timeout_ms=PATIENCE_MS)
        finally:
            await session.close()
        return reading.status.exit_code, reading.output.sha256

    assert set(await times(TIMES, count)) == {(0, ON_A_TERMINAL)}


async def test_thirty_ends_on_terminals_are_reported_as_they_were(command: Tagged) -> None:
    async def leave(turn: int) -> int | None:
        session = await PtySession.start(command.shell(f"exit {turn}"))
        try:
            return (await session.read(timeout_ms=PATIENCE_MS)).status.exit_code
        finally:
            await session.close()

    assert await times(30, leave) == list(range(30))
