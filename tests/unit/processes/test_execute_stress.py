"""Many at once, over and over: nothing lost, nothing mixed up."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from skills_runtime.processes import Finished, Limits, execute
from tests.unit.processes.conftest import Tagged

T = TypeVar("T")


async def at_once(jobs: list[Callable[[], Awaitable[T]]], *, width: int) -> list[T]:
    slots = asyncio.Semaphore(width)

    async def one(job: Callable[[], Awaitable[T]]) -> T:
        async with slots:
            return await job()

    return list(await asyncio.gather(*map(one, jobs)))


async def test_two_hundred_runs_lose_nothing(command: Tagged) -> None:
    whole = b"".join(b"%d\n" % number for number in range(1, 9_001))

    async def count() -> Finished:
        return await execute(command("seq", "1", "9000"), Limits(60))

    for finished in await at_once([count] * 200, width=16):
        assert (finished.exit_code, finished.ended_by) == (0, "exit")
        assert finished.stdout.head + finished.stdout.tail == whole


async def test_runs_at_the_same_time_keep_their_own_output_and_status(command: Tagged) -> None:
    def job(number: int) -> Callable[[], Awaitable[Finished]]:
        script = f"cat; echo err {number} >&2; exit {number % 256}"
        return lambda: execute(command.shell(script, stdin=b"%d " % number * 20_000), Limits(60))

    results = await at_once([job(number) for number in range(100)], width=16)
    for number, finished in enumerate(results):
        assert finished.exit_code == number % 256
        assert finished.stdout.sha256 == hashlib.sha256(b"%d " % number * 20_000).hexdigest()
        assert finished.stderr.text() == f"err {number}\n"


async def test_ends_of_all_kinds_at_the_same_time_do_not_disturb_each_other(command: Tagged) -> None:
    kinds: list[tuple[str, Limits, str]] = [
        ("exit 3", Limits(60), "exit"),
        ("setsid -f sleep 1000; exit 3", Limits(60), "exit"),
        ("trap 'exit 3' TERM; while :; do sleep 0.02; done", Limits(1.5), "timeout"),
        ("trap 'exit 3' TERM; while :; do echo 12345678; done", Limits(60, total_bytes=200_000), "output_limit"),
    ]

    def job(script: str, limits: Limits) -> Callable[[], Awaitable[Finished]]:
        return lambda: execute(command.shell(script), limits)

    results = await at_once([job(script, limits) for script, limits, _ in kinds * 8], width=8)
    expected = [(ended_by, 3) for _, _, ended_by in kinds * 8]
    assert [(finished.ended_by, finished.exit_code) for finished in results] == expected


async def test_a_hundred_daemons_at_once_are_all_ended(command: Tagged) -> None:
    async def daemon() -> Finished:
        return await execute(command.shell("setsid -f sleep 1000; setsid -f sleep 1000; echo ok"), Limits(60))

    results = await at_once([daemon] * 50, width=16)
    assert {finished.stdout.text() for finished in results} == {"ok\n"}
    assert command.alive() == []


async def test_more_commands_than_supervisors_are_kept_start_at_once(command: Tagged) -> None:
    async def together() -> Finished:
        script = "echo x >> here; until [ $(wc -l < here) -ge 40 ]; do sleep 0.02; done"
        return await execute(command.shell(script), Limits(60))

    results = await asyncio.gather(*(together() for _ in range(40)))
    assert {(finished.exit_code, finished.ended_by) for finished in results} == {(0, "exit")}
