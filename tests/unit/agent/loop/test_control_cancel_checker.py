"""A cancel checker that raises cannot say whether somebody wants to stop: the run fails at once and says why."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.loop.control import Control, poll_cancel_checker
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.ports import Backend, ChatRequest, ChatStreamEvent
from skills_runtime.runs import RunPaths, verify_run
from skills_runtime.testing import FakeModel, says
from tests.support.agents import Streaming, events_of, payloads_of

BOUND = 20
"""Seconds after which something hangs."""


class Silent:
    """A model that is asked and never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Wait for ever."""
        self.asked.set()
        await asyncio.Event().wait()
        for event in says("never").events:
            yield event


def _agent(directory: Path, backend: Backend, checker: Callable[[], bool]) -> Agent:
    settings = {"safety": {"mode": "allow"}}
    return Agent(workspace_root=directory, backend=backend, session_settings=settings, cancel_checker=checker)


def _raising(error: BaseException, when: Callable[[], bool]) -> Callable[[], bool]:
    def check() -> bool:
        if when():
            raise error
        return False

    return check


ERRORS = [RuntimeError("no connection"), asyncio.CancelledError("gone"), StopIteration(), KeyError("flag")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_a_checker_that_raises_ends_the_run_at_once_as_failed(tmp_path: Path, error: BaseException) -> None:
    silent = Silent()
    agent = _agent(tmp_path, Streaming(silent.stream), _raising(error, silent.asked.is_set))
    result = await asyncio.wait_for(agent.run_async("Go."), BOUND)
    assert (result.status, result.error_kind) == ("failed", "unknown")
    (failed,) = payloads_of(result.wal_locator, "run_failed")
    assert failed.message.startswith(f"the cancel checker failed: {type(error).__name__}")
    assert verify_run(RunPaths(Path(result.wal_locator).parent).root, log_ports().keys).findings == []


async def test_waiting_for_a_run_whose_checker_failed_is_not_cancelled(tmp_path: Path) -> None:
    silent = Silent()
    agent = _agent(tmp_path, Streaming(silent.stream), _raising(ValueError("x"), silent.asked.is_set))
    await asyncio.wait_for(agent.run_async("Go."), BOUND)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_cancellation_beside_a_checker_that_fails_is_not_taken_back(tmp_path: Path) -> None:
    silent = Silent()
    agent = _agent(tmp_path, Streaming(silent.stream), _raising(ValueError("x"), silent.asked.is_set))
    run = agent.create(RunRequest(prompt="Go.", run_id="run_1"))
    work = asyncio.create_task(agent.execute(run))
    await silent.asked.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(work), BOUND)
    assert events_of(str(run.paths.events))[-1].type in ("run_cancelled", "run_failed")


async def test_a_checker_that_fails_after_the_block_is_harmless() -> None:
    control, task = Control(), asyncio.current_task()
    async with poll_cancel_checker(_raising(ValueError("x"), lambda: True), control):
        pass
    await asyncio.sleep(0)
    assert task is not None
    assert (control.broken, task.cancelling()) == ("", 0)


async def test_a_checker_that_says_yes_still_cancels(tmp_path: Path) -> None:
    silent = Silent()
    agent = _agent(tmp_path, Streaming(silent.stream), silent.asked.is_set)
    result = await asyncio.wait_for(agent.run_async("Go."), BOUND)
    assert result.status == "cancelled"


async def test_a_checker_that_never_says_yes_changes_nothing(tmp_path: Path) -> None:
    result = await _agent(tmp_path, FakeModel([says("done")]), lambda: False).run_async("Go.")
    assert (result.status, result.final_output) == ("completed", "done")
