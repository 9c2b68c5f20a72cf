"""The same key and the same request mean the same execution."""

import asyncio
from pathlib import Path

import pytest

from skills_runtime.errors import RequestConflict, ValidationFailed
from skills_runtime.executions import Executor
from skills_runtime.skills import Skill
from tests.unit.executions.samples import ECHO, an_executor, make_skill

RANDOM = "import os\nprint(int.from_bytes(os.urandom(8), 'big') + 1)\n"


@pytest.fixture
def random_skill(tmp_path: Path) -> Skill:
    return make_skill(tmp_path, RANDOM)


async def test_the_same_key_gets_the_same_result(executor: Executor, random_skill: Skill) -> None:
    first = await executor.execute(random_skill, {"a": 1, "b": 2}, key="k")
    assert await executor.execute(random_skill, {"b": 2, "a": 1}, key="k") == first
    assert (await executor.execute(random_skill, {"a": 1, "b": 2}, key="other")).id != first.id
    assert len(await executor.list()) == 2


async def test_at_the_same_time_one_runs_and_the_others_wait(executor: Executor, random_skill: Skill) -> None:
    done = await asyncio.gather(*(executor.execute(random_skill, {}, key="k") for _ in range(5)))
    assert len({execution.id for execution in done}) == 1
    assert len(await executor.list()) == 1


async def test_one_of_several_waiters_may_give_up(executor: Executor, tmp_path: Path) -> None:
    gate = "import os, sys, time\nprint('[1]', flush=True)\ntime.sleep(0.3)\n"
    made = make_skill(tmp_path, gate)
    first = asyncio.create_task(executor.execute(made, {}, key="k"))
    second = asyncio.create_task(executor.execute(made, {}, key="k"))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).status == "completed"


async def test_another_request_under_a_key_is_a_conflict(executor: Executor, random_skill: Skill) -> None:
    under_way = asyncio.create_task(executor.execute(random_skill, {}, key="k"))
    await asyncio.sleep(0)
    with pytest.raises(RequestConflict):
        await executor.execute(random_skill, {"other": 1}, key="k")
    await under_way
    with pytest.raises(RequestConflict):
        await executor.execute(random_skill, {"other": 1}, key="k")


async def test_a_key_holds_for_later_requests(tmp_path: Path, random_skill: Skill) -> None:
    async with an_executor(tmp_path) as executor:
        first = await executor.execute(random_skill, {}, key="k")
    async with an_executor(tmp_path) as another:
        assert await another.execute(random_skill, {}, key="k") == first


async def test_two_executors_share_their_keys(tmp_path: Path, random_skill: Skill) -> None:
    async with an_executor(tmp_path) as one, an_executor(tmp_path) as other:
        done = await asyncio.gather(*(each.execute(random_skill, {}, key="k") for each in (one, other, one, other)))
    assert len({execution.id for execution in done}) == 1


async def test_a_failure_is_a_result_too(executor: Executor, tmp_path: Path) -> None:
    made = make_skill(tmp_path, "raise SystemExit(3)\n")
    first = await executor.execute(made, {}, key="k")
    assert (await executor.execute(made, {}, key="k")).id == first.id


async def test_a_key_whose_execution_was_removed_is_free(executor: Executor, random_skill: Skill) -> None:
    first = await executor.execute(random_skill, {}, key="k")
    await executor.forget(first.id)
    assert (await executor.execute(random_skill, {}, key="k")).id != first.id


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb"])
async def test_a_key_that_is_none_is_refused(executor: Executor, tmp_path: Path, key: str) -> None:
    with pytest.raises(ValidationFailed, match="idempotency key"):
        await executor.execute(make_skill(tmp_path, ECHO), {}, key=key)
