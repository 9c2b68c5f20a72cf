"""Sessions that are given to an agent: they outlast its runs, and end with whoever has made them."""

import asyncio
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import AgentBuilder
from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import SandboxPlan
from skills_runtime.sandbox.supervision import process_tree
from skills_runtime.testing import FakeModel, says
from skills_runtime.tools.exec_sessions import ExecSessions
from tests.support.agents import Answering, calls, payloads_of

GREETING = 'read -r name; echo "hello, $name"; exit 7'
PATIENCE_MS = 20_000
BOUND = 30


def result_of(directory: Path, sessions: ExecSessions | None, tool: str, **arguments: Any) -> Mapping[str, Any]:
    """The result of one call in a run of its own."""
    settings = {"safety": {"mode": "allow"}, "sandbox": {"default_policy": "none"}}
    model = FakeModel([calls((tool, arguments)), says("done")])
    builder = AgentBuilder().workspace_root(directory).backend(model).add_config_overlay(settings)
    builder = builder.approval_provider(Answering("approved"))
    agent = (builder.exec_sessions(sessions) if sessions is not None else builder).build()
    result = agent.run("Go.")
    assert result.status == "completed", result
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    return finished.result


def plan(directory: Path, tag: str, *argv: str) -> SandboxPlan:
    environment = {"PATH": "/usr/bin:/bin", "TAG": tag}
    return SandboxPlan(argv=argv, cwd=directory, environment=environment, evidence={"effective": "none"})


def alive(tag: str) -> list[int]:
    return [process.pid for process in process_tree.find_marked(process_tree.list_processes(), f"TAG={tag}".encode())]


def test_a_session_continues_in_the_next_run(tmp_path: Path) -> None:
    with ExecSessions() as sessions:
        start = result_of(tmp_path, sessions, "exec_command", cmd=GREETING, yield_time_ms=0)
        assert start["data"]["running"]
        number = start["data"]["session_id"]
        result = result_of(
            tmp_path, sessions, "write_stdin", session_id=number, chars="you\n", yield_time_ms=PATIENCE_MS
        )
        assert "hello, you" in result["stdout"]
        assert (result["exit_code"], result["data"]["sandbox"]["effective"]) == (7, "none")


def test_without_them_a_session_ends_with_its_run(tmp_path: Path) -> None:
    number = result_of(tmp_path, None, "exec_command", cmd=GREETING, yield_time_ms=0)["data"]["session_id"]
    result = result_of(tmp_path, None, "write_stdin", session_id=number, chars="you\n")
    assert result["error_kind"] == "not_found"


async def test_nothing_of_them_is_left_when_they_are_closed(tmp_path: Path) -> None:
    tag = uuid.uuid4().hex
    async with ExecSessions() as sessions:
        for _ in range(3):
            await sessions.start(plan(tmp_path, tag, "/bin/sleep", "1000"))
        async with asyncio.timeout(BOUND):
            while len(alive(tag)) < 3:
                await asyncio.sleep(0)
    assert alive(tag) == []


async def test_closed_sessions_accept_no_input(tmp_path: Path) -> None:
    sessions = ExecSessions()
    await sessions.start(plan(tmp_path, "", "/bin/sleep", "1000"))
    await sessions.aclose()
    await sessions.aclose()
    with pytest.raises(ValidationFailed, match="closed"):
        await sessions.start(plan(tmp_path, "", "/bin/true"))


async def test_those_that_were_never_used_are_closed_at_once() -> None:
    await asyncio.wait_for(ExecSessions().aclose(), BOUND)


async def test_an_unreported_session_is_ended(tmp_path: Path) -> None:
    tag = uuid.uuid4().hex
    async with ExecSessions() as sessions:
        starts = [asyncio.create_task(sessions.start(plan(tmp_path, tag, "/bin/sleep", "1000"))) for _ in range(3)]
        await asyncio.sleep(0)
        for start in starts:
            start.cancel()
        await asyncio.wait_for(asyncio.wait(starts), BOUND)
        async with asyncio.timeout(BOUND):
            while alive(tag):
                await sessions.close(0)  # a turn of their event loop


def test_one_event_loop_after_another_can_use_them(tmp_path: Path) -> None:
    async def first(sessions: ExecSessions) -> int:
        return await sessions.start(plan(tmp_path, "", "/bin/sh", "-c", GREETING))

    async def then(sessions: ExecSessions, number: int) -> str:
        await sessions.write(number, b"there\n")
        text = ""
        while "hello" not in text:
            reading, _ = await sessions.read(number, wait_ms=PATIENCE_MS)
            text += reading.output.text()
        return text

    with ExecSessions() as sessions:
        number = asyncio.run(first(sessions))
        assert "hello, there" in asyncio.run(then(sessions, number))
