"""Ending a run: the order of what is written, and promises that were not kept."""

import asyncio
import errno
import itertools
import threading
from pathlib import Path

import pytest

from skills_runtime.errors import IllegalTransition, LogEnded, StorageFailed
from skills_runtime.events.payloads import RunCancelled, RunCompleted, RunFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.render import render_transcript
from skills_runtime.runs import (
    Deliverable,
    End,
    finish_run,
    finish_run_async,
    open_run,
    read_events,
    read_record,
    verify_run,
)
from skills_runtime.testing import FaultyDisk
from tests.support.runs import (
    COMPLETED,
    REPORT,
    decoded,
    files_in,
    finished_run,
    keys_in,
    lines_of,
    new_run,
    ports_in,
    working_run,
)
from tests.support.tools import tree

REQUIRED = (Deliverable(path="report.md"),)


def test_a_required_deliverable_that_is_missing_fails_the_run(tmp_path: Path) -> None:
    run = working_run(tmp_path, required_deliverables=REQUIRED)
    finish_run(run, COMPLETED)
    run.close()
    assert (run.state.status, run.state.failure_reason) == (RunStatus.FAILED, "missing_deliverable: report.md")
    assert read_record(run.paths.run_json).failure_reason == "missing_deliverable: report.md"
    manifest = decoded(run.paths.artifact_manifest.read_bytes())
    assert manifest["run_status"] == "failed"
    assert manifest["required_deliverables"] == [{"path": "deliverables/report.md", "present": False}]


def test_the_answer_of_a_run_that_broke_its_promise_is_not_lost(tmp_path: Path) -> None:
    run = working_run(tmp_path, required_deliverables=REQUIRED)
    finish_run(run, RunCompleted(final_output="I wrote it."))
    run.close()
    assert decoded(lines_of(run.paths)[-1])["payload"]["details"]["final_output"] == "I wrote it."


@pytest.mark.parametrize(
    "directory", ["workspace/report.md", "workspace/deliverables/report.md", "deliverables/Report.md"]
)
def test_a_required_deliverable_somewhere_else_does_not_count(tmp_path: Path, directory: str) -> None:
    run = working_run(tmp_path, required_deliverables=REQUIRED)
    files_in(run).write(directory, REPORT, create_dirs=True)
    finish_run(run, COMPLETED)
    run.close()
    assert run.state.failure_reason == "missing_deliverable: report.md"


def test_a_link_in_the_place_of_a_required_deliverable_does_not_count(tmp_path: Path) -> None:
    run = working_run(tmp_path, required_deliverables=REQUIRED)
    (run.paths.deliverables / "report.md").symlink_to(run.paths.root / "prompt.md")
    finish_run(run, COMPLETED)
    run.close()
    assert run.state.failure_reason == "missing_deliverable: report.md"


def test_every_missing_deliverable_is_named(tmp_path: Path) -> None:
    deliverables = tuple(Deliverable(path=name) for name in ("a.md", "sub/b.md", "c.md"))
    run = working_run(tmp_path, required_deliverables=deliverables)
    files_in(run).write("deliverables/c.md", b"x", create_dirs=True)
    finish_run(run, COMPLETED)
    run.close()
    assert run.state.failure_reason == "missing_deliverable: a.md, sub/b.md"


def test_a_run_that_kept_its_promise_is_completed_and_lists_what_it_hands_over(tmp_path: Path) -> None:
    paths = finished_run(tmp_path, required_deliverables=REQUIRED)
    end = decoded(lines_of(paths)[-1])
    assert end["type"] == "run_completed"
    assert end["payload"]["artifacts"] == ["deliverables/report.md"]


@pytest.mark.parametrize("end", [RunFailed(error_kind="k", message="broken"), RunCancelled(message="enough")])
def test_a_run_that_failed_for_another_reason_keeps_that_reason(tmp_path: Path, end: End) -> None:
    run = working_run(tmp_path, required_deliverables=REQUIRED)
    finish_run(run, end)
    run.close()
    assert run.state.failure_reason in ("broken", "enough")


def test_the_manifest_is_written_before_the_end_and_the_end_before_run_json(tmp_path: Path) -> None:
    paths = finished_run(tmp_path)
    order = [path.stat().st_mtime_ns for path in (paths.sandbox_manifest, paths.artifact_manifest, paths.run_json)]
    assert order == sorted(order)
    last, end = (decoded(line) for line in lines_of(paths)[-2:])
    assert (last["type"], end["type"]) == ("artifact_manifest_written", "run_completed")
    manifest = decoded(paths.artifact_manifest.read_bytes())
    assert manifest["generated_at"] <= last["timestamp"] <= end["timestamp"]
    assert decoded(paths.sandbox_manifest.read_bytes())["created_at"] <= str(read_record(paths.run_json).started_at)


