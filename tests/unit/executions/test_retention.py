"""How long executions are kept: who may go, and that going leaves nothing behind."""

import asyncio
import os
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.errors import IllegalTransition, NotFound
from skills_runtime.executions import Execution, Executor
from skills_runtime.executions.jobs import Stop
from skills_runtime.executions.layout import ExecutionLayout, read_record, write_record
from skills_runtime.executions.retention import (
    DAY_SECONDS,
    GRACE_SECONDS,
    EndedExecution,
    Retention,
    measure_size,
    select_expired,
)
from skills_runtime.executions.store import StartedExecution
from skills_runtime.executions.values import Status
from skills_runtime.skills import Skill
from tests.support.crashes import execution_request, keeper_of
from tests.unit.executions.samples import ECHO, an_executor, make_skill

NOW = 100 * DAY_SECONDS
lefts = st.lists(
    st.builds(
        EndedExecution,
        execution_id=st.uuids().map(lambda one: f"exec-{one.hex}"),
        status=st.sampled_from(get_args(Status)),
        finished=st.integers(90 * DAY_SECONDS, NOW).map(float) | st.integers(NOW - 3000, NOW + 3000).map(float),
        bytes=st.integers(0, 1000),
    ),
    max_size=30,
    unique_by=lambda one: one.execution_id,
)
keeps = st.builds(Retention, days=st.none() | st.floats(0.01, 12), bytes=st.none() | st.integers(1, 9000))
quick = settings(deadline=None, max_examples=200)


class At:
    """A clock that stands still."""

    def __init__(self, time: str) -> None:
        self._time = time

    def now(self) -> str:
        return self._time

    def monotonic(self) -> float:
        return 0.0


LONG_AFTER = At("2200-01-01T00:00:00Z")


@quick
@given(lefts, keeps)
def test_only_what_has_ended_goes_and_the_oldest_first(found: list[EndedExecution], keep: Retention) -> None:
    gone = select_expired(found, keep, now=NOW)
    ended = [one for one in found if one.status != "running"]
    assert all(one.status != "running" for one in gone)
    stays = [one.finished for one in ended if one not in gone]
    assert not gone or max(one.finished for one in gone) <= min(stays, default=NOW * 2)


@quick
@given(lefts, keeps)
def test_as_much_goes_as_has_to_and_no_more(found: list[EndedExecution], keep: Retention) -> None:
    gone = select_expired(found, keep, now=NOW)
    stays = [one for one in found if one.status != "running" and one not in gone]
    too_old = NOW - keep.days * DAY_SECONDS if keep.days is not None else float("-inf")
    assert not [one for one in stays if one.finished < too_old]
    for_room = [one for one in gone if one.finished >= too_old]
    room = sum(one.bytes for one in stays)
    if keep.bytes is None:
        assert not for_room
    else:
        spared = [one for one in stays if one.finished > NOW - GRACE_SECONDS]
        assert room <= keep.bytes or stays == spared
        assert not for_room or room + for_room[-1].bytes > keep.bytes
        assert all(one.finished <= NOW - GRACE_SECONDS for one in for_room)


@quick
@given(lefts)
def test_everything_stays_by_default(found: list[EndedExecution]) -> None:
    assert Retention().is_off
    assert not select_expired(found, Retention(), now=NOW)


def test_a_day_is_over_to_the_second() -> None:
    ages = (DAY_SECONDS - 1, DAY_SECONDS, DAY_SECONDS + 1)
    found = [EndedExecution(execution_id=f"exec-{age}", status="failed", finished=float(NOW - age)) for age in ages]
    assert select_expired(found, Retention(days=1), now=NOW) == found[2:]


@pytest.fixture
def echo(tmp_path: Path) -> Skill:
    return make_skill(tmp_path, ECHO)


def _ended_at(place: Path, execution: Execution, time: str) -> None:
    """Let an execution have ended at another time."""
    directory = place / execution.id
    write_record(directory, msgspec.structs.replace(read_record(directory), finished_at=time), durable=False)


async def test_old_executions_are_removed_with_everything_they_left(
    tmp_path: Path, executor: Executor, echo: Skill
) -> None:
    old, new = [await executor.execute(echo, {"number": number}) for number in range(2)]
    _ended_at(tmp_path / "executions", old, "2020-01-01T00:00:00.000000Z")
    _ended_at(tmp_path / "executions", new, "2020-01-09T00:00:00.000000Z")
    done = await executor.tidy(Retention(days=7), At("2020-01-10T00:00:00Z"))
    assert (done.removed, done.failed) == (1, 0)
    assert [record.execution_id for record in await executor.list()] == [new.id]
    assert not list((tmp_path / "executions").rglob(f"*{old.id}*"))
    with pytest.raises(NotFound):
        await executor.get(old.id)


