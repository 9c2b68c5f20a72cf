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
def directory() -> Generator[Path]:
    """A directory in memory where there is one, with a skill in it."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        make_skill(Path(directory), ECHO, artifacts=["out"])
        yield Path(directory)


def step(child: Child) -> list[Promised]:
    """Let one execution be done; what was told of it."""
    child.tell(b"go")
    return [msgspec.json.decode(line, type=Promised) for line in iter(child.line, b"")]


def promises(nursery: Zygote, machine: Power, directory: Path, *, seed: int, steps: int, keyed: bool) -> list[Promise]:
    """Everything that was promised until the one who did was killed."""
    results: list[Promise] = []
    with nursery.child(carry_out, machine.disk, directory, seed, keyed) as child:
        for _ in range(steps):
            results += [Promise(promise, machine.synced()) for promise in step(child)]
    return results


def broken(machine: Path, directory: Path, promised: list[Promised]) -> list[Promised]:
    """Start the machine again, let somebody settle what was left, and name the promises that are not kept."""
    (directory / "later").mkdir()
    keeper = keeper_of(machine, directory / "later")
    try:
        keeper.recover()
        last = {promise.key: promise for promise in promised}
        return [promise for promise in last.values() if not is_kept(keeper, directory, promise)]
    finally:
        keeper.close()
        shutil.rmtree(directory / "later", ignore_errors=True)


def is_kept(keeper: ExecutionStore, directory: Path, promise: Promised) -> bool:
    """Whether the same key still means the same execution, with everything that was told of it."""
    request = request_digest(find(directory).mention.text, INPUT)
    if keeper.find_by_key(key_digest(promise.key), request) != promise.execution_id:
        return False
    execution = keeper.load(promise.execution_id)
    if promise.status == "running":  # it may have ended without anybody having been told
        return execution.status != "running"
    files = [keeper.layout.directory(promise.execution_id) / artifact.path for artifact in execution.record.artifacts]
    digests = tuple(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    same_output = execution.output is not None and f"[{execution.output[0]}]" == promise.stdout
    return (execution.status, digests, execution.stdout, same_output) == (
        promise.status,
        promise.artifacts,
        promise.stdout,
        True,
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_promised_under_a_key_is_lost_whenever_the_power_fails(
    nursery: Zygote, directory: Path, seed: int
) -> None:
    with power(nursery, directory) as machine:
        results = promises(nursery, machine, directory, seed=seed, steps=4, keyed=True)
        machine.fail()
    assert {promise.status for promise, _ in results} == {"running", "completed"}
    for moment in range(machine.synced() + 1):
        left = machine.restore(directory / "left", moment=moment)
        assert broken(left, directory, [promise for promise, synced in results if synced <= moment]) == [], moment
        shutil.rmtree(left)


def test_an_execution_without_a_key_is_not_promised_and_blocks_nothing(nursery: Zygote, directory: Path) -> None:
    with power(nursery, directory) as machine:
        results = promises(nursery, machine, directory, seed=3, steps=3, keyed=False)
        machine.fail()
    assert len(results) > 3
    left = machine.restore(directory / "left")
    assert len(broken(left, directory, [promise for promise, _ in results])) == 3
