"""One writer at a time: of many that race for a run one proceeds, and it keeps the run until it lets go or dies."""

import signal
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from skills_runtime.errors import LogLocked, RunExists
from skills_runtime.events.payloads import HumanResponse
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import authenticate, read_verified
from skills_runtime.runs.run import open_run
from tests.support.children import Zygote, zygote
from tests.support.runs import filled_run, keys_in, new_run, ports_in

RACERS = 8


@pytest.fixture(scope="module")
def nursery() -> Generator[Zygote]:
    with zygote(__name__) as nursery:
        yield nursery


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    return filled_run(tmp_path)


def race(say: IO[bytes], hear: IO[bytes], directory: Path, root: Path) -> None:
    """Try to open the run when told, say how it went, and hold it until told to let go."""
    hear.readline()
    try:
        run = open_run(root, ports_in(directory))
    except LogLocked:
        say.write(b"locked\n")
        return
    run.append(HumanResponse(call_id="winner"))
    run.commit()
    say.write(b"mine\n")
    hear.readline()
    run.close()
    say.write(b"closed\n")


@pytest.mark.parametrize("attempt", range(5))
def test_of_eight_processes_that_open_a_run_at_once_exactly_one_proceeds(
    attempt: int, nursery: Zygote, paths: RunPaths, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        racers = [stack.enter_context(nursery.child(race, tmp_path, paths.root)) for _ in range(RACERS)]
        for racer in racers:
            racer.tell(b"go")
        answers = Counter(racer.line() for racer in racers)
    assert answers == {b"mine": 1, b"locked": RACERS - 1}
    assert [event.seq for event in read_verified(paths, keys_in(tmp_path))] == list(range(16))


def test_writers_that_take_turns_all_get_their_turn(nursery: Zygote, paths: RunPaths, tmp_path: Path) -> None:
    for _ in range(RACERS):
        with nursery.child(race, tmp_path, paths.root) as racer:
            racer.tell(b"go")
            assert racer.line() == b"mine"
            racer.tell(b"let go")
            assert racer.line() == b"closed"
    report = authenticate(paths, keys_in(tmp_path))
    assert (report.position.seq, report.position.epoch, report.tail_fault) == (15 + RACERS, 1 + RACERS, None)


def test_a_stopped_writer_keeps_its_run(nursery: Zygote, paths: RunPaths, tmp_path: Path) -> None:
    with nursery.child(race, tmp_path, paths.root) as holder:
        holder.tell(b"go")
        assert holder.line() == b"mine"
        holder.send(signal.SIGSTOP)
        with pytest.raises(LogLocked, match=f"pid {holder.pid}"):
            open_run(paths.root, ports_in(tmp_path))
        holder.send(signal.SIGCONT)
        holder.tell(b"let go")
        assert holder.line() == b"closed"
    open_run(paths.root, ports_in(tmp_path)).close()


@pytest.mark.parametrize("stopped", [False, True])
def test_a_killed_writer_gives_its_run_free(stopped: bool, nursery: Zygote, paths: RunPaths, tmp_path: Path) -> None:
    with nursery.child(race, tmp_path, paths.root) as holder:
        holder.tell(b"go")
        assert holder.line() == b"mine"
        if stopped:
            holder.send(signal.SIGSTOP)
        holder.kill()
        run = open_run(paths.root, ports_in(tmp_path))
        assert run.log.next_seq == 16
        run.close()


def test_readers_are_not_kept_out_by_a_writer(nursery: Zygote, paths: RunPaths, tmp_path: Path) -> None:
    with nursery.child(race, tmp_path, paths.root) as holder:
        holder.tell(b"go")
        assert holder.line() == b"mine"
        assert [event.seq for event in read_verified(paths, keys_in(tmp_path))] == list(range(16))


def create_in_race(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    """Try to create one and the same run when told."""
    hear.readline()
    try:
        run = new_run(directory)
    except RunExists:
        say.write(b"exists\n")
        return
    say.write(b"mine\n")
    hear.readline()
    run.close()


@pytest.mark.parametrize("attempt", range(5))
def test_of_eight_processes_that_create_a_run_at_once_exactly_one_proceeds(
    attempt: int, nursery: Zygote, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        racers = [stack.enter_context(nursery.child(create_in_race, tmp_path)) for _ in range(RACERS)]
        for racer in racers:
            racer.tell(b"go")
        answers = Counter(racer.line() for racer in racers)
        assert answers == {b"mine": 1, b"exists": RACERS - 1}
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["run_test"]
