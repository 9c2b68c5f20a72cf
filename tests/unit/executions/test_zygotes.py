"""Processes that wait: bounded, ended when idle, replaced when they die or their skill has changed."""

import asyncio
from pathlib import Path

from skills_runtime.executions import Executor
from skills_runtime.skills import Skill
from tests.unit.executions.samples import ECHO, an_executor, find, make_skill

SAYS_ITS_PARENT = "import os\nprint(open(f'/proc/self/stat').read().split()[3])\nimport sys\nsys.exit(0)\n"


async def until_waiting(executor: Executor, number: int) -> None:
    """Wait until so many processes are kept."""
    async with asyncio.timeout(60):
        while executor.waiting_processes != number:
            await asyncio.sleep(0.01)


async def test_one_process_serves_many_executions(executor: Executor, tmp_path: Path) -> None:
    made = make_skill(tmp_path, ECHO)
    for value in range(1, 6):
        execution = await executor.execute(made, value)
        assert (execution.output, execution.record.warm) == ({"got": value}, True)
    assert executor.waiting_processes == 1


async def test_no_more_are_kept_than_may_be(tmp_path: Path) -> None:
    skills = [make_skill(tmp_path, ECHO, name=f"number-{number}") for number in range(4)]
    async with an_executor(tmp_path, warm=2) as executor:
        for skill in skills:
            assert (await executor.execute(skill, 1)).record.warm
            assert executor.waiting_processes <= 2


async def test_where_all_are_at_work_others_get_a_process_of_their_own(tmp_path: Path) -> None:
    made = make_skill(tmp_path, "import time\ntime.sleep(0.5)\nprint('[1]')\n")
    async with an_executor(tmp_path, warm=1, concurrent=3) as executor:
        done = await asyncio.gather(*(executor.execute(made, {}, timeout_ms=60_000) for _ in range(3)))
    assert sorted(one.record.warm for one in done) == [False, False, True]
    assert {one.status for one in done} == {"completed"}


async def test_none_is_kept_where_none_may_be(tmp_path: Path) -> None:
    async with an_executor(tmp_path, warm=0) as executor:
        execution = await executor.execute(make_skill(tmp_path, ECHO), 1)
        assert (execution.output, execution.record.warm, executor.waiting_processes) == ({"got": 1}, False, 0)


async def test_idle_ones_end(tmp_path: Path) -> None:
    async with an_executor(tmp_path, idle_seconds=0.05) as executor:
        await executor.execute(make_skill(tmp_path, ECHO), 1)
        await until_waiting(executor, 0)


async def test_a_changed_skill_gets_a_new_one(executor: Executor, tmp_path: Path) -> None:
    for answer in (1, 2, 3):
        make_skill(tmp_path, f"print({answer})\n")
        assert (await executor.execute(find(tmp_path), {})).output == answer
    await until_waiting(executor, 1)


async def test_one_that_was_killed_by_its_execution_is_replaced(executor: Executor, tmp_path: Path) -> None:
    murder = "import os, signal\nos.kill(os.getppid(), signal.{})\nimport time\ntime.sleep(1000)\n"
    made = make_skill(tmp_path, murder.format("SIGKILL"))
    killed = await executor.execute(made, {}, timeout_ms=30_000)
    assert killed.status == "failed"
    assert killed.error is not None
    assert killed.error.code == "lost"
    assert (await executor.execute(make_skill(tmp_path, ECHO), 1)).output == {"got": 1}


async def test_one_that_was_stopped_by_its_execution_does_not_stop_the_deadline(
    executor: Executor, tmp_path: Path
) -> None:
    made = make_skill(tmp_path, "import os, signal, time\nos.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(1000)\n")
    execution = await executor.execute(made, {}, timeout_ms=500)
    assert execution.status == "timed_out"
    assert (await executor.execute(make_skill(tmp_path, ECHO), 1)).output == {"got": 1}


async def test_a_skill_can_ask_for_a_new_process_each_time(executor: Executor, tmp_path: Path) -> None:
    made: Skill = make_skill(tmp_path, ECHO, warm=False)
    assert not (await executor.execute(made, 1)).record.warm
    assert executor.waiting_processes == 0


async def test_the_memory_of_the_runtime_does_not_grow_with_the_output(executor: Executor, tmp_path: Path) -> None:
    made = make_skill(tmp_path, "import os\nfor _ in range(200):\n    os.write(1, b'x' * 1_000_000)\n")
    await executor.execute(make_skill(tmp_path, ECHO, name="first"), 1)
    before = _resident()
    execution = await executor.execute(made, {}, timeout_ms=60_000)
    assert execution.error is not None
    assert execution.error.message == "stdout exceeded limit"
    assert execution.record.stdout.total < 50_000_000
    assert _resident() - before < 50_000_000


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
