"""One open run: its state moves by events that are durable before anybody is told."""

import errno
import fcntl
import hashlib
import os
from pathlib import Path

import pytest

from skills_runtime.errors import DeleteDisabled, IllegalTransition, StorageFailed
from skills_runtime.events.payloads import FileOperation, LlmRequestStarted, RunStateChanged
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState, fold
from skills_runtime.runs import RunPaths, files_of, finish_run, open_run, read_events, read_record
from skills_runtime.testing import FaultyDisk
from tests.support.runs import COMPLETED, files_in, new_run, ports_in, working_run
from tests.support.tools import tree


def test_a_move_is_an_event_and_then_a_line_in_run_json(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.change(RunStatus.RUNNING, reason="somebody asked")
    last = list(read_events(run.paths))[-1]
    assert last.payload == RunStateChanged(before="pending", after="running", reason="somebody asked")
    assert read_record(run.paths.run_json).started_at == last.timestamp
    run.close()


@pytest.mark.parametrize("status", [RunStatus.PENDING, RunStatus.WAITING_FOR_TOOL, RunStatus.COMPLETED])
def test_an_illegal_move_changes_no_byte(tmp_path: Path, status: RunStatus) -> None:
    run = new_run(tmp_path)
    before = tree(run.paths.root)
    with pytest.raises(IllegalTransition):
        run.change(status)
    assert tree(run.paths.root) == before
    run.close()


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED])
def test_an_end_is_not_a_mere_move(tmp_path: Path, status: RunStatus) -> None:
    run = new_run(tmp_path)
    run.change(RunStatus.RUNNING)
    before = tree(run.paths.root)
    with pytest.raises(IllegalTransition):
        run.change(status)
    assert tree(run.paths.root) == before
    run.close()


def test_a_move_that_is_not_durable_is_not_reported(tmp_path: Path) -> None:
    disk, statuses = FaultyDisk(), list[RunStatus]()
    run = new_run(tmp_path, disk=disk)
    run.watch(lambda state: statuses.append(state.status))
    disk.fail("sync", errno.EIO)
    with pytest.raises(StorageFailed):
        run.change(RunStatus.RUNNING)
    run.close()
    assert statuses == []
    assert read_record(run.paths.run_json).status == "pending"


def test_watchers_see_every_durable_state(tmp_path: Path) -> None:
    statuses: list[RunStatus] = []
    run = new_run(tmp_path)
    run.watch(lambda state: statuses.append(state.status))
    run.change(RunStatus.RUNNING)
    finish_run(run, COMPLETED)
    run.close()
    assert statuses == [RunStatus.RUNNING, RunStatus.COMPLETED]


def test_the_state_in_memory_is_the_fold_of_the_log(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    assert run.state == fold(read_events(run.paths), RunState())
    run.close()
    again = open_run(run.paths.root, ports_in(tmp_path))
    assert again.view == run.view
    again.close()


def test_the_log_only_grows(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    begun = run.paths.events.read_bytes()
    files_in(run).write("workspace/a", b"x", create_dirs=True)
    finish_run(run, COMPLETED)
    run.close()
    whole = run.paths.events.read_bytes()
    assert hashlib.sha256(whole[: len(begun)]).digest() == hashlib.sha256(begun).digest()
    assert len(whole) > len(begun)


def test_the_log_is_opened_to_append_only(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    flags = [
        fcntl.fcntl(int(fd), fcntl.F_GETFL)
        for fd in os.listdir("/proc/self/fd")  # noqa: PTH208 - the names are numbers, not files
        if _leads_to(fd, run.paths)
    ]
    run.close()
    assert flags
    assert all(flag & os.O_APPEND for flag in flags)


def _leads_to(fd: str, paths: RunPaths) -> bool:
    try:
        return Path(f"/proc/self/fd/{fd}").readlink() == paths.events
    except OSError:
        return False


def test_a_run_that_grew_large_is_opened_from_its_snapshot_to_the_same_state(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    for _ in range(45):
        run.append(LlmRequestStarted(model="m" * 100_000))
    run.commit()
    assert (run.paths.logs / "state.snapshot").exists()
    run.append(LlmRequestStarted(model="last"))
    run.close()
    again = open_run(run.paths.root, ports_in(tmp_path))
    assert again.state.model == "last"
    assert again.view == run.view
    again.close()


def test_deleting_is_disabled_unless_the_configuration_allows_it(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    files = files_in(run)
    files.write("workspace/a", b"x", create_dirs=True)
    with pytest.raises(DeleteDisabled):
        files.delete("workspace/a")
    assert (run.paths.workspace / "a").exists()
    files_of(run, run.paths.root, mode="isolated", delete="allow").delete("workspace/a")
    assert not (run.paths.workspace / "a").exists()
    recorded = [event.payload for event in read_events(run.paths) if isinstance(event.payload, FileOperation)]
    assert [(operation.op, operation.ok, operation.error) for operation in recorded] == [
        ("write", True, None),
        ("delete", False, "delete_disabled"),
        ("delete", True, None),
    ]
    run.close()
