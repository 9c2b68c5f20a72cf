"""A disk that is full or broken ends the run cleanly: what was acknowledged stays, and the run goes on afterwards."""

import errno
import random
from collections.abc import Generator
from pathlib import Path
from typing import IO

import pytest

from skills_runtime.errors import AccessRefused, LogError, StorageFailed
from skills_runtime.events.payloads import HumanResponse
from skills_runtime.events.states import RunStatus
from skills_runtime.runs.log import authenticate, read_verified
from skills_runtime.runs.record import read_record
from skills_runtime.runs.run import Run, open_run
from skills_runtime.testing import FaultyDisk
from tests.support.children import Zygote
from tests.support.disks import SmallDisk, nursery_for_small_disks
from tests.support.runs import count_descriptors, keys_in, new_run, ports_in, sample_events

SIZE = 64  # pages, which is 256 KiB


@pytest.fixture(scope="module")
def nursery() -> Generator[Zygote]:
    with nursery_for_small_disks(__name__) as nursery:
        yield nursery


def fill(run: Run, seed: int) -> int:
    """Append until the disk refuses; how many events were acknowledged in all."""
    sizes = random.Random(seed)

    def append_for_ever() -> None:
        while True:
            run.append(HumanResponse(call_id="x", answer="y" * sizes.randrange(6000)))

    with pytest.raises(StorageFailed):
        append_for_ever()
    return run.log.next_seq


def sound(run: Run, directory: Path) -> tuple[int, str | None]:
    """How many lines verify, and what is wrong behind them."""
    report = authenticate(run.paths, keys_in(directory))
    return report.position.seq, report.tail_fault


def fill_and_go_on(say: IO[bytes], hear: IO[bytes], directory: Path, seed: int) -> None:
    disk = SmallDisk(directory / "disk", SIZE)
    run = new_run(directory, root=disk.path / "run")
    disk.leave(20)
    acknowledged = fill(run, seed)
    for _ in range(2):
        with pytest.raises(StorageFailed):
            run.append(HumanResponse(call_id="x"))
        with pytest.raises(StorageFailed):
            run.commit()
    run.close()
    assert sound(run, directory) == (acknowledged, None), "the short write was cut away"
    assert read_record(run.paths.run_json).status == "pending"
    disk.leave(5)
    again = open_run(run.paths.root, ports_in(directory))
    assert again.log.next_seq == acknowledged
    again.append(HumanResponse(call_id="after"))
    again.commit()
    again.close()
    assert sound(run, directory) == (acknowledged + 1, None)


@pytest.mark.parametrize("seed", range(8))
def test_a_log_that_fills_the_disk_stays_sound_and_goes_on_when_there_is_room(
    nursery: Zygote, tmp_path: Path, seed: int
) -> None:
    nursery.call(fill_and_go_on, tmp_path, seed)


