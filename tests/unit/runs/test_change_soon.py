"""A run that begins without waiting for the disk: what it shows is late, and never ahead of what is durable."""

import asyncio
import errno
from pathlib import Path

import pytest

from skills_runtime.errors import IllegalTransition, StorageFailed
from skills_runtime.events.payloads import HumanResponse
from skills_runtime.events.states import RunStatus
from skills_runtime.runs import Run, finish_run_async, read_record, run
from skills_runtime.testing import FaultyDisk
from tests.support.finished import COMPLETED
from tests.support.runs import new_run
from tests.unit.runs.log.test_commit import WAIT, SlowDisk


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let run.json follow without a delay."""
    monkeypatch.setattr(run, "SHOWN_WITHIN_SECONDS", 0)


def shown(one: Run) -> str:
    return read_record(one.paths.run_json).status


def heard_by(one: Run) -> asyncio.Queue[RunStatus]:
    """The states that watchers are told of."""
    heard: asyncio.Queue[RunStatus] = asyncio.Queue()
    one.watch(lambda state: heard.put_nowait(state.status))
    return heard


@pytest.mark.usefixtures("at_once")
async def test_run_json_follows_once_the_state_is_durable(tmp_path: Path) -> None:
    disk = FaultyDisk()
    one = new_run(tmp_path, disk=disk)
    heard = heard_by(one)
    one.change_soon(RunStatus.RUNNING)
    assert (one.state.status, shown(one), disk.counts["sync"]) == (RunStatus.RUNNING, "pending", 0)
    assert await asyncio.wait_for(heard.get(), WAIT) is RunStatus.RUNNING
    assert (shown(one), disk.counts["sync"]) == ("running", 1)
    one.close()


@pytest.mark.usefixtures("at_once")
async def test_run_json_is_never_ahead_of_what_is_durable(tmp_path: Path) -> None:
    disk = SlowDisk()
    one = new_run(tmp_path, disk=disk)
    heard = heard_by(one)
    one.change_soon(RunStatus.RUNNING)
    await asyncio.to_thread(disk.syncing.wait, WAIT)
    one.append(COMPLETED)  # written while the sync is under way, which does not hold it
    disk.may_go_on.set()
    assert await asyncio.wait_for(heard.get(), WAIT) is RunStatus.RUNNING
    assert shown(one) == "running"
    one.close()


async def test_a_run_that_ends_soon_commits_once(tmp_path: Path) -> None:
    disk = FaultyDisk()
    one = new_run(tmp_path, disk=disk)
    heard = heard_by(one)
    one.change_soon(RunStatus.RUNNING)
    await finish_run_async(one, COMPLETED)
    one.close()
    assert (shown(one), disk.counts["sync"]) == ("completed", 1)
    assert [heard.get_nowait() for _ in range(heard.qsize())] == [RunStatus.COMPLETED]


@pytest.mark.usefixtures("at_once")
async def test_what_was_shown_since_is_not_overwritten(tmp_path: Path) -> None:
    one = new_run(tmp_path)
    one.change_soon(RunStatus.RUNNING)
    one.change(RunStatus.WAITING_FOR_TOOL)
    for _ in range(10):
        await asyncio.sleep(0)
    assert shown(one) == "waiting_for_tool"
    one.close()


@pytest.mark.usefixtures("at_once")
async def test_nothing_is_written_into_a_run_that_was_closed(tmp_path: Path) -> None:
    one = new_run(tmp_path)
    one.change_soon(RunStatus.RUNNING)
    one.close()
    for _ in range(10):
        await asyncio.sleep(0)
    assert shown(one) == "pending"


@pytest.mark.usefixtures("at_once")
async def test_a_disk_that_fails_is_told_of_at_the_next_event(tmp_path: Path) -> None:
    disk = SlowDisk()
    disk.fail("sync", errno.EIO)
    one = new_run(tmp_path, disk=disk)
    one.change_soon(RunStatus.RUNNING)
    await asyncio.to_thread(disk.syncing.wait, WAIT)
    disk.may_go_on.set()
    with pytest.raises(StorageFailed):
        await one.commit_async()
    with pytest.raises(StorageFailed):
        one.append(HumanResponse(call_id="after"))
    assert shown(one) == "pending"
    one.close()


async def test_an_illegal_change_is_refused_at_once(tmp_path: Path) -> None:
    one = new_run(tmp_path)
    with pytest.raises(IllegalTransition):
        one.change_soon(RunStatus.WAITING_FOR_TOOL)
    one.close()