def test_the_transcript_is_what_the_log_gives(tmp_path: Path) -> None:
    paths = finished_run(tmp_path)
    assert paths.transcript.read_text() == "".join(render_transcript(read_events(paths)))


def test_nothing_follows_the_end(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    finish_run(run, COMPLETED)
    before = tree(run.paths.root)
    with pytest.raises((IllegalTransition, LogEnded)):
        finish_run(run, RunFailed(error_kind="k", message="m"))
    run.close()
    assert tree(run.paths.root) == before


def test_a_run_that_never_ran_cannot_complete(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    before = tree(run.paths.root)
    with pytest.raises(IllegalTransition):
        finish_run(run, COMPLETED)
    assert tree(run.paths.root) == before
    run.close()


def test_a_disk_that_fails_at_any_write_or_sync_of_the_end_leaves_a_run_that_can_end_later(tmp_path: Path) -> None:
    for number, (call, nth) in enumerate(itertools.product(("write", "sync"), (1, 2))):
        path = tmp_path / str(number)
        disk = FaultyDisk()
        run = new_run(path, disk=disk)
        run.change(RunStatus.RUNNING)
        disk.fail("write" if call == "write" else "sync", errno.EIO, nth=nth)
        if call == "sync" and nth == 2:  # the end is synced once
            finish_run(run, COMPLETED)
            run.close()
            continue
        with pytest.raises(StorageFailed):
            finish_run(run, COMPLETED)
        run.close()
        assert read_record(run.paths.run_json).status == "running"
        _ended_by_the_next_process(path, run.paths.root)


def _ended_by_the_next_process(directory: Path, root: Path) -> None:
    try:
        again = open_run(root, ports_in(directory))
    except LogEnded:
        pass  # the end was written, only its durability was in doubt
    else:
        finish_run(again, COMPLETED)
        again.close()
    assert read_record(root / "run.json").status == "completed"
    assert verify_run(root, keys_in(directory)).findings == []


def test_a_manifest_that_cannot_be_written_is_an_error_of_the_disk(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    run.paths.artifact_manifest.unlink()
    run.paths.artifact_manifest.mkdir()
    (run.paths.artifact_manifest / "x").touch()
    with pytest.raises(StorageFailed):
        finish_run(run, COMPLETED)
    run.close()
    assert run.state.open


class HeldDisk(FaultyDisk):
    """A disk whose syncs wait until the test lets them go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.free = threading.Event()
        self.free.set()

    def sync(self, fd: int) -> None:
        self.asked.set()
        assert self.free.wait(20)
        super().sync(fd)


async def test_a_run_that_is_cancelled_while_it_ends_has_ended_whole(tmp_path: Path) -> None:
    disk = HeldDisk()
    run = new_run(tmp_path, disk=disk)
    await run.change_async(RunStatus.RUNNING)
    disk.asked.clear()
    disk.free.clear()
    ending = asyncio.ensure_future(finish_run_async(run, COMPLETED))
    await asyncio.to_thread(disk.asked.wait, 20)
    ending.cancel()
    disk.free.set()
    with pytest.raises(asyncio.CancelledError):
        await ending
    run.close()
    assert read_record(run.paths.run_json).status == "completed"
    assert verify_run(run.paths.root, keys_in(tmp_path)).findings == []


@pytest.mark.parametrize("cut", [0, 10, -1])
def test_a_transcript_that_was_cut_short_is_completed(tmp_path: Path, cut: int) -> None:
    paths = finished_run(tmp_path)
    whole = paths.transcript.read_bytes()
    paths.transcript.write_bytes(whole[:cut])
    with pytest.raises(LogEnded):
        open_run(paths.root, ports_in(tmp_path))
    assert paths.transcript.read_bytes() == whole


def test_a_transcript_that_says_something_else_is_replaced(tmp_path: Path) -> None:
    run = working_run(tmp_path)
    run.paths.transcript.write_text("---\nmine\n")
    finish_run(run, COMPLETED)
    run.close()
    assert run.paths.transcript.read_text() == "".join(render_transcript(read_events(run.paths)))
