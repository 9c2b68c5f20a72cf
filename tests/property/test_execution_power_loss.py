"""Power loss at any moment: an execution with a key happens once, and what was told of its end is there again."""

import hashlib
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from skills_runtime.executions.contract import request_digest
from skills_runtime.executions.layout import key_digest
from skills_runtime.executions.store import ExecutionStore
from tests.support.children import Child, Zygote, zygote
from tests.support.crashes import INPUT, Promised, carry_out, keeper_of
from tests.support.disks import Power, power, require_fuse
from tests.unit.executions.samples import ECHO, find, make_skill

MEMORY = Path("/dev/shm")


class Promise(NamedTuple):
    """What was told, and how many syncs had happened by then."""

    promised: Promised
    synced: int


@pytest.fixture(scope="module")
def nursery() -> Generator[Zygote]:
    require_fuse()
    with zygote("tests.support.crashes", "tests.support.disks", "mfusepy") as nursery:
        yield nursery


@pytest.fixture
def place() -> Generator[Path]:
    """A directory in memory where there is one, with a skill in it."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        make_skill(Path(directory), ECHO, artifacts=["out"])
        yield Path(directory)


def step(child: Child) -> list[Promised]:
    """Let one execution be done; what was told of it."""
    child.tell(b"go")
    return [msgspec.json.decode(line, type=Promised) for line in iter(child.line, b"")]


def promises(nursery: Zygote, machine: Power, place: Path, *, seed: int, steps: int, keyed: bool) -> list[Promise]:
    """Everything that was promised until the one who did was killed."""
    told: list[Promise] = []
    with nursery.child(carry_out, machine.disk, place, seed, keyed) as child:
        for _ in range(steps):
            told += [Promise(one, machine.synced()) for one in step(child)]
    return told


def broken(machine: Path, place: Path, promised: list[Promised]) -> list[Promised]:
    """Start the machine again, let somebody settle what was left, and name the promises that are not kept."""
    (place / "later").mkdir()
    keeper = keeper_of(machine, place / "later")
    try:
        keeper.recover()
        last = {one.key: one for one in promised}
        return [one for one in last.values() if not is_kept(keeper, place, one)]
    finally:
        keeper.close()
        shutil.rmtree(place / "later", ignore_errors=True)


def is_kept(keeper: ExecutionStore, place: Path, one: Promised) -> bool:
    """Whether the same key still means the same execution, with everything that was told of it."""
    request = request_digest(find(place).mention.text, INPUT)
    if keeper.found_by_key(key_digest(one.key), request) != one.execution_id:
        return False
    found = keeper.load(one.execution_id)
    if one.status == "running":  # it may have ended without anybody having been told
        return found.status != "running"
    files = [keeper.place.directory(one.execution_id) / artifact.path for artifact in found.record.artifacts]
    digests = tuple(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    same_output = found.output is not None and f"[{found.output[0]}]" == one.stdout
    return (found.status, digests, found.stdout, same_output) == (one.status, one.artifacts, one.stdout, True)


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_promised_under_a_key_is_lost_whenever_the_power_fails(nursery: Zygote, place: Path, seed: int) -> None:
    with power(nursery, place) as machine:
        told = promises(nursery, machine, place, seed=seed, steps=4, keyed=True)
        machine.fail()
    assert {one.status for one, _ in told} == {"running", "completed"}
    for moment in range(machine.synced() + 1):
        left = machine.restore(place / "left", moment=moment)
        assert broken(left, place, [one for one, synced in told if synced <= moment]) == [], moment
        shutil.rmtree(left)


def test_what_has_no_key_is_not_promised_and_stands_in_nobodys_way(nursery: Zygote, place: Path) -> None:
    with power(nursery, place) as machine:
        told = promises(nursery, machine, place, seed=3, steps=3, keyed=False)
        machine.fail()
    assert len(told) > 3
    left = machine.restore(place / "left")
    assert len(broken(left, place, [one for one, _ in told])) == 3
