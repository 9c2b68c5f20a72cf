"""The fakes keep the promises of the real ones, and fail only where told."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.ports import Clock, Disk, Ids
from skills_runtime.runs.log.commit import SystemDisk
from skills_runtime.testing import CountingIds, FaultyDisk, FrozenClock


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    yield fd
    os.close(fd)


@pytest.mark.parametrize("disk", [SystemDisk(), FaultyDisk()], ids=["real", "fake"])
def test_a_disk_writes_syncs_and_cuts(disk: Disk, fd: int) -> None:
    assert disk.write(fd, b"hello") == 5
    disk.sync(fd)
    disk.truncate(fd, 2)
    assert os.pread(fd, 9, 0) == b"he"


@pytest.mark.parametrize("clock", [SystemClock(), FrozenClock()], ids=["real", "fake"])
def test_a_clock_gives_utc_with_microseconds_and_never_goes_back(clock: Clock) -> None:
    times = [clock.now() for _ in range(3)]
    assert times == sorted(times)
    assert all(len(time) == len("2026-01-01T00:00:00.000000Z") and time.endswith("Z") for time in times)
    assert clock.monotonic() <= clock.monotonic()


@pytest.mark.parametrize("ids", [RandomIds(), CountingIds()], ids=["real", "fake"])
def test_ids_are_a_kind_and_32_hex_digits_and_do_not_repeat(ids: Ids) -> None:
    made = [ids.new("run") for _ in range(100)]
    assert len(set(made)) == 100
    assert all(one.startswith("run_") and len(bytes.fromhex(one[4:])) == 16 for one in made)


def test_every_call_is_counted_also_the_failed_ones(fd: int) -> None:
    disk = FaultyDisk()
    disk.fail("write", errno.EIO, nth=2)
    disk.write(fd, b"a")
    with pytest.raises(OSError, match="Input/output error"):
        disk.write(fd, b"b")
    disk.write(fd, b"c")
    assert disk.counts == {"write": 3, "sync": 0, "truncate": 0}
    assert os.pread(fd, 9, 0) == b"ac"


def test_faults_count_from_the_call_they_are_set_at(fd: int) -> None:
    disk = FaultyDisk()
    disk.sync(fd)
    disk.fail("sync", errno.ENOSPC)
    with pytest.raises(OSError, match="No space left on device"):
        disk.sync(fd)
    disk.sync(fd)


def test_a_short_write_keeps_the_beginning_and_says_so(fd: int) -> None:
    disk = FaultyDisk()
    disk.shorten_write(3)
    assert disk.write(fd, b"hello") == 3
    assert disk.write(fd, b"hello") == 5
    assert os.pread(fd, 99, 0) == b"helhello"


def test_a_frozen_clock_ticks_one_microsecond_at_each_reading() -> None:
    clock = FrozenClock("2026-03-01T10:00:00+01:00")
    assert [clock.now(), clock.now()] == ["2026-03-01T09:00:00.000000Z", "2026-03-01T09:00:00.000001Z"]


def test_a_frozen_clock_can_be_set_and_advanced_and_stays_monotonic() -> None:
    clock = FrozenClock()
    clock.advance(10)
    assert clock.monotonic() == 10
    clock.set("2020-01-01T00:00:00Z")
    assert clock.now() == "2020-01-01T00:00:00.000000Z"
    assert clock.monotonic() >= 10
    clock.advance(0.5)
    assert clock.now() == "2020-01-01T00:00:00.500001Z"


def test_counting_ids_count_each_kind_on_its_own() -> None:
    ids = CountingIds()
    assert [ids.new("run")[-2:], ids.new("run")[-2:], ids.new("task")[-2:]] == ["01", "02", "01"]