async def test_the_oldest_go_until_the_rest_fits(tmp_path: Path, executor: Executor, echo: Skill) -> None:
    place = tmp_path / "executions"
    made = [await executor.execute(echo, {"number": number}) for number in range(3)]
    for number, execution in enumerate(made):
        _ended_at(place, execution, f"2020-01-0{3 - number}T00:00:00.000000Z")
    room = measure_size(str(place / made[0].id)) + measure_size(str(place / made[1].id))
    done = await executor.tidy(Retention(bytes=room), LONG_AFTER)
    assert done.removed == 1
    assert done.bytes > 0
    assert {record.execution_id for record in await executor.list()} == {made[0].id, made[1].id}


async def test_one_that_has_just_ended_stays_however_little_room_there_is(executor: Executor, echo: Skill) -> None:
    execution = await executor.execute(echo, {})
    await executor.tidy(Retention(bytes=1))
    assert (await executor.get(execution.id)).status == "completed"


async def test_the_key_of_a_removed_execution_is_free(executor: Executor, echo: Skill) -> None:
    first = await executor.execute(echo, {}, key="k")
    await executor.tidy(Retention(days=1), LONG_AFTER)
    again = await executor.execute(echo, {"other": "request"}, key="k")
    assert (again.id != first.id, again.output) == (True, {"got": {"other": "request"}})


async def test_one_under_way_is_neither_tidied_away_nor_removed(tmp_path: Path, executor: Executor) -> None:
    make_skill(tmp_path, ECHO)
    keeper = keeper_of(tmp_path, tmp_path / "elsewhere")
    begun = keeper.begin(execution_request(tmp_path, "k"), Stop())
    assert isinstance(begun, StartedExecution)
    async with Executor(keeper.layout.root, executor._make_sandbox) as other:  # pyright: ignore[reportPrivateUsage]
        assert (await other.tidy(Retention(days=1, bytes=1), LONG_AFTER)).removed == 0
        with pytest.raises(IllegalTransition, match="still running"):
            await other.forget(begun.record.execution_id)
        assert (await other.get(begun.record.execution_id)).status == "running"


async def test_one_that_cannot_be_removed_does_not_keep_the_others(
    tmp_path: Path, executor: Executor, echo: Skill
) -> None:
    stuck = await executor.execute(echo, {}, key="k")
    other = await executor.execute(echo, {})
    _ended_at(tmp_path / "executions", stuck, "2020-01-01T00:00:00.000000Z")
    key = next(path for path in (tmp_path / "executions/.runtime/keys").iterdir())
    key.write_bytes(b"damaged")
    done = await executor.tidy(Retention(days=1), LONG_AFTER)
    assert (done.removed, done.failed) == (1, 1)
    assert [record.execution_id for record in await executor.list()] == [stuck.id]
    assert not (tmp_path / "executions" / other.id).exists()


async def test_what_is_no_execution_of_ours_stays(tmp_path: Path, executor: Executor, echo: Skill) -> None:
    place = tmp_path / "executions"
    odd = await executor.execute(echo, {})
    _ended_at(place, odd, "long ago")
    (place / "exec-empty").mkdir()
    (place / "notes.txt").write_text("mine")
    assert (await executor.tidy(Retention(days=1, bytes=1), LONG_AFTER)).removed == 0
    assert {"exec-empty", "notes.txt", odd.id} <= {path.name for path in place.iterdir()}


async def test_a_file_that_is_being_sent_is_sent_to_its_end(executor: Executor, echo: Skill) -> None:
    execution = await executor.execute(echo, {})
    with (executor.directory(execution.id) / "stdout.txt").open() as sent:
        await executor.forget(execution.id)
        assert sent.read() == '{"got": {}}\n'


async def test_two_concurrent_removals_succeed(executor: Executor, echo: Skill) -> None:
    made = [await executor.execute(echo, {}) for _ in range(3)]
    keep = Retention(days=1)
    done = await asyncio.gather(*(executor.tidy(keep, LONG_AFTER) for _ in range(3)))
    assert (sum(one.failed for one in done), await executor.list()) == (0, [])
    assert sum(one.removed for one in done) >= len(made)


async def test_a_removal_that_was_cut_off_is_finished_by_the_next_one(tmp_path: Path, executor: Executor) -> None:
    half = tmp_path / "executions/.runtime/removed/exec-half"
    (half / "deep").mkdir(parents=True)
    (half / "deep" / "file").write_text("left")
    async with an_executor(tmp_path):
        assert not half.exists()


def test_a_link_is_neither_followed_by_counting_nor_by_removing(tmp_path: Path) -> None:
    outside, place = tmp_path / "outside", ExecutionLayout(tmp_path / "place")
    outside.mkdir()
    (outside / "large").write_bytes(os.urandom(100_000))
    place.make()
    directory = place.root / "exec-linked"
    directory.mkdir()
    (directory / "link").symlink_to(outside)
    (place.root / "exec-link").symlink_to(outside)
    assert measure_size(str(directory)) < 100_000
    assert measure_size(str(place.root / "exec-link")) == 0
    assert place.remove("exec-linked")
    assert place.remove("exec-link")
    assert (outside / "large").stat().st_size == 100_000
    assert not list(place.trash.iterdir())
