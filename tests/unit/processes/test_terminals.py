"""A program on a terminal: what it sees of it, and what is seen of its end."""

import asyncio
import hashlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.processes import Command, PtySession, Reading
from tests.unit.processes.conftest import Tagged

Start = Callable[..., Awaitable[PtySession]]
PROMPT = "ready> "
SHELL = ("bash", "--norc", "--noediting", "-i")


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts sessions that are closed after the test."""
    async with AsyncExitStack() as stack:

        async def open_session(command: Command, **options: object) -> PtySession:
            session = await PtySession.start(command, **options)  # pyright: ignore[reportArgumentType]
            stack.push_async_callback(session.close)
            return session

        yield open_session


async def until(session: PtySession, text: str) -> str:
    """What the session says up to and including a text."""
    said = ""
    while text not in said:
        reading = await session.read(timeout_ms=10_000, until_idle_ms=0)
        said += reading.output.text()
        assert text in said or (reading.status.running and reading.output.total), said
    return said


async def rest(session: PtySession) -> Reading:
    """Everything until the end."""
    reading = await session.read(timeout_ms=10_000)
    assert not reading.status.running
    return reading


async def test_the_streams_are_one_terminal(command: Tagged, start: Start) -> None:
    session = await start(command.shell("test -t 0 && test -t 1 && test -t 2 && tty"))
    reading = await rest(session)
    assert reading.output.text().startswith("/dev/pts/")
    assert reading.status.exit_code == 0


async def test_the_terminal_controls_the_program(command: Tagged, start: Start) -> None:
    session = await start(command.shell("echo seen > /dev/tty; cut -d' ' -f1,5,6,8 /proc/$$/stat"))
    first, numbers = (await rest(session)).output.text().split("\r\n")[:2]
    pid, group, sid, _ = numbers.split()
    assert first == "seen"
    assert pid == group == sid


async def test_programs_share_the_foreground_of_a_shell(command: Tagged, start: Start) -> None:
    session = await start(command(*SHELL))
    await session.write(b'cat /proc/self/stat; echo do""ne\n')
    _, _, after = (await until(session, "done")).partition("(cat) ")
    _state, _parent, group, _session, _terminal, foreground = after.split()[:6]
    assert group == foreground


async def test_what_is_typed_is_read_and_echoed(command: Tagged, start: Start) -> None:
    session = await start(command.shell('read -r line; echo "<$line>"'))
    assert await session.write(b"hello\n") == 6
    assert (await rest(session)).output.text() == "hello\r\n<hello>\r\n"


async def test_the_input_of_the_command_is_typed_first(command: Tagged, start: Start) -> None:
    session = await start(command("head", "-n", "1", stdin=b"first\n"))
    assert (await rest(session)).output.text() == "first\r\nfirst\r\n"


async def test_the_terminal_has_the_size_asked_for(command: Tagged, start: Start) -> None:
    assert (await rest(await start(command("stty", "size")))).output.text() == "24 80\r\n"
    assert (await rest(await start(command("stty", "size"), size=(50, 132)))).output.text() == "50 132\r\n"


async def test_resizing_tells_the_program(command: Tagged, start: Start) -> None:
    session = await start(command.shell("trap 'stty size' WINCH; echo ready; while :; do sleep 0.02; done"))
    await until(session, "ready")
    session.resize(40, 100)
    await until(session, "40 100\r\n")


@pytest.mark.parametrize("size", [(0, 80), (24, 0), (-1, 80), (24, 65_536)])
async def test_an_impossible_size_is_refused(command: Tagged, start: Start, size: tuple[int, int]) -> None:
    with pytest.raises(ValidationFailed, match="a terminal cannot have"):
        await start(command("true"), size=size)
    session = await start(command("cat"))
    with pytest.raises(ValidationFailed, match="a terminal cannot have"):
        session.resize(*size)


async def test_control_c_interrupts_the_foreground_and_not_the_shell(command: Tagged, start: Start) -> None:
    session = await start(command(*SHELL))
    await until(session, PROMPT)
    await session.write(b"sh -c 'echo be\"\"gun; exec sleep 1000'\n")  # says it only when it is in the foreground
    await until(session, "begun")
    await session.write(b"\x03")
    await until(session, PROMPT)
    await session.write(b"echo code $?\n")
    await until(session, "code 130")
    assert session.status.running


async def test_jobs_go_to_the_background_and_come_back(command: Tagged, start: Start) -> None:
    (command.cwd / "job").write_text("trap 'echo resumed' CONT; echo begun; while :; do sleep 0.02; done")
    session = await start(command(*SHELL))
    await until(session, PROMPT)
    await session.write(b"bash ./job\n")
    await until(session, "begun")
    await session.write(b"\x1a")
    assert "Stopped" in await until(session, PROMPT)
    await session.write(b"fg\n")
    await until(session, "resumed")
    await session.write(b"\x1a")
    assert "Stopped" in await until(session, PROMPT)
    await session.write(b"bg\n")
    await until(session, "resumed")
    await session.write(b"jobs; kill %1; wait %1; echo code $?\n")
    assert "Running" in await until(session, "code 143")


async def test_a_signal_goes_to_the_foreground(command: Tagged, start: Start) -> None:
    session = await start(command(*SHELL))
    await until(session, PROMPT)
    await session.write(b"(trap 'echo usr1; exit 4' USR1; echo be''gun; while :; do sleep 0.02; done); echo code $?\n")
    await until(session, "begun")
    session.signal(signal.SIGUSR1)
    assert "usr1\r\ncode 4\r\n" in await until(session, PROMPT)
    assert session.status.running


async def test_a_signal_to_a_session_that_has_ended_is_no_error(command: Tagged, start: Start) -> None:
    session = await start(command("true"))
    await rest(session)
    session.signal(signal.SIGKILL)
    session.resize(30, 30)
    assert await session.write(b"x") == 0


@pytest.mark.parametrize("code", [0, 1, 7, 255])
async def test_the_exit_code_is_exact(command: Tagged, start: Start, code: int) -> None:
    reading = await rest(await start(command.shell(f"exit {code}")))
    assert (reading.status.exit_code, reading.status.signal) == (code, None)


async def test_a_signal_that_ended_the_program_is_reported(command: Tagged, start: Start) -> None:
    session = await start(command("sleep", "1000"))
    session.signal(signal.SIGKILL)
    status = (await rest(session)).status
    assert (status.exit_code, status.signal) == (None, signal.SIGKILL)


async def test_a_program_that_has_ended_is_never_reported_to_run(command: Tagged, start: Start) -> None:
    for number in range(30):
        session = await start(command.shell(f"read -r _; exit {number}"))
        await session.write(b"\n")
        assert (await session.read(timeout_ms=10_000)).status.exit_code == number


async def test_the_last_output_is_never_lost(command: Tagged, start: Start) -> None:
    whole = "".join(f"{number}\r\n" for number in range(1, 2_001))

    async def count() -> str:
        return (await rest(await start(command("seq", "1", "2000")))).output.text()

    for _ in range(5):
        assert set(await asyncio.gather(*(count() for _ in range(8)))) == {whole}


async def test_output_that_was_not_read_in_time_can_be_read_later(command: Tagged, start: Start) -> None:
    session = await start(command("echo", "late"))
    said = ""
    async with asyncio.timeout(10):
        while True:
            reading = await session.read(timeout_ms=0)
            said += reading.output.text()
            if not reading.status.running:
                break
            await asyncio.sleep(0)
    assert said == "late\r\n"
    assert (await session.read(timeout_ms=0)).output.total == 0


async def test_output_of_a_session_without_a_reader_is_bounded(command: Tagged, start: Start) -> None:
    session = await start(command("seq", "1", "200000"), output_bytes=1_000)
    output = (await rest(session)).output
    assert output.head.startswith(b"1\r\n2\r\n")
    assert output.tail.endswith(b"\r\n199999\r\n200000\r\n")
    assert (len(output.head), len(output.tail)) == (500, 500)
    assert output.total == sum(len(str(number)) + 2 for number in range(1, 200_001))


async def test_reading_returns_when_the_output_pauses(command: Tagged, start: Start) -> None:
    session = await start(command.shell("echo one; sleep 1000"))
    reading = await session.read(timeout_ms=600_000, until_idle_ms=50)
    assert (reading.output.text(), reading.status.running) == ("one\r\n", True)


async def test_reading_returns_when_the_time_is_over(command: Tagged, start: Start) -> None:
    session = await start(command("sleep", "1000"))
    reading = await session.read(timeout_ms=50, until_idle_ms=10)
    assert (reading.output.total, reading.status.running) == (0, True)


async def test_a_program_that_closes_the_terminal_is_still_waited_for(command: Tagged, start: Start) -> None:
    session = await start(command.shell("echo bye; exec </dev/null >/dev/null 2>&1; sleep 0.1; exit 6"))
    reading = await rest(session)
    assert (reading.output.text(), reading.status.exit_code) == ("bye\r\n", 6)


async def test_a_program_can_come_back_to_its_terminal(command: Tagged, start: Start) -> None:
    session = await start(command.shell("exec <&- >&- 2>&-; sleep 0.1; echo again > /dev/tty"))
    assert (await rest(session)).output.text() == "again\r\n"


async def test_a_terminal_that_takes_no_more_blocks_no_other(command: Tagged, start: Start) -> None:
    blocked = await start(command.shell("stty raw -echo; echo ready; sleep 1000"))
    await until(blocked, "ready")
    writing = asyncio.create_task(blocked.write(bytes(1_000_000)))
    other = await start(command.shell('read -r line; echo "<$line>"'))
    await other.write(b"hello\n")
    assert "<hello>" in (await rest(other)).output.text()
    assert not writing.done()
    await blocked.close()
    assert await writing < 1_000_000


async def test_writing_gives_up_when_its_time_is_over(command: Tagged, start: Start) -> None:
    session = await start(command.shell("stty raw -echo; echo ready; sleep 1000"))
    await until(session, "ready")
    taken = await session.write(bytes(1_000_000), timeout_ms=50)
    assert 0 < taken < 1_000_000


async def test_a_program_that_reads_slowly_gets_every_byte(command: Tagged, start: Start) -> None:
    session = await start(command.shell("stty raw -echo; echo ready; head -c 300000 | sha256sum"))
    await until(session, "ready")
    data = bytes(range(256)) * 1_200
    assert await session.write(data[:300_000]) == 300_000
    assert hashlib.sha256(data[:300_000]).hexdigest() in (await rest(session)).output.text()


async def test_waiting_for_one_session_does_not_stall_another(command: Tagged, start: Start) -> None:
    silent = await start(command("sleep", "1000"))
    waiting = asyncio.create_task(silent.read(timeout_ms=600_000))
    for _ in range(5):
        assert (await rest(await start(command("echo", "quick")))).output.text() == "quick\r\n"
    assert not waiting.done()
    await silent.close()
    assert (await waiting).status.signal == signal.SIGHUP


async def test_closing_hangs_up(command: Tagged, start: Start) -> None:
    session = await start(command("sleep", "1000"))
    status = await session.close()
    assert (status.running, status.signal) == (False, signal.SIGHUP)
    assert await session.close() == status


async def test_closing_ends_everything_the_session_started(command: Tagged, start: Start) -> None:
    session = await start(command(*SHELL), grace_seconds=0.2)
    await session.write(b"setsid -f sleep 1000; nohup sleep 1000 & (trap '' HUP TERM; sleep 1000) & echo star''ted\n")
    await until(session, "started")
    await session.close()
    assert command.alive() == []


async def test_what_runs_in_the_background_ends_with_the_shell(command: Tagged, start: Start) -> None:
    session = await start(command(*SHELL))
    await session.write(b"setsid -f sleep 1000; nohup sleep 1000 & exit 5\n")
    assert (await rest(session)).status.exit_code == 5
    assert command.alive() == []


async def test_cancelling_a_close_still_ends_everything(command: Tagged, start: Start) -> None:
    session = await start(command.shell("trap '' HUP TERM; echo ready; sleep 1000"), grace_seconds=1000)
    await until(session, "ready")
    closing = asyncio.create_task(session.close())
    await asyncio.wait([closing], timeout=0.05)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert command.alive() == []


async def test_a_start_cancelled_at_any_moment_leaves_nothing(command: Tagged) -> None:
    loop = asyncio.get_running_loop()
    for tick in range(12):
        task = asyncio.create_task(PtySession.start(command("sleep", "1000")))
        loop.call_later(tick / 4_000, task.cancel)
        try:
            session = await task
        except asyncio.CancelledError:
            assert command.alive() == []
        else:
            await session.close()


async def test_an_unknown_program_is_not_found(command: Tagged, start: Start) -> None:
    with pytest.raises(NotFound, match="`foo-bar` is not a program on PATH"):
        await start(command("foo-bar"))


async def test_a_program_that_cannot_start_leaves_no_terminal(command: Tagged, start: Start) -> None:
    with pytest.raises(ValidationFailed, match="longer than the system accepts"):
        await start(command("echo", "x" * 1_000_000))


async def test_full_screen_programs_find_what_they_need(command: Tagged, start: Start) -> None:
    session = await start(command.shell("stty raw -echo; printf '\\033[6n'; head -c 6 | od -An -tx1; stty sane"))
    await until(session, "\x1b[6n")
    await session.write(b"\x1b[1;1R")
    assert "1b 5b 31 3b 31 52" in (await rest(session)).output.text()
