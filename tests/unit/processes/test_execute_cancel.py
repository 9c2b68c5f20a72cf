"""Cancelling a call ends everything first, whenever it comes."""

import asyncio
import random

import pytest

from skills_runtime.processes import Limits, Stream, execute
from tests.unit.processes.conftest import Tagged, resident


class Call:
    """An execution in a task, whose first output can be waited for."""

    def __init__(self, command: Tagged, script: str, limits: Limits) -> None:
        self._spoken = asyncio.Event()
        self._received = b""
        self.task = asyncio.create_task(execute(command.shell(script), limits, on_output=self._hear))

    def _hear(self, _stream: Stream, data: bytes) -> None:
        self._received += data
        self._spoken.set()

    async def until(self, text: bytes) -> None:
        async with asyncio.timeout(10):
            while text not in self._received:
                self._spoken.clear()
                await self._spoken.wait()


async def test_a_cancelled_call_ends_the_tree_before_it_returns(command: Tagged) -> None:
    call = Call(command, "setsid -f sleep 1000; sleep 1000 & echo ready; sleep 1000", Limits(None))
    await call.until(b"ready")
    async with asyncio.timeout(20):
        while len(command.alive()) < 3:  # one that has just been forked may not have its program yet
            await asyncio.sleep(0.01)
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.task
    assert command.alive() == []


async def test_a_cancelled_call_gives_its_command_time_to_clean_up(command: Tagged) -> None:
    script = "trap 'echo cleaned > note; exit' TERM; echo ready; while :; do sleep 0.02; done"
    call = Call(command, script, Limits(None))
    await call.until(b"ready")
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.task
    assert (command.cwd / "note").read_text() == "cleaned\n"


async def test_cancelling_again_takes_away_the_grace(command: Tagged) -> None:
    script = "trap 'echo asked >&2' TERM; echo ready; while :; do sleep 0.02; done"
    call = Call(command, script, Limits(None, grace_seconds=1000))
    await call.until(b"ready")
    call.task.cancel()
    await asyncio.wait([call.task], timeout=0.1)
    assert not call.task.done()
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call.task, 10)
    assert command.alive() == []


async def test_a_timeout_of_the_caller_ends_the_tree(command: Tagged) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await execute(command.shell("trap '' TERM; sleep 1000"), Limits(None, grace_seconds=0.1))
    assert command.alive() == []


async def test_a_command_that_writes_without_end_is_cancelled(command: Tagged) -> None:
    call = Call(command, "trap '' TERM; yes", Limits(None, grace_seconds=0.2))
    await call.until(b"y\n")
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.task
    assert command.alive() == []


async def test_what_is_written_after_cancelling_takes_no_memory(command: Tagged) -> None:
    call = Call(command, "trap '' TERM; echo ready; sleep 0.1; exec yes", Limits(None, grace_seconds=0.5))
    await call.until(b"ready")
    before = resident()
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.task
    assert resident() - before < 8 << 20


async def test_cancelling_while_the_program_is_already_gone_waits_for_the_rest(command: Tagged) -> None:
    script = "setsid -f sh -c \"trap '' TERM; touch up; sleep 1000\"; until [ -e up ]; do sleep 0.01; done; echo ready"
    call = Call(command, script, Limits(None, grace_seconds=0.3))
    await call.until(b"ready")
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.task
    assert command.alive() == []


@pytest.mark.parametrize("seed", range(4))
async def test_cancelling_at_any_moment_leaves_nothing(command: Tagged, seed: int) -> None:
    moments = random.Random(seed)
    loop = asyncio.get_running_loop()
    script = "setsid -f sleep 1000; (sleep 1000 &); head -c 100000 /dev/zero; sleep 1000"
    for _ in range(20):
        task = asyncio.create_task(
            execute(command.shell(script, stdin=bytes(200_000)), Limits(None, grace_seconds=moments.choice((0, 0.5))))
        )
        loop.call_later(moments.uniform(0, 0.02), task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert command.alive() == []


async def test_a_call_cancelled_before_it_began_starts_nothing(command: Tagged) -> None:
    task = asyncio.create_task(execute(command.shell("echo > started"), Limits(None)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (command.cwd / "started").exists()
