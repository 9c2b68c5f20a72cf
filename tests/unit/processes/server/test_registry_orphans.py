"""What a dead server has left is ended, and nothing else: not a process with its number, not one that looks like it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from skills_runtime.processes.server.directory import REGISTRY, RuntimeDirectory
from skills_runtime.processes.server.registry import (
    MARKER,
    Entries,
    Entry,
    ProcessIdentity,
    Registry,
    end_orphans,
    find_orphans,
    load,
    this_machine,
)
from skills_runtime.sandbox.supervision import process_tree
from tests.unit.processes.conftest import wait_for_end

SLEEP = ["/bin/sleep", "1000"]


@pytest.fixture
def started() -> Iterator["Started"]:
    with Started() as one:
        yield one


class Started:
    """Processes of the test, ended by it."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def __call__(self, argv: list[str], marker: str | None = None) -> subprocess.Popen[bytes]:
        environment = {"PATH": "/usr/bin:/bin"} | ({MARKER: marker} if marker else {})
        process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, start_new_session=True)
        self._processes.append(process)
        return process

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def entries(*sessions: Entry, machine: str | None = None) -> Entries:
    return Entries(machine=machine or this_machine(), exec_sessions=dict(enumerate(sessions, start=1)))


def known(process: subprocess.Popen[bytes], *, later: int = 0) -> ProcessIdentity:
    found = process_tree.find_process(process.pid)
    assert found is not None
    return ProcessIdentity(found.pid, found.started + later)


def test_a_process_with_the_marker_is_ended(started: Started) -> None:
    ours, stranger = started(SLEEP, "m1"), started(SLEEP, "m2")
    cleanup = end_orphans(entries(Entry(marker="m1")))
    assert cleanup.ended == (ours.pid,)
    assert (ours.wait(), stranger.poll()) == (-9, None)


def test_a_process_that_lost_its_marker_is_known_by_its_number_and_start(started: Started) -> None:
    ours = started(SLEEP)
    assert end_orphans(entries(Entry(marker="gone", processes=(known(ours),)))).ended == (ours.pid,)


def test_a_process_that_only_has_the_number_is_left_alone(started: Started) -> None:
    stranger = started(SLEEP)
    noted = Entry(marker="gone", processes=(known(stranger, later=-1),))
    assert end_orphans(entries(noted)).ended == ()
    assert stranger.poll() is None


def test_numbers_of_another_boot_mean_nothing(started: Started) -> None:
    stranger = started(SLEEP, "m1")
    noted = Entry(marker="m1", processes=(known(stranger),))
    assert end_orphans(entries(noted, machine="another")).ended == ()
    assert stranger.poll() is None


def test_what_an_orphan_has_started_ends_with_it(started: Started) -> None:
    parent = started(["/bin/sh", "-c", f"env -u {MARKER} /bin/sleep 1000 & echo $!; wait"], "m1")
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert set(end_orphans(entries(Entry(marker="m1"))).ended) == {parent.pid, child}
    wait_for_end(child)


def test_an_orphan_that_forks_on_and_on_is_ended(started: Started) -> None:
    script = "trap '' TERM HUP; echo up; while :; do (sleep 0.01; exec sleep 1000) & sleep 0.01; done"
    ours = started(["/bin/bash", "-c", script], "m1")
    assert ours.stdout is not None
    ours.stdout.readline()
    end_orphans(entries(Entry(marker="m1")))
    assert process_tree.find_marked(process_tree.list_processes(), f"{MARKER}=m1".encode()) == []


def test_the_cleaning_process_its_parents_and_children_are_spared() -> None:
    processes = [
        process_tree.Process(10, 1, 10, 5),
        process_tree.Process(11, 10, 10, 5),
        process_tree.Process(12, 11, 10, 5),
    ]
    table = {process.pid: process for process in (*processes, process_tree.Process(13, 10, 10, 5))}
    noted = entries(Entry(marker="m", processes=(ProcessIdentity(10, 5),)))
    assert {one.pid for one in find_orphans(noted, table, machine=noted.machine)} == {10, 11, 12, 13}
    assert {one.pid for one in find_orphans(noted, table, machine=noted.machine, cleaner=11)} == {13}


def test_part_of_a_marker_is_no_marker(started: Started) -> None:
    stranger = started(SLEEP, "m12")
    assert end_orphans(entries(Entry(marker="m1"))).ended == ()
    assert stranger.poll() is None


@pytest.mark.parametrize("text", [b"", b"{}", b"[", b"\xff", b'{"machine": 1}', b"[" * 100_000])
def test_a_nonsensical_registry_names_no_process(place: RuntimeDirectory, text: bytes) -> None:
    place.write(REGISTRY, text)
    assert load(place).exec_sessions == {}
    place.close()


def test_a_session_is_noted_before_it_starts(place: RuntimeDirectory) -> None:
    registry = Registry(place)
    number, entry = registry.begin(created_at_ms=5)
    assert load(place).exec_sessions == {number: entry}
    registry.end(number)
    assert load(place) == Entries(machine=this_machine(), last_session_id=number)
    place.close()


def test_the_registry_remembers_the_first_process_of_a_session(place: RuntimeDirectory, started: Started) -> None:
    registry = Registry(place)
    number, entry = registry.begin(created_at_ms=5)
    ours = started(SLEEP, entry.marker)
    registry.record_process(number, ours.pid)
    assert load(place).exec_sessions[number] == msgspec.structs.replace(entry, processes=(known(ours),))
    place.close()


def test_a_registry_that_is_a_link_is_refused(place: RuntimeDirectory, tmp_path: Path) -> None:
    (place.path / REGISTRY).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="not a real file"):
        load(place)
    place.close()
