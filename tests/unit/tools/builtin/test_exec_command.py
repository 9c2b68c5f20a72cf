"""exec_command and write_stdin: a session is talked with, its end is told once, and it never outlives the work."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import NotFound, SandboxError, ToolError
from skills_runtime.ports import ToolResult
from skills_runtime.sandbox import UnavailableSandbox
from skills_runtime.tools.builtin import ExecCommand, WriteStdin
from skills_runtime.tools.exec_sessions import RunSessions
from tests.support.tools import Workshop, data_of
from tests.unit.tools.builtin.conftest import Tagging

PATIENCE_MS = 20_000


async def begin(workshop: Workshop, cmd: str, **more: Any) -> ToolResult:
    return await workshop.call(ExecCommand(), **{"cmd": cmd, "yield_time_ms": 0, **more})


async def to_the_end(workshop: Workshop, cmd: str, **more: Any) -> ToolResult:
    return await begin(workshop, cmd, yield_time_ms=PATIENCE_MS, **more)


async def say(workshop: Workshop, number: int, chars: str, **more: Any) -> ToolResult:
    return await workshop.call(WriteStdin(), **{"session_id": number, "chars": chars, "yield_time_ms": 0, **more})


async def until(workshop: Workshop, number: int, text: str, *, after: ToolResult) -> str:
    """What the session says up to a text, which may have come already."""
    said = after.stdout
    async with asyncio.timeout(20):
        while text not in said:
            said += (await say(workshop, number, "", yield_time_ms=20)).stdout
    return said


def state(result: ToolResult) -> tuple[int | None, bool]:
    return data_of(result)["session_id"], data_of(result)["running"]


async def test_a_command_that_ends_in_time_needs_no_session(running: Workshop) -> None:
    result = await to_the_end(running, "test -t 0 && test -t 1 && echo on a terminal")
    assert (result.ok, result.stdout, result.exit_code) == (True, "on a terminal\r\n", 0)
    assert state(result) == (None, False)
    assert data_of(result)["sandbox"]["effective"] == "none"


async def test_an_exit_code_is_reported(running: Workshop) -> None:
    result = await to_the_end(running, "echo no; exit 4")
    assert (result.ok, result.exit_code, result.error_kind, result.stdout) == (False, 4, "exit_code", "no\r\n")


async def test_a_session_is_talked_with(running: Workshop) -> None:
    begun = await begin(running, 'read -r name; echo "hello, $name"; read -r more; exit 7')
    assert (begun.ok, begun.exit_code, state(begun)) == (True, None, (1, True))
    said = await say(running, 1, "world\n")
    assert "hello, world" in await until(running, 1, "hello, world", after=said)
    end = await say(running, 1, "\n", yield_time_ms=PATIENCE_MS)
    assert (end.ok, end.exit_code, end.error_kind, state(end)) == (False, 7, "exit_code", (None, False))
    assert data_of(end)["sandbox"]["effective"] == "none"


async def test_control_characters_are_keys(running: Workshop) -> None:
    begun = await begin(running, "echo up; exec sleep 1000")
    await until(running, 1, "up", after=begun)
    end = await say(running, 1, "\x03", yield_time_ms=PATIENCE_MS)
    assert (end.exit_code, data_of(end)["signal"], state(end)) == (130, 2, (None, False))


async def test_the_end_of_the_input_is_a_key_too(running: Workshop) -> None:
    await begin(running, "cat")
    end = await say(running, 1, "x\n\x04", yield_time_ms=PATIENCE_MS)
    assert (end.ok, end.stdout.count("x"), state(end)) == (True, 2, (None, False))


async def test_the_last_output_is_never_lost(running: Workshop) -> None:
    for number in range(1, 6):
        said = (await begin(running, "read -r _; seq 1 2000; echo end")).stdout
        end = await say(running, number, "\n", yield_time_ms=PATIENCE_MS)
        assert (said + end.stdout).endswith("1999\r\n2000\r\nend\r\n")


async def test_a_session_that_ended_is_forgotten_once_its_end_was_reported(running: Workshop) -> None:
    await begin(running, "read -r _")
    assert state(await say(running, 1, "\n", yield_time_ms=PATIENCE_MS)) == (None, False)
    with pytest.raises(NotFound, match="no session `1`"):
        await say(running, 1, "")


async def test_an_end_in_silence_is_reported_later_whatever_was_started_meanwhile(
    running: Workshop, fence: Tagging
) -> None:
    gate = running.root / "gate"
    os.mkfifo(gate)
    await begin(running, "read -r _ < gate; exit 9")
    with open(os.open(gate, os.O_RDWR), "wb", buffering=0) as pipe:
        async with asyncio.timeout(20):
            while not fence.alive():  # what is not there yet has not ended
                await asyncio.sleep(0)
            pipe.write(b"\n")
            while fence.alive():
                await asyncio.sleep(0)
    for _ in range(3):
        await to_the_end(running, "echo another")
    end = await say(running, 1, "", yield_time_ms=PATIENCE_MS)
    assert (end.exit_code, state(end)) == (9, (None, False))


async def test_typing_to_a_program_that_has_ended_is_reported(running: Workshop) -> None:
    await begin(running, "read -r _; echo bye")
    sessions = running.scope.hold(RunSessions, RunSessions)
    async with asyncio.timeout(20):
        while await sessions.write(1, b"\n"):
            await asyncio.sleep(0)
    end = await say(running, 1, "late\n", yield_time_ms=PATIENCE_MS)
    assert end.stderr == "[only 0 of 5 bytes were accepted]"
    assert "bye\r\n" in end.stdout


async def test_sessions_are_independent(running: Workshop) -> None:
    for _ in range(3):
        await begin(running, "cat")
    said = await say(running, 2, "for the second\n")
    await until(running, 2, "for the second", after=said)
    assert (await say(running, 1, "")).stdout == (await say(running, 3, "")).stdout == ""


async def test_an_unknown_session_is_not_found_with_those_that_are(running: Workshop) -> None:
    await begin(running, "cat")
    with pytest.raises(NotFound, match="no session `5`") as caught:
        await say(running, 5, "x")
    assert caught.value.hint == "open sessions: `1`"


async def test_the_scope_ends_every_session(running: Workshop, fence: Tagging) -> None:
    await begin(running, "cat")
    begun = await begin(running, "setsid -f sleep 1000; echo up; sleep 1000")
    await until(running, 2, "up", after=begun)
    async with asyncio.timeout(20):
        while len(fence.alive()) < 3:  # one that has just been forked may not have its program yet
            await asyncio.sleep(0.01)
    await running.scope.aclose()
    assert fence.alive() == []
    with pytest.raises(NotFound, match="no session"):
        await say(running, 1, "")


async def test_a_start_that_is_cancelled_leaves_no_session(running: Workshop, fence: Tagging) -> None:
    sessions = running.scope.hold(RunSessions, RunSessions)
    call = asyncio.create_task(begin(running, "sleep 1000", yield_time_ms=PATIENCE_MS))
    async with asyncio.timeout(20):
        while not fence.alive():
            await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert fence.alive() == []
    with pytest.raises(NotFound):
        await sessions.read(1, wait_ms=0)


async def test_a_cancelled_look_leaves_the_session(running: Workshop) -> None:
    await begin(running, "cat")
    call = asyncio.create_task(say(running, 1, "", yield_time_ms=PATIENCE_MS))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    said = await say(running, 1, "still here\n")
    await until(running, 1, "still here", after=said)


async def test_a_session_that_does_not_want_to_end_is_gone_within_a_second(running: Workshop, fence: Tagging) -> None:
    begun = await begin(running, "trap '' HUP TERM INT; echo trapped; while :; do sleep 60; done")
    await until(running, 1, "trapped", after=begun)
    now = asyncio.get_running_loop().time
    asked = now()
    await running.scope.aclose()
    assert now() - asked < 1
    assert fence.alive() == []


async def test_dropped_output_of_a_flood_is_counted(running: Workshop) -> None:
    result = await to_the_end(running, "seq 1 300000")
    lost = data_of(result)["left_out"]["stdout"]
    (kept,) = [int(word) for word in re.findall(r"… (\d+) bytes left out …", result.stdout)]
    assert lost == kept > 0
    assert result.truncated


async def test_little_is_shown_when_little_is_asked_for_and_all_is_kept(running: Workshop) -> None:
    result = await to_the_end(running, "seq 1 1000", max_output_tokens=100)
    assert len(result.stdout.encode()) <= 400
    assert (result.truncated, state(result)) == (True, (None, False))
    whole = running.blobs[data_of(result)["spilled"]["stdout"]["blob"]]
    assert whole == "".join(f"{number}\r\n" for number in range(1, 1001)).encode()
    assert result.stdout.endswith("1000\r\n")
    assert data_of(result)["sandbox"]["effective"] == "none"


async def test_a_session_starts_where_it_is_told_to(running: Workshop, fence: Tagging) -> None:
    (running.root / "sub").mkdir()
    assert (await to_the_end(running, "pwd", workdir="sub")).stdout == f"{running.root}/sub\r\n"
    assert fence.requests[-1].terminal
    with pytest.raises(ToolError, match="outside"):
        await begin(running, "pwd", workdir="..")


async def test_a_session_without_a_terminal_is_refused(running: Workshop, fence: Tagging) -> None:
    with pytest.raises(ToolError, match="always has a terminal") as caught:
        await begin(running, "true", tty=False)
    assert (caught.value.kind, fence.requests) == ("validation", [])


async def test_without_a_fence_no_session_starts(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, sandbox=UnavailableSandbox())
    with pytest.raises(SandboxError):
        await begin(workshop, "touch made")
    assert workshop.contents() == {}
