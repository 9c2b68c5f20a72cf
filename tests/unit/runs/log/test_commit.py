"""Many commits, few syncs; and whoever gives up waiting harms nobody else."""

import asyncio
import errno
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import StorageFailed
from skills_runtime.events.payloads import HumanResponse
from skills_runtime.runs.log import commit
from skills_runtime.runs.log.commit import FULL_BATCH, SYNCFS_MIN_LOGS, Committer, SystemDisk
from skills_runtime.runs.log.writer import SOON_SECONDS
from skills_runtime.testing import FaultyDisk
from tests.support.runs import lines_of, new_run

WAIT = 20
"""Seconds after which something that should have happened never will."""


class SlowDisk(FaultyDisk):
    """A disk whose syncs wait for the test."""

    def __init__(self) -> None:
        super().__init__()
        self.syncing = threading.Event()
        self.may_go_on = threading.Event()

    def sync(self, fd: int) -> None:
        self.syncing.set()
        assert self.may_go_on.wait(WAIT)
        super().sync(fd)


def test_commits_that_wait_together_share_a_sync(tmp_path: Path) -> None:
    disk = SlowDisk()
    run = new_run(tmp_path, disk=disk)
    waiting = threading.Barrier(65)

    def produce(number: int) -> None:
        run.append(HumanResponse(call_id=str(number)))
        waiting.wait(WAIT)
        run.commit()

    with ThreadPoolExecutor(64) as pool:
        produced = [pool.submit(produce, number) for number in range(64)]
        waiting.wait(WAIT)
        assert disk.syncing.wait(WAIT)
        disk.may_go_on.set()
        for future in produced:
            future.result(WAIT)
    run.close()
    assert disk.counts["sync"] < 32
    assert len(lines_of(run.paths)) == 66


def test_an_event_appended_during_a_sync_is_made_durable_by_the_next(tmp_path: Path) -> None:
    disk = SlowDisk()
    run = new_run(tmp_path, disk=disk)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(run.commit)
        assert disk.syncing.wait(WAIT)
        run.append(HumanResponse(call_id="late"))
        second = pool.submit(run.commit)
        disk.may_go_on.set()
        first.result(WAIT)
        second.result(WAIT)
    run.close()
    assert disk.counts["sync"] == 2


