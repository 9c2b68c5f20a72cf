"""Output is written in order by a thread of its own, so that whoever does not read holds up nothing but the output."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from skills_runtime.cli.sandbox_exec import MAX_PENDING_BYTES, OutputWriter

BLOCK = b"x" * 65536


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        with suppress(OSError):
            os.close(descriptor)


def outlet(writer: int, stop: asyncio.Event, allowed: int | None = None) -> OutputWriter:
    return OutputWriter(allowed, on_failure=stop.set, fds={"stdout": writer, "stderr": writer})


async def test_pieces_of_both_streams_keep_their_order(pipe: tuple[int, int]) -> None:
    stop = asyncio.Event()
    out = outlet(pipe[1], stop)
    for number in range(100):
        out.write("stdout" if number % 2 else "stderr", b"%d " % number)
    await out.finish(stop)
    assert os.read(pipe[0], 4096).split() == [b"%d" % number for number in range(100)]


async def test_no_more_is_written_than_is_allowed(pipe: tuple[int, int]) -> None:
    stop = asyncio.Event()
    out = outlet(pipe[1], stop, allowed=5)
    out.write("stdout", b"abc")
    out.write("stderr", b"defg")
    out.write("stdout", b"h")
    await out.finish(stop)
    assert os.read(pipe[0], 100) == b"abcde"


async def test_while_nothing_reads_there_is_no_room_and_then_there_is(pipe: tuple[int, int]) -> None:
    stop = asyncio.Event()
    out = outlet(pipe[1], stop)
    written = 0
    while out.has_room.is_set() and written < 8 * MAX_PENDING_BYTES:
        out.write("stdout", BLOCK)
        written += len(BLOCK)
    assert not out.has_room.is_set()
    got = await asyncio.to_thread(_read, pipe[0], written)
    await out.finish(stop)
    assert (got, out.has_room.is_set()) == (written, True)


async def test_a_descriptor_that_never_blocks_gets_everything(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    stop = asyncio.Event()
    out = outlet(pipe[1], stop)
    for _ in range(10):
        out.write("stdout", BLOCK)
    assert await asyncio.to_thread(_read, pipe[0], 10 * len(BLOCK)) == 10 * len(BLOCK)
    await out.finish(stop)
    out.check()


async def test_a_reader_that_is_gone_stops_the_command_and_is_reported(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    stop = asyncio.Event()
    out = outlet(pipe[1], stop)
    out.write("stdout", b"x")
    await stop.wait()
    with pytest.raises(BrokenPipeError):
        out.check()
    with pytest.raises(BrokenPipeError):
        out.write("stdout", b"y")


async def test_a_stopped_command_waits_for_no_reader(pipe: tuple[int, int]) -> None:
    stop = asyncio.Event()
    out = outlet(pipe[1], stop)
    for _ in range(4):
        out.write("stdout", BLOCK)
    stop.set()
    await asyncio.wait_for(out.finish(stop), 30)
    await asyncio.to_thread(_read, pipe[0], 4 * len(BLOCK))


def _read(descriptor: int, size: int) -> int:
    got = 0
    while got < size:
        got += len(os.read(descriptor, 1 << 20))
    return got