def open_without_room(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    disk = SmallDisk(directory / "disk", SIZE)
    run = new_run(directory, root=disk.path / "run")
    run.append(HumanResponse(call_id="x"))
    run.close()
    with run.paths.events.open("ab") as file:
        file.write(b"torn" * 3000)
    before, files = run.paths.events.read_bytes(), disk.files()
    descriptors = count_descriptors()
    disk.leave(0)
    for _ in range(2):
        with pytest.raises(StorageFailed):
            open_run(run.paths.root, ports_in(directory))
        assert run.paths.events.read_bytes() == before
        assert (disk.files(), count_descriptors()) == (files, descriptors)
    disk.leave(8)
    open_run(run.paths.root, ports_in(directory)).close()
    assert sound(run, directory) == (4, None)


def test_a_run_that_cannot_be_repaired_for_lack_of_room_is_left_as_it_is(nursery: Zygote, tmp_path: Path) -> None:
    nursery.call(open_without_room, tmp_path)


def everything_without_room(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    disk = SmallDisk(directory / "disk", SIZE)
    run = new_run(directory, root=disk.path / "run")
    run.commit()
    disk.leave(0)
    files = [path for path in disk.path.rglob("*") if path.is_file()]
    with pytest.raises(StorageFailed, match="blob"):
        run.put_blob(b"x" * 10_000)
    with pytest.raises(StorageFailed):
        run.save()
    run.append(HumanResponse(call_id="small enough for the page that is there"))
    run.commit()
    with pytest.raises(StorageFailed):
        run.change(RunStatus.RUNNING)
    assert [path for path in disk.path.rglob("*") if path.is_file()] == files
    assert read_record(run.paths.run_json).last_seq == 1
    run.close()
    disk.leave(4)
    again = open_run(run.paths.root, ports_in(directory))
    assert again.state.status is RunStatus.RUNNING, "its event was durable before run.json could not be written"
    assert read_record(run.paths.run_json).status == "running"
    again.close()


def test_every_step_of_a_run_fails_in_words_when_there_is_no_room(nursery: Zygote, tmp_path: Path) -> None:
    nursery.call(everything_without_room, tmp_path)


def create_with_too_little_room(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    disk = SmallDisk(directory / "disk", SIZE)
    disk.leave(0)
    home = disk.path / "a" / "b"
    key = {"a", "a/b", "a/b/state", "a/b/state/keys", "a/b/state/keys/log.key"}
    descriptors = count_descriptors()
    failures = 0
    while (run := created(home)) is None:
        assert disk.files() <= key, failures
        assert count_descriptors() == descriptors
        failures += 1
        disk.leave(failures)
    run.close()
    assert failures > 5
    assert sound(run, home) == (2, None)


def created(directory: Path) -> Run | None:
    try:
        return new_run(directory)
    except (StorageFailed, AccessRefused):
        return None


def test_a_run_that_does_not_fit_leaves_nothing_behind(nursery: Zygote, tmp_path: Path) -> None:
    nursery.call(create_with_too_little_room, tmp_path)


def snapshot_without_room(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    disk = SmallDisk(directory / "disk", 2000)
    run = new_run(directory, root=disk.path / "run")
    for _ in range(14):
        run.append(HumanResponse(call_id="x", answer="y" * 400_000))
    disk.leave(0)
    run.commit()
    assert [path.name for path in run.paths.logs.iterdir() if path.stat().st_size] == []
    run.close()
    assert sound(run, directory) == (16, None)


def test_a_commit_succeeds_although_there_is_no_room_for_its_side_files(nursery: Zygote, tmp_path: Path) -> None:
    nursery.call(snapshot_without_room, tmp_path)


def run_on(disk: FaultyDisk, directory: Path) -> Run:
    """A run with some committed events."""
    run = new_run(directory, disk=disk)
    for payload in sample_events():
        run.append(payload)
    run.commit()
    return run


def refused_for_good(run: Run, disk: FaultyDisk) -> None:
    """The writer takes nothing more, and touches the disk no more."""
    before = disk.counts
    for _ in range(3):
        with pytest.raises(StorageFailed):
            run.append(HumanResponse(call_id="x"))
        with pytest.raises(StorageFailed):
            run.commit()
    assert disk.counts == before
    run.close()


@pytest.mark.parametrize("size", [0, 1, 2, 50, 100, 150, 177, 178])
def test_a_short_write_is_cut_away_and_ends_the_run(size: int, tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = run_on(disk, tmp_path)
    before = run.paths.events.read_bytes()
    disk.shorten_write(size)
    with pytest.raises(StorageFailed, match="could not be written completely"):
        run.append(HumanResponse(call_id="x" * 100))
    assert run.paths.events.read_bytes() == before
    refused_for_good(run, disk)
    again = open_run(run.paths.root, ports_in(tmp_path))
    assert again.append(HumanResponse(call_id="x")).seq == 15
    again.close()


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_write_that_fails_ends_the_run(code: int, tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = run_on(disk, tmp_path)
    before = run.paths.events.read_bytes()
    disk.fail("write", code)
    with pytest.raises(StorageFailed, match="could not be written: "):
        run.append(HumanResponse(call_id="x"))
    assert run.paths.events.read_bytes() == before
    refused_for_good(run, disk)
    open_run(run.paths.root, ports_in(tmp_path)).close()


def test_a_short_write_that_cannot_be_cut_away_is_a_torn_end(tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = run_on(disk, tmp_path)
    disk.shorten_write(30)
    disk.fail("truncate", errno.EIO)
    with pytest.raises(StorageFailed):
        run.append(HumanResponse(call_id="x"))
    refused_for_good(run, disk)
    assert sound(run, tmp_path) == (15, "shape")
    again = open_run(run.paths.root, ports_in(tmp_path))
    assert again.log.next_seq == 16
    assert [event.type for event in read_verified(run.paths, keys_in(tmp_path))][-1] == "log_repaired"
    again.close()


def test_a_sync_that_fails_is_never_tried_again_and_the_run_recovers_when_opened(tmp_path: Path) -> None:
    disk = FaultyDisk()
    run = run_on(disk, tmp_path)
    written = run.append(HumanResponse(call_id="not durable"))
    disk.fail("sync", errno.EIO)
    syncs = disk.counts["sync"]
    with pytest.raises(StorageFailed, match="Input/output error"):
        run.commit()
    refused_for_good(run, disk)
    assert disk.counts["sync"] == syncs + 1
    again = open_run(run.paths.root, ports_in(tmp_path))
    assert again.state.last_mac == written.mac
    again.close()


def test_a_file_that_cannot_be_synced_with_the_log_fails_the_commit(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.commit()
    digest = run.put_blob(b"bytes")
    run.append(HumanResponse(call_id=digest))
    run.blobs.path(digest).unlink()
    with pytest.raises(StorageFailed):
        run.commit()
    run.close()


def test_a_run_with_a_broken_disk_is_refused_in_words_from_the_first_event_on(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.fail("write", errno.EIO)
    with pytest.raises(LogError):
        new_run(tmp_path, disk=disk)
    assert not (tmp_path / "runs").exists()
