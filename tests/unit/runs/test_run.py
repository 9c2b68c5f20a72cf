"""An open run: what it keeps, how it moves, and that it stays in step with its log."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from skills_runtime.errors import IllegalTransition, LogCorrupt
from skills_runtime.events.payloads import RunCompleted, ToolCallFinished
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunView, fold
from skills_runtime.runs.log import read_events
from skills_runtime.runs.run import open_run
from skills_runtime.testing import FaultyDisk
from tests.support.runs import keys_in, lines_of, new_run, ports_in, sample_events, switching_often, working_run


def test_the_view_is_the_fold_of_the_log_at_every_moment(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    for payload in sample_events(end=True):
        run.append(payload)
        assert run.view == fold(read_events(run.paths), RunView())
    run.close()


def test_a_run_that_is_opened_again_has_the_same_view(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    for payload in sample_events():
        run.append(payload)
    run.close()
    again = open_run(run.paths.root, ports_in(tmp_path))
    assert again.view == run.view
    again.close()


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED])
def test_a_run_does_not_end_by_a_mere_change_of_state(status: RunStatus, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.change(RunStatus.RUNNING)
    before = len(lines_of(run.paths))
    with pytest.raises(IllegalTransition, match="by the event that ends it"):
        run.change(status)
    assert len(lines_of(run.paths)) == before
    run.append(RunCompleted(final_output=""))
    run.close()


def test_an_illegal_change_writes_nothing(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with pytest.raises(IllegalTransition):
        run.change(RunStatus.WAITING_FOR_TOOL)
    assert len(lines_of(run.paths)) == 2
    run.close()


def test_bytes_that_were_kept_before_are_kept_once_and_synced_once(tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = new_run(tmp_path, disk=disk)
    first = run.put_blob(b"bytes")
    run.commit()
    syncs = disk.counts["sync"]
    assert run.put_blob(b"bytes") == first
    run.commit()
    assert disk.counts["sync"] == syncs
    run.close()


def test_bytes_that_a_crash_left_short_are_written_anew(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    digest = run.put_blob(b"bytes")
    run.close()
    run.blobs.path(digest).write_bytes(b"")
    again = open_run(run.paths.root, ports_in(tmp_path))
    assert again.put_blob(b"bytes") == digest
    assert again.blobs.get(digest) == b"bytes"
    again.close()


@pytest.mark.parametrize("name", ["../../../run.json", "no digest", "0" * 64])
def test_a_log_that_names_bytes_which_are_not_there_can_be_opened(name: str, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.append(ToolCallFinished(call_id="c", tool="t", result={}, result_blob=name))
    run.close()
    open_run(run.paths.root, ports_in(tmp_path)).close()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files and directories that were synced, in order."""
    fsync = os.fsync
    noted: list[str] = []

    def noting(fd: int) -> None:
        noted.append(os.path.realpath(f"/proc/self/fd/{fd}"))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", noting)
    return noted


def test_everything_that_makes_a_run_is_synced_with_its_first_commit(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "runs").mkdir()
    keys_in(tmp_path).current()
    run = new_run(tmp_path)
    digest = run.put_blob(b"bytes")
    synced.clear()
    run.commit()
    run.close()
    root, blob = run.paths.root, run.blobs.paths_to_sync(digest)
    assert synced[:4] == [str(path) for path in blob]
    assert synced[-3:-1] == [str(root), str(root.parent)], "the name of a run becomes safe after its contents"
    files = {"prompt.md", "config.yaml", "task.yaml", "session.json", "effective-system-prompt.md"}
    assert {Path(path).name for path in synced[4:-3]} == files | {"sandbox-manifest.json", "events.jsonl"}
    assert synced[-1] == str(run.paths.events)


def test_bytes_that_many_threads_keep_are_all_synced(tmp_path: Path, synced: list[str]) -> None:
    run = new_run(tmp_path)

    def keep(number: int) -> list[str]:
        entries: list[str] = []
        for step in range(30):
            entries.append(run.put_blob(b"%d-%d" % (number, step)))
            run.commit()
        return entries

    with switching_often(), ThreadPoolExecutor(8) as pool:
        kept = [digest for digests in pool.map(keep, range(8)) for digest in digests]
    run.close()
    assert len(kept) == 240
    assert {str(path) for digest in kept for path in run.blobs.paths_to_sync(digest)} <= set(synced)


@pytest.mark.parametrize("name", ["workspace", "deliverables", "logs"])
def test_a_run_whose_directory_is_a_link_is_not_opened(tmp_path: Path, name: str) -> None:
    run = working_run(tmp_path)
    run.close()
    (run.paths.root / name).rename(tmp_path / "moved")
    (run.paths.root / name).symlink_to(tmp_path / "moved")
    with pytest.raises(LogCorrupt, match=name):
        open_run(run.paths.root, ports_in(tmp_path))
