"""The end of an execution is the end of everything it started, whoever wants it."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skills_runtime.errors import Busy
from skills_runtime.executions import Executor
from skills_runtime.sandbox.supervision import process_tree
from tests.unit.executions.conftest import MakeSkill
from tests.unit.executions.samples import ECHO, an_executor

GRANDCHILD = "setsid sleep {seconds} & disown; "
FOREVER = "import time\nprint('[1]', flush=True)\ntime.sleep(1000)\n"


def sleeping(seconds: str) -> bool:
    """Whether a process sleeps for just so long."""
    for pid in process_tree.list_processes():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", seconds.encode()]:
            return True
    return False


async def until(condition: Callable[[], object]) -> None:
    """Wait for something to become true."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def running(executor: Executor) -> str:
    """The id of the execution that is under way, once its skill has said something."""
    async with asyncio.timeout(60):
        while True:
            for record in await executor.list(status="running"):
                said = executor.directory(record.execution_id) / "stdout.txt"
                if said.exists() and said.stat().st_size:
                    return record.execution_id
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("runtime", ["python", "shell"])
async def test_the_deadline_ends_grandchildren_that_hold_the_streams(
    executor: Executor, skill: MakeSkill, runtime: str
) -> None:
    shell = "setsid sleep 4711.5 & disown; sleep 1000"
    code = shell if runtime == "shell" else f"import subprocess\nsubprocess.run(['bash', '-c', {shell!r}])\n"
    began = time.monotonic()
    execution = await executor.execute(skill(code, runtime=runtime), {}, timeout_ms=700)
    assert execution.status == "timed_out"
    assert execution.error is not None
    assert (execution.error.code, execution.error.message) == ("timeout", "Execution timed out after 0.70s")
    assert time.monotonic() - began < 30  # not until the grandchild leaves by itself
    assert not sleeping("4711.5")


async def test_what_is_left_when_the_skill_has_ended_does_not_hold_up_its_answer(
    executor: Executor, skill: MakeSkill
) -> None:
    code = "setsid sleep 4712.5 & disown; echo '[1]'"
    execution = await executor.execute(skill(code, runtime="shell"), {}, timeout_ms=60_000)
    assert (execution.status, execution.output) == ("completed", [1])
    assert not sleeping("4712.5")


async def test_a_cancelled_execution_is_settled(executor: Executor, skill: MakeSkill) -> None:
    waiting = asyncio.create_task(executor.execute(skill(FOREVER), {}, timeout_ms=60_000))
    execution_id = await running(executor)
    cancelled = await executor.cancel(execution_id)
    assert (cancelled.status, cancelled.stdout) == ("cancelled", "[1]\n")
    assert await waiting == cancelled == await executor.get(execution_id)
    assert (await executor.cancel(execution_id)).status == "cancelled"


async def test_a_disconnecting_caller_ends_the_execution(executor: Executor, skill: MakeSkill) -> None:
    code = "echo '[1]'; sleep 4713.5"
    waiting = asyncio.create_task(executor.execute(skill(code, runtime="shell"), {}, timeout_ms=60_000))
    execution_id = await running(executor)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not sleeping("4713.5")
    assert (await executor.get(execution_id)).status == "cancelled"


async def test_closing_ends_what_is_under_way_and_what_waits(tmp_path: Path, skill: MakeSkill) -> None:
    executor = an_executor(tmp_path, concurrent=1)
    tasks = [asyncio.create_task(executor.execute(skill(FOREVER), {}, timeout_ms=60_000)) for _ in range(3)]
    execution_id = await running(executor)
    await executor.aclose()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    ended = [one for one in done if not isinstance(one, BaseException)]
    assert [(one.id, one.status) for one in ended] == [(execution_id, "cancelled")]
    assert sum(isinstance(one, Busy) for one in done) == 2
    with pytest.raises(Busy):
        await executor.execute(skill(ECHO), {})
    async with an_executor(tmp_path) as another:
        assert (await another.get(execution_id)).status == "cancelled"


async def test_no_more_wait_than_may(tmp_path: Path, skill: MakeSkill) -> None:
    made = skill(FOREVER)
    async with an_executor(tmp_path, concurrent=1, waiting=1) as executor:
        tasks = [asyncio.create_task(executor.execute(made, {}, timeout_ms=60_000)) for _ in range(2)]
        await running(executor)
        assert executor.under_way == (1, 1)
        with pytest.raises(Busy, match="1 executions wait already"):
            await executor.execute(made, {})
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert executor.under_way == (0, 0)
