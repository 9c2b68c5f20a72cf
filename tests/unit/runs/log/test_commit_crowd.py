"""Many logs on one disk: one call syncs them all, and each still hears only of its own trouble."""

import errno
import os
from collections.abc import Generator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from skills_runtime.errors import StorageFailed
from skills_runtime.events.payloads import HumanResponse
from skills_runtime.runs import Run
from skills_runtime.runs.log import commit
from skills_runtime.runs.log.commit import SYNCFS_MIN_LOGS, SystemDisk, get_committer
from skills_runtime.testing import FaultyDisk
from tests.support.runs import new_run
from tests.unit.runs.log.test_commit import WAIT, SlowDisk

MANY = 2 * SYNCFS_MIN_LOGS
MEMORY = Path("/dev/shm")


class Syncs:
    """Counts the calls that sync, and lets the one for a whole file system fail if told so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.whole: list[int] = []
        self.files: list[str] = []
        self.trouble: OSError | None = None
        self._sync_files = commit.sync_files
        monkeypatch.setattr(commit, "sync_file_system", self._note_whole)
        monkeypatch.setattr(commit, "sync_files", self._note_files)

    def _note_whole(self, fd: int) -> None:
        self.whole.append(fd)
        if self.trouble is not None:
            raise self.trouble

    def _note_files(self, directory: str, names: set[str]) -> None:
        self.files.append(directory)
        self._sync_files(directory, names)


class BrokenDisk(SystemDisk):
    """A real disk on which one file cannot be written."""

    def sync(self, fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> Syncs:
    return Syncs(monkeypatch)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Generator[Path]:
    """A directory on another file system."""
    assert MEMORY.stat().st_dev != tmp_path.stat().st_dev, "this needs a second file system"
    with TemporaryDirectory(dir=MEMORY) as directory:
        yield Path(directory)


def runs_in(directory: Path, count: int = MANY) -> list[Run]:
    return [new_run(directory, run_id=f"run_{number}", disk=SystemDisk()) for number in range(count)]


def commit_all(directory: Path, runs: Sequence[Run], *, close: Run | None = None) -> list[BaseException | None]:
    """What those hear who commit at the same time: held up until every one has asked."""
    disk = SlowDisk()
    blocker = new_run(directory, disk=disk, run_id="blocker")
    here = get_committer(directory.stat().st_dev)
    held = here.request(blocker.log)
    assert disk.syncing.wait(WAIT)
    futures = [here.request(run.log) for run in runs]
    if close is not None:
        close.close()
    disk.may_go_on.set()
    held.result(WAIT)
    errors = [future.exception(WAIT) for future in futures]
    for run in (blocker, *runs):
        run.close()
    return errors


def test_many_logs_share_one_sync_of_the_file_system(tmp_path: Path, syncs: Syncs) -> None:
    runs = runs_in(tmp_path)
    assert commit_all(tmp_path, runs) == [None] * MANY
    assert len(syncs.whole) == 1
    assert not [path for path in syncs.files if not path.endswith("blocker") and path != str(tmp_path / "runs")]


def test_few_logs_do_not_make_a_stranger_s_files_durable(tmp_path: Path, syncs: Syncs) -> None:
    assert commit_all(tmp_path, runs_in(tmp_path, SYNCFS_MIN_LOGS - 1)) == [None] * (SYNCFS_MIN_LOGS - 1)
    assert syncs.whole == []


def test_the_shared_sync_is_that_of_the_oldest_log(
    tmp_path: Path, syncs: Syncs, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    os_open = os.open

    def noting(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        fd = os_open(path, flags, mode, dir_fd=dir_fd)
        opened.extend([fd] if str(path).endswith("events.jsonl") else [])
        return fd

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", noting)
        runs = runs_in(tmp_path)
    assert commit_all(tmp_path, runs[::-1]) == [None] * MANY
    assert syncs.whole == opened[:1]


def test_trouble_of_the_whole_file_system_may_be_a_stranger_s(tmp_path: Path, syncs: Syncs) -> None:
    syncs.trouble = OSError(errno.EIO, "Input/output error")
    runs = runs_in(tmp_path)
    assert commit_all(tmp_path, runs) == [None] * MANY
    assert {str(run.paths.root) for run in runs} <= set(syncs.files)


def test_of_a_crowd_whose_sync_fails_only_the_log_that_cannot_be_written_has_failed(
    tmp_path: Path, syncs: Syncs
) -> None:
    syncs.trouble = OSError(errno.EIO, "Input/output error")
    broken = new_run(tmp_path, run_id="broken", disk=BrokenDisk())
    runs = runs_in(tmp_path)
    errors = commit_all(tmp_path, [broken, *runs])
    assert [type(error) for error in errors] == [StorageFailed] + [type(None)] * MANY
    with pytest.raises(StorageFailed):
        broken.append(HumanResponse(call_id="after"))


def test_a_file_system_that_may_not_sync_as_a_whole_is_not_asked_to(
    tmp_path: Path, syncs: Syncs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(fd: int) -> bool:
        return False

    monkeypatch.setattr(commit, "can_sync_file_system", never)
    runs = runs_in(tmp_path)
    assert commit_all(tmp_path, runs) == [None] * MANY
    assert (syncs.whole, {str(run.paths.root) for run in runs} <= set(syncs.files)) == ([], True)


def test_a_disk_that_is_not_the_real_one_is_synced_by_itself(tmp_path: Path, syncs: Syncs) -> None:
    disks = [FaultyDisk() for _ in range(MANY)]
    runs = [new_run(tmp_path, run_id=f"run_{number}", disk=disk) for number, disk in enumerate(disks)]
    assert commit_all(tmp_path, runs) == [None] * MANY
    assert (syncs.whole, {disk.counts["sync"] for disk in disks}) == ([], {1})


def test_what_a_log_needs_on_another_file_system_is_synced_there(tmp_path: Path, elsewhere: Path, syncs: Syncs) -> None:
    far = new_run(tmp_path, run_id="far", disk=SystemDisk(), link=elsewhere / "links" / "far")
    assert commit_all(tmp_path, [far, *runs_in(tmp_path)]) == [None] * (MANY + 1)
    assert len(syncs.whole) == 1
    assert {str(elsewhere / "links"), str(far.paths.root)} <= set(syncs.files)


def test_a_log_that_was_closed_meanwhile_harms_no_other(tmp_path: Path) -> None:
    closed, *runs = runs_in(tmp_path)
    errors = commit_all(tmp_path, [closed, *runs], close=closed)
    assert errors[1:] == [None] * (MANY - 1)


def test_a_disk_that_does_not_answer_holds_up_no_other(tmp_path: Path, elsewhere: Path) -> None:
    disk = SlowDisk()
    stuck, fine = new_run(tmp_path, disk=disk), new_run(elsewhere)
    waiting = get_committer(tmp_path.stat().st_dev).request(stuck.log)
    assert disk.syncing.wait(WAIT)
    fine.commit()
    assert not waiting.done()
    disk.may_go_on.set()
    waiting.result(WAIT)
    stuck.close()
    fine.close()