def test_a_commit_with_nothing_new_costs_no_sync(tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = new_run(tmp_path, disk=disk)
    run.commit()
    run.commit()
    run.close()
    assert disk.counts["sync"] == 1


def test_every_waiter_hears_of_a_failed_sync(tmp_path: Path) -> None:
    disk = SlowDisk()
    run = new_run(tmp_path, disk=disk)
    disk.fail("sync", errno.EIO)
    with ThreadPoolExecutor(8) as pool:
        commits = [pool.submit(run.commit) for _ in range(8)]
        disk.may_go_on.set()
        failures = {type(future.exception(WAIT)) for future in commits}
    run.close()
    assert failures == {StorageFailed}
    assert disk.counts["sync"] == 1


async def test_a_waiter_that_is_cancelled_does_not_stop_the_committer(tmp_path: Path) -> None:
    disk = SlowDisk()
    run = new_run(tmp_path, disk=disk)
    waiting = asyncio.ensure_future(run.commit_async())
    await asyncio.to_thread(disk.syncing.wait, WAIT)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    disk.may_go_on.set()
    run.append(HumanResponse(call_id="after"))
    await asyncio.wait_for(run.commit_async(), WAIT)
    run.close()


async def test_an_event_loop_is_woken_once_for_all_its_waiters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk()
    blocker = new_run(tmp_path, disk=disk, run_id="blocker")
    runs = [new_run(tmp_path, disk=SystemDisk(), run_id=f"run_{number}") for number in range(3 * SYNCFS_MIN_LOGS)]
    waiting = asyncio.ensure_future(blocker.commit_async())
    await asyncio.to_thread(disk.syncing.wait, WAIT)
    others = [asyncio.ensure_future(run.commit_async()) for run in runs]
    await asyncio.sleep(0)
    others[0].cancel()
    loop, woken = asyncio.get_running_loop(), list[object]()
    wake = loop.call_soon_threadsafe

    def waking(callback: Any, *arguments: Any, **more: Any) -> asyncio.Handle:
        woken.append(callback)
        return wake(callback, *arguments, **more)

    monkeypatch.setattr(loop, "call_soon_threadsafe", waking)
    disk.may_go_on.set()
    errors = await asyncio.wait_for(asyncio.gather(waiting, *others, return_exceptions=True), WAIT)
    assert [type(error) for error in errors[:2]] == [type(None), asyncio.CancelledError]
    assert errors[2:] == [None] * (len(runs) - 1)
    assert len(woken) == 2
    for run in (blocker, *runs):
        run.close()


def grouped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many logs each sync was for."""
    sync, groups = commit.sync_all, list[int]()

    def syncing(taken: Any) -> None:
        groups.append(len(taken))
        sync(taken)

    monkeypatch.setattr(commit, "sync_all", syncing)
    return groups


async def test_commits_in_one_turn_of_an_event_loop_are_synced_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [new_run(tmp_path, run_id=f"run_{number}") for number in range(SYNCFS_MIN_LOGS + 2)]
    groups = grouped(monkeypatch)
    await asyncio.wait_for(asyncio.gather(*(run.commit_async() for run in runs)), WAIT)
    assert groups == [len(runs)]
    for run in runs:
        run.close()


async def test_a_crowd_does_not_wait_for_the_end_of_a_long_turn(tmp_path: Path) -> None:
    disk = SlowDisk()
    runs = [new_run(tmp_path, disk=disk, run_id=f"run_{number}") for number in range(FULL_BATCH)]

    async def hold_up() -> bool:
        return disk.syncing.wait(WAIT)

    waiting = asyncio.gather(*(run.commit_async() for run in runs), hold_up())
    disk.may_go_on.set()
    assert (await asyncio.wait_for(waiting, WAIT))[-1]
    for run in runs:
        run.close()


async def test_a_blocking_commit_includes_the_waiters_of_its_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = new_run(tmp_path, run_id="one"), new_run(tmp_path, run_id="other")
    groups = grouped(monkeypatch)

    async def hold_up() -> None:
        other.commit()

    await asyncio.wait_for(asyncio.gather(run.commit_async(), hold_up()), WAIT)
    assert groups == [2]
    run.close()
    other.close()


def test_one_log_that_fails_does_not_harm_another(tmp_path: Path) -> None:
    broken, sound = FaultyDisk(), FaultyDisk()
    broken.fail("sync", errno.EIO)
    first, second = new_run(tmp_path, disk=broken, run_id="a"), new_run(tmp_path, disk=sound, run_id="b")
    with pytest.raises(StorageFailed):
        first.commit()
    second.commit()
    first.close()
    second.close()


class _Flushed:
    """A flush of nothing."""

    number = 0
    fd = -1
    is_on_one_disk = False

    def sync(self) -> None:
        """Nothing to do."""

    def settle(self, error: OSError | None) -> Exception | None:
        """All is well."""
        return None


class _Fine:
    number = 0

    def begin_flush(self) -> _Flushed:
        """Nothing to do."""
        return _Flushed()


class _Odd:
    number = 1

    def begin_flush(self) -> _Flushed:
        """Fail in a way nobody thought of."""
        raise RuntimeError("odd")


def test_an_unexpected_error_reaches_its_waiter_and_the_committer_goes_on() -> None:
    committer = Committer()
    with pytest.raises(RuntimeError, match="odd"):
        committer.request(_Odd()).result(WAIT)
    committer.request(_Fine()).result(WAIT)


def test_a_full_disk_for_the_side_files_does_not_fail_a_commit(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.paths.logs.rename(tmp_path / "gone")
    run.append(HumanResponse(call_id="large", answer="x" * (5 << 20)))
    run.commit()
    run.append(HumanResponse(call_id="small"))
    run.commit()
    run.close()


async def test_commit_soon_syncs_without_another_commit(tmp_path: Path) -> None:
    disk = SlowDisk()
    run = new_run(tmp_path, disk=disk)
    run.append(HumanResponse(call_id="one"))
    run.log.commit_soon()
    assert await asyncio.to_thread(disk.syncing.wait, WAIT)
    disk.may_go_on.set()
    run.close()


async def test_a_commit_that_comes_first_syncs_for_commit_soon_as_well(tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = new_run(tmp_path, disk=disk)
    run.append(HumanResponse(call_id="one"))
    run.log.commit_soon()
    await run.commit_async()
    syncs = disk.counts["sync"]
    await asyncio.sleep(2 * SOON_SECONDS)
    assert disk.counts["sync"] == syncs
    run.close()


async def test_a_failed_sync_of_commit_soon_is_raised_by_what_follows(tmp_path: Path) -> None:
    disk = SlowDisk()
    disk.fail("sync", errno.EIO)
    run = new_run(tmp_path, disk=disk)
    run.log.commit_soon()
    assert await asyncio.to_thread(disk.syncing.wait, WAIT)
    disk.may_go_on.set()
    with pytest.raises(StorageFailed, match="could not be made durable"):
        await run.commit_async()  # waits for the sync that is under way
    run.close()


async def test_commit_soon_of_a_log_that_is_closed_meanwhile_does_nothing(tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = new_run(tmp_path, disk=disk)
    run.commit()
    run.append(HumanResponse(call_id="one"))
    run.log.commit_soon()
    run.close()
    syncs = disk.counts["sync"]
    await asyncio.sleep(2 * SOON_SECONDS)
    assert disk.counts["sync"] == syncs
