"""Where a command is stopped, and what is kept of it then."""

import asyncio
import hashlib
import signal

import pytest

from skills_runtime.processes import Limits, Stream, execute
from tests.unit.processes.conftest import Tagged, resident

MEBIBYTE = 1 << 20


async def test_a_command_that_takes_too_long_is_ended(command: Tagged) -> None:
    finished = await execute(command.shell("echo before; sleep 1000"), Limits(1))
    assert (finished.ended_by, finished.exit_code, finished.signal) == ("timeout", None, signal.SIGTERM)
    assert finished.stdout.text() == "before\n"
    assert 1_000 <= finished.duration_ms < 10_000


async def test_a_command_may_clean_up_when_its_time_is_over(command: Tagged) -> None:
    script = "trap 'echo cleaned; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    finished = await execute(command.shell(script), Limits(1))
    assert (finished.ended_by, finished.exit_code) == ("timeout", 9)
    assert finished.stdout.text() == "ready\ncleaned\n"


async def test_a_command_that_ignores_being_asked_is_killed_after_the_grace(command: Tagged) -> None:
    script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    finished = await execute(command.shell(script), Limits(1, grace_seconds=0.2))
    assert (finished.ended_by, finished.signal) == ("timeout", signal.SIGKILL)
    assert 1_200 <= finished.duration_ms < 10_000


async def test_what_is_started_when_the_time_is_over_is_asked_to_end_as_well(command: Tagged) -> None:
    script = "trap 'sleep 1000 & exit 9' TERM; while :; do sleep 0.02; done"
    finished = await execute(command.shell(script), Limits(1, grace_seconds=15))
    assert (finished.ended_by, finished.exit_code) == ("timeout", 9)
    assert finished.duration_ms < 10_000


async def test_a_stopped_command_is_ended_too(command: Tagged) -> None:
    finished = await execute(command.shell("kill -STOP $$"), Limits(0.2, grace_seconds=20))
    assert (finished.ended_by, finished.signal) == ("timeout", signal.SIGTERM)


async def test_the_time_also_ends_a_command_that_does_not_read_its_input(command: Tagged) -> None:
    finished = await execute(command("sleep", "1000", stdin=bytes(5 * MEBIBYTE)), Limits(0.2))
    assert (finished.ended_by, finished.signal) == ("timeout", signal.SIGTERM)


async def test_the_time_also_ends_a_command_that_writes_without_end(command: Tagged) -> None:
    finished = await execute(command("yes"), Limits(1))
    assert (finished.ended_by, finished.signal) == ("timeout", signal.SIGTERM)
    assert finished.stdout.head.startswith(b"y\ny\n")


async def test_no_time_limit_means_none(command: Tagged) -> None:
    finished = await execute(command("sleep", "0.3"), Limits(None))
    assert (finished.ended_by, finished.exit_code) == ("exit", 0)


async def test_what_is_kept_of_long_output_is_exact(command: Tagged) -> None:
    whole = b"".join(b"%d\n" % number for number in range(1, 200_001))
    finished = await execute(command("seq", "1", "200000"), Limits(20, output_bytes=10_000))
    assert (finished.stdout.head, finished.stdout.tail) == (whole[:5_000], whole[-5_000:])
    assert (finished.stdout.total, finished.stdout.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())
    assert finished.ended_by == "exit"


async def test_each_stream_has_a_limit_of_its_own(command: Tagged) -> None:
    finished = await execute(command.shell("seq 1 9000; echo short >&2"), Limits(20, output_bytes=100))
    assert finished.stdout.left_out > 0
    assert finished.stderr.text() == "short\n"


async def test_a_command_that_writes_more_than_it_may_in_total_is_ended(command: Tagged) -> None:
    finished = await execute(command.shell("yes | tee /dev/stderr"), Limits(20, output_bytes=100, total_bytes=MEBIBYTE))
    assert finished.ended_by == "output_limit"
    assert finished.stdout.total + finished.stderr.total > MEBIBYTE


async def test_a_command_that_writes_just_as_much_as_it_may_is_not_ended(command: Tagged) -> None:
    finished = await execute(command("head", "-c", "100000", "/dev/zero"), Limits(20, total_bytes=100_000))
    assert (finished.ended_by, finished.exit_code, finished.stdout.total) == ("exit", 0, 100_000)


async def test_memory_is_bounded_whatever_is_written(command: Tagged) -> None:
    await execute(command("true"), Limits(20))
    before, most, written = resident(), 0, 0

    def measure(_: Stream, data: bytes) -> None:
        nonlocal most, written
        written += len(data)
        most = max(most, resident())

    finished = await execute(command("head", "-c", "200000000", "/dev/zero"), Limits(60), on_output=measure)
    assert finished.stdout.total == written == 200_000_000
    assert most - before < 8 * MEBIBYTE


async def test_stopping_returns_what_was_written(command: Tagged) -> None:
    stop = asyncio.Event()
    finished = await execute(
        command.shell("echo ready; sleep 1000"), Limits(None), on_output=lambda _stream, _data: stop.set(), stop=stop
    )
    assert (finished.ended_by, finished.signal, finished.stdout.text()) == ("cancelled", signal.SIGTERM, "ready\n")


async def test_stopping_a_command_that_has_ended_changes_nothing(command: Tagged) -> None:
    stop = asyncio.Event()
    finished = await execute(command("true"), Limits(None), stop=stop)
    stop.set()
    assert finished.ended_by == "exit"


async def test_an_error_in_the_receiver_ends_the_command_and_reaches_the_caller(command: Tagged) -> None:
    def full(_stream: Stream, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        await execute(command.shell("echo ready; sleep 1000"), Limits(None), on_output=full)
    assert command.alive() == []
