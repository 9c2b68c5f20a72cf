import asyncio
import signal
from collections.abc import AsyncIterator

import pytest

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.processes import Sessions
from tests.unit.processes.conftest import Tagged


@pytest.fixture
async def sessions() -> AsyncIterator[Sessions]:
    registry = Sessions(count=3)
    yield registry
    await registry.close_all()


async def test_sessions_are_numbered_from_one(command: Tagged, sessions: Sessions) -> None:
    assert [await sessions.start(command("cat")) for _ in range(3)] == [1, 2, 3]
    assert sessions.numbers() == (1, 2, 3)


async def test_a_number_is_never_used_again(command: Tagged, sessions: Sessions) -> None:
    await sessions.close(await sessions.start(command("cat")))
    assert await sessions.start(command("cat")) == 2


async def test_a_session_is_found_by_its_number(command: Tagged, sessions: Sessions) -> None:
    number = await sessions.start(command("echo", "hello"))
    reading = await sessions.get(number).read(timeout_ms=10_000)
    assert reading.output.text() == "hello\r\n"


async def test_an_unknown_number_is_not_found(command: Tagged, sessions: Sessions) -> None:
    await sessions.start(command("cat"))
    with pytest.raises(NotFound, match="no session `7`") as error:
        sessions.get(7)
    assert error.value.hint == "open sessions: `1`"


async def test_a_closed_session_is_forgotten(command: Tagged, sessions: Sessions) -> None:
    number = await sessions.start(command("cat"))
    assert (await sessions.close(number)).signal == signal.SIGHUP
    with pytest.raises(NotFound):
        await sessions.close(number)


async def test_there_are_never_more_than_the_limit(command: Tagged, sessions: Sessions) -> None:
    starts = [sessions.start(command("cat")) for _ in range(5)]
    results = await asyncio.gather(*starts, return_exceptions=True)
    assert sum(isinstance(result, ValidationFailed) for result in results) == 2
    assert len(sessions.numbers()) == 3


async def test_a_start_that_fails_takes_no_room(command: Tagged, sessions: Sessions) -> None:
    for _ in range(4):
        with pytest.raises(NotFound):
            await sessions.start(command("foo-bar"))
    assert await sessions.start(command("cat")) == 1


async def test_a_session_that_has_ended_and_was_read_makes_room(command: Tagged, sessions: Sessions) -> None:
    for expected in range(1, 7):
        assert await sessions.start(command("echo", "done")) == expected
        assert not (await sessions.get(expected).read(timeout_ms=10_000)).status.running


async def test_a_session_with_unread_output_is_kept(command: Tagged, sessions: Sessions) -> None:
    numbers = [await sessions.start(command("echo", "done")) for _ in range(3)]
    with pytest.raises(ValidationFailed, match="3 sessions already"):
        await sessions.start(command("cat"))
    for number in numbers:
        assert (await sessions.get(number).read(timeout_ms=10_000)).output.text() == "done\r\n"
    assert await sessions.start(command("cat")) == 4


async def test_closing_all_ends_everything_at_the_same_time(command: Tagged, sessions: Sessions) -> None:
    for _ in range(3):
        number = await sessions.start(command.shell("trap '' HUP TERM; echo ready; sleep 1000"))
        await sessions.get(number).read(timeout_ms=10_000, until_idle_ms=0)
    loop = asyncio.get_running_loop()
    before = loop.time()
    await sessions.close_all()
    assert loop.time() - before < 5, "one grace, not three"
    assert sessions.numbers() == ()
    assert command.alive() == []
