"""A receiver without room holds up the command, and nothing else: neither the clock nor whoever stops it."""

import asyncio

import pytest

from skills_runtime.processes import Limits, Stream, execute
from skills_runtime.processes.execute import ThrottledOutput
from tests.unit.processes.conftest import Tagged

MEBIBYTE = 1 << 20


class Receiver:
    """Has room for one piece, and then none until somebody makes it."""

    def __init__(self) -> None:
        self.room = asyncio.Event()
        self.room.set()
        self.full = asyncio.Event()
        self.got = 0

    def write(self, stream: Stream, data: bytes) -> None:
        del stream
        self.got += len(data)
        self.room.clear()
        self.full.set()

    @property
    def outflow(self) -> ThrottledOutput:
        return ThrottledOutput(self.write, self.room)


async def test_the_clock_holds_while_there_is_no_room(command: Tagged) -> None:
    receiver = Receiver()
    limits = Limits(wall_seconds=0.5, grace_seconds=0.1)
    finished = await execute(command.shell("yes"), limits, on_output=receiver.outflow)
    assert finished.ended_by == "timeout"
    assert receiver.got < 4 * MEBIBYTE


async def test_a_command_is_stopped_while_there_is_no_room(command: Tagged) -> None:
    receiver, stop = Receiver(), asyncio.Event()
    limits = Limits(wall_seconds=60, grace_seconds=0.1)
    running = asyncio.ensure_future(execute(command.shell("yes"), limits, on_output=receiver.outflow, stop=stop))
    await receiver.full.wait()
    stop.set()
    assert (await running).ended_by == "cancelled"


@pytest.mark.parametrize("stream", ["", " >&2"])
async def test_nothing_is_lost_when_room_comes_later(stream: str, command: Tagged) -> None:
    receiver = Receiver()

    async def make_room() -> None:
        while True:
            await receiver.full.wait()
            receiver.full.clear()
            receiver.room.set()

    making = asyncio.ensure_future(make_room())
    try:
        line = f"head -c {3 * MEBIBYTE} /dev/zero{stream}"
        finished = await execute(command.shell(line), Limits(60), on_output=receiver.outflow)
    finally:
        making.cancel()
    assert (finished.exit_code, receiver.got) == (0, 3 * MEBIBYTE)
