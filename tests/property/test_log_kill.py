"""kill -9 at any moment: what a writer acknowledged is there, nothing is there twice, and the run opens again."""

import random
import time
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import LogEnded
from skills_runtime.projections import RunView, fold
from skills_runtime.runs.layout import RunPaths
from skills_runtime.runs.log import authenticate, read_events, read_verified
from skills_runtime.runs.record import build_record, read_record
from skills_runtime.runs.run import open_run
from tests.support.children import Zygote, zygote
from tests.support.crashes import Acknowledged, create_until_killed, end_until_killed, write_until_killed
from tests.support.examples import examples
from tests.support.runs import keys_in, ports_in, spec_in

ROUNDS = examples(200)
ROUNDS_PER_RUN = 8


@pytest.fixture(scope="module")
def nursery() -> Generator[Zygote]:
    with zygote("tests.support.crashes") as nursery:
        yield nursery


def spin(microseconds: float) -> None:
    """Let a little time pass, finer than any sleep could."""
    until = time.perf_counter() + microseconds / 1e6
    while time.perf_counter() < until:
        pass


def killed_writer(nursery: Zygote, directory: Path, run_id: str, seed: int) -> list[Acknowledged]:
    """Start a writer, kill it at a seeded moment, and return all that it had acknowledged by then."""
    moment = random.Random(seed)
    with nursery.child(write_until_killed, directory, run_id, seed) as child:
        texts = [child.line() for _ in range(moment.randrange(25))]
        spin(moment.uniform(0, 1500))
        child.kill()
        texts += child.hear.read().split(b"\n")[:-1]
    return [msgspec.json.decode(line, type=Acknowledged) for line in texts]


def check(directory: Path, run_id: str, promised: list[Acknowledged]) -> None:
    """Open the run and compare it with what was promised so far."""
    root = spec_in(directory, run_id=run_id).root
    run = open_run(root, ports_in(directory))
    events = list(read_verified(run.paths, keys_in(directory)))
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.epoch for event in events] == sorted(event.epoch for event in events)
    there = {event.seq: event.mac for event in events}
    lost = [write for write in promised if there.get(write.seq) != write.mac]
    assert not lost
    for one in promised:
        assert one.blob is None or run.blobs.get(one.blob)
    assert run.view == fold(read_events(run.paths), RunView())
    assert read_record(run.paths.run_json) == build_record(run.state)
    report = authenticate(run.paths, keys_in(directory))
    assert (report.position.seq, report.tail_fault) == (len(events), None)
    run.close()


def test_killed_writers_lose_nothing_they_acknowledged(nursery: Zygote, tmp_path: Path) -> None:
    promised: list[Acknowledged] = []
    kinds: set[tuple[str, bool]] = set()
    for number in range(ROUNDS):
        if number % ROUNDS_PER_RUN == 0:
            promised = []
        run_id = f"run_{number // ROUNDS_PER_RUN}"
        acknowledged = killed_writer(nursery, tmp_path, run_id, seed=number)
        if not spec_in(tmp_path, run_id=run_id).root.exists():
            assert not acknowledged, "killed before the run was there, so nothing can have been promised"
            continue
        promised += acknowledged
        kinds |= {(write.durability, write.blob is not None) for write in acknowledged}
        check(tmp_path, run_id, promised)
    assert kinds == {("written", False), ("committed", False), ("committed", True)}


def test_a_run_is_there_as_a_whole_or_not_at_all_when_its_creator_is_killed(nursery: Zygote, tmp_path: Path) -> None:
    for number in range(15):
        file_path = tmp_path / str(number)
        with nursery.child(create_until_killed, file_path) as child:
            created = [child.line().decode() for _ in range(3)]
            spin(random.Random(number).uniform(0, 3000))
            child.kill()
            created += child.hear.read().decode().split("\n")[:-1]
        there = [path.name for path in (file_path / "runs").iterdir() if not path.name.startswith(".")]
        assert set(created) <= set(there)
        for run_id in there:
            check(file_path, run_id, [])


def test_a_run_that_ended_is_shown_as_ended_although_its_writer_was_killed(nursery: Zygote, tmp_path: Path) -> None:
    for number in range(20):
        path = tmp_path / str(number)
        with nursery.child(end_until_killed, path) as child:
            ended = [child.line().decode() for _ in range(2)]
            spin(random.Random(number).uniform(0, 1000))
            child.kill()
            ended += child.hear.read().decode().split("\n")[:-1]
        for run_id in ended:
            paths = RunPaths(spec_in(path, run_id=run_id).root)
            with pytest.raises(LogEnded):
                open_run(paths.root, ports_in(path))
            assert read_record(paths.run_json) == build_record(fold(read_events(paths), RunView()).state)
