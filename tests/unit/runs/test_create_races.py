"""Creating runs in several processes at once, and on a disk that is full at any point."""

import resource
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.runs import verify_run
from tests.support.children import Zygote, zygote
from tests.support.runs import keys_in, new_run
from tests.support.tools import tree

ROUNDS = 8


@pytest.fixture(scope="module")
def nursery() -> Iterator[Zygote]:
    """Where the processes come from."""
    with zygote(__name__) as made:
        yield made


def create(say: IO[bytes], hear: IO[bytes], directory: Path, limit: int, changes: dict[str, Any]) -> None:
    """Say that it is there, wait for the word, and then tell what came of creating a run."""
    say.write(b"ready\n")
    hear.readline()
    if limit >= 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        new_run(directory, **changes)
    except SkillsRuntimeError as error:
        say.write(f"{error.kind}\n".encode())
    else:
        say.write(b"created\n")


def _race(nursery: Zygote, directory: Path, specs: list[dict[str, Any]]) -> list[str]:
    """What came of creating these runs at the same moment."""
    with ExitStack() as stack:
        children = [stack.enter_context(nursery.child(create, directory, -1, changes)) for changes in specs]
        assert [child.line() for child in children] == [b"ready"] * len(specs)
        for child in children:
            child.tell(b"go")
        return [child.line().decode() for child in children]


def test_of_processes_creating_the_same_directory_one_succeeds(tmp_path: Path, nursery: Zygote) -> None:
    keys_in(tmp_path).current()
    for attempt in range(ROUNDS):
        file_path = tmp_path / str(attempt)
        texts = _race(nursery, tmp_path, [{"root": file_path / "run_test", "prompt": name} for name in "abc"])
        assert sorted(texts) == ["created", "run_exists", "run_exists"]
        assert verify_run(file_path / "run_test", keys_in(tmp_path)).ok
        assert [path.name for path in file_path.iterdir()] == ["run_test"]


def test_of_processes_claiming_the_same_run_id_one_succeeds(tmp_path: Path, nursery: Zygote) -> None:
    keys_in(tmp_path).current()
    for attempt in range(ROUNDS):
        path = tmp_path / str(attempt)
        link = path / "ws" / "run_test"
        texts = _race(nursery, tmp_path, [{"root": path / name / "run_test", "link": link} for name in "abc"])
        assert sorted(texts) == ["created", "run_exists", "run_exists"]
        assert verify_run(link, keys_in(tmp_path)).ok
        assert len([name for name in "abc" if (path / name).exists()]) == 1


def test_processes_that_make_the_same_missing_parents_do_not_disturb_each_other(
    tmp_path: Path, nursery: Zygote
) -> None:
    keys_in(tmp_path).current()
    for attempt in range(ROUNDS):
        parent = tmp_path / str(attempt) / "deep" / "runs"
        expected = [{"root": parent / f"run_{name}", "run_id": f"run_{name}"} for name in "abc"]
        assert _race(nursery, tmp_path, expected) == ["created"] * 3
        assert sorted(path.name for path in parent.iterdir()) == ["run_a", "run_b", "run_c"]


@pytest.mark.parametrize("limit", [0, 1, 100, 300, 700, 1000, 1500])
def test_a_disk_that_is_full_at_any_point_leaves_nothing_behind(tmp_path: Path, nursery: Zygote, limit: int) -> None:
    keys_in(tmp_path).current()
    before = tree(tmp_path)
    expected = {"root": tmp_path / "deep" / "down" / "run_test", "link": tmp_path / "ws" / "run_test"}
    with nursery.child(create, tmp_path, limit, expected) as child:
        child.line()
        child.tell(b"go")
        data = child.line()
    assert data == b"storage_error"
    assert tree(tmp_path) == before
