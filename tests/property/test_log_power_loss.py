"""Power loss at any moment: what a commit acknowledged is there when the machine starts again.

The tests at the end show that this would be noticed: without commits, or with a disk that lies, events are lost.
"""

import random
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from skills_runtime.errors import LogError
from skills_runtime.projections import RunView, fold
from skills_runtime.runs.log import read_events
from skills_runtime.runs.record import build_record, read_record
from skills_runtime.runs.run import open_run
from tests.support.children import Child, Zygote, zygote
from tests.support.crashes import Acknowledged, Behaviour, create_linked, write_in_step, write_until_killed
from tests.support.disks import Power, power, require_fuse
from tests.support.runs import RUN_ID, ports_in, spec_in

MEMORY = Path("/dev/shm")


class Promise(NamedTuple):
    """An acknowledgement, and how many syncs had happened by then."""

    acknowledged: Acknowledged
    synced: int


@pytest.fixture(scope="module")
def nursery() -> Generator[Zygote]:
    require_fuse()
    with zygote("tests.support.crashes", "tests.support.disks", "mfusepy") as nursery:
        yield nursery


@pytest.fixture
def directory() -> Generator[Path]:
    """A directory in memory where there is one: many machines are started again here."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        yield Path(directory)


def step(child: Child) -> list[Acknowledged]:
    """Let the writer do one thing; what it then acknowledged."""
    child.tell(b"go")
    lines = list(iter(child.line, b""))
    return [msgspec.json.decode(line, type=Acknowledged) for line in lines]


def written(nursery: Zygote, machine: Power, steps: int, *, seed: int, behaviour: Behaviour = "mixed") -> list[Promise]:
    """Let a writer work for some steps, then kill it; everything it was promised, and when."""
    promises: list[Promise] = []
    with nursery.child(write_in_step, machine.disk, RUN_ID, seed, behaviour) as child:
        for _ in range(steps):
            acknowledged = step(child)
            promises += [Promise(write, machine.synced()) for write in acknowledged]
        child.kill()
    return promises


def lost(machine: Path, promised: list[Acknowledged]) -> list[Acknowledged]:
    """Start the machine again, open the run and name what is not there."""
    root = spec_in(machine).root
    if not root.exists():
        return promised
    run = open_run(root, ports_in(machine))
    try:
        events = list(read_events(run.paths))
        assert [event.seq for event in events] == list(range(len(events)))
        assert run.view == fold(events, RunView())
        assert read_record(run.paths.run_json) == build_record(run.state)
        there = {event.seq: event.mac for event in events}
        for write in promised:
            assert write.blob is None or there.get(write.seq) != write.mac or run.blobs.get(write.blob)
    finally:
        run.close()
    return [one for one in promised if there.get(one.seq) != one.mac]


def committed(promises: list[Promise], moment: int) -> list[Acknowledged]:
    """What a commit had acknowledged before this moment."""
    return [write for write, synced in promises if write.durability == "committed" and synced <= moment]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nothing_committed_is_lost_whenever_the_power_fails(nursery: Zygote, directory: Path, seed: int) -> None:
    with power(nursery, directory) as machine:
        promises = written(nursery, machine, 20, seed=seed)
        machine.fail()
    moments = range(machine.synced() + 1)
    assert len(moments) > 20
    assert {write.durability for write, _ in promises} == {"written", "committed"}
    for moment in moments:
        left = machine.restore(directory / "left", moment=moment)
        assert lost(left, committed(promises, moment)) == [], moment
        shutil.rmtree(left)


@pytest.mark.parametrize("seed", [4, 5])
def test_nothing_committed_is_lost_when_writers_were_killed_before_the_power_fails(
    nursery: Zygote, directory: Path, seed: int
) -> None:
    promises: list[Promise] = []
    with power(nursery, directory) as machine:
        for number in range(6):
            promises += written(nursery, machine, 1 + number % 3 * 2, seed=seed * 10 + number)
            machine.restore(directory / "left")
            assert lost(directory / "left", committed(promises, machine.synced())) == [], number
            shutil.rmtree(directory / "left")
        machine.fail()


def test_a_run_is_there_as_a_whole_from_its_first_commit_on(nursery: Zygote, directory: Path) -> None:
    with power(nursery, directory) as machine:
        promises = written(nursery, machine, 2, seed=0, behaviour="commit")
        machine.fail()
    assert len(promises) == 1
    left = machine.restore(directory / "left")
    assert lost(left, committed(promises, machine.synced())) == []
    run = spec_in(left).root
    assert {"workspace", "deliverables", "logs", "blobs", "prompt.md", "config.yaml"} <= {p.name for p in run.iterdir()}
    assert (run / "prompt.md").read_text() == "Say hello.\n"


def test_a_run_outside_its_workspace_is_found_by_its_id_from_its_first_commit_on(
    nursery: Zygote, directory: Path
) -> None:
    with power(nursery, directory) as machine:
        nursery.call(create_linked, machine.disk)
        machine.fail()
    left = machine.restore(directory / "left")
    link = left / "workspace" / ".skills_runtime_sdk" / "runs" / RUN_ID
    assert link.readlink() == machine.disk / "far" / "away" / "run"
    open_run(left / "far" / "away" / "run", ports_in(left)).close()


def test_everything_an_earlier_writer_left_is_durable_once_the_run_was_opened_again(
    nursery: Zygote, directory: Path
) -> None:
    with power(nursery, directory) as machine:
        promises = written(nursery, machine, 4, seed=0, behaviour="keep without commit")
        written(nursery, machine, 1, seed=1)
        machine.fail()
    assert len(promises) == 3
    assert lost(machine.restore(directory / "left"), [write for write, _ in promises]) == []


@pytest.mark.parametrize("seed", range(6))
def test_nothing_committed_is_lost_by_a_writer_at_full_speed(nursery: Zygote, directory: Path, seed: int) -> None:
    with power(nursery, directory) as machine:
        with nursery.child(write_until_killed, machine.disk, RUN_ID, seed) as child:
            texts = [child.line() for _ in range(random.Random(seed).randrange(3, 60))]
            child.kill()
            texts += child.hear.read().split(b"\n")[:-1]
        machine.fail()
    promised = [msgspec.json.decode(line, type=Acknowledged) for line in texts]
    left = machine.restore(directory / "left")
    assert lost(left, [write for write in promised if write.durability == "committed"]) == []


def test_what_was_never_committed_is_lost(nursery: Zygote, directory: Path) -> None:
    with power(nursery, directory) as machine:
        promises = written(nursery, machine, 12, seed=0, behaviour="write")
        machine.fail()
    promised = [write for write, _ in promises]
    assert len(promised) == 11
    assert lost(machine.restore(directory / "left"), promised) == promised


def test_a_disk_that_only_pretends_to_sync_is_detected(nursery: Zygote, directory: Path) -> None:
    with power(nursery, directory) as machine:
        promises = written(nursery, machine, 12, seed=0, behaviour="commit on a lying disk")
        machine.fail()
    promised = committed(promises, machine.synced())
    assert len(promised) == 11
    left = machine.restore(directory / "left")
    try:
        missing = lost(left, promised)
    except LogError:
        missing = promised
    assert len(missing) >= 10
