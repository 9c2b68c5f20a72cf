"""What a process leaves that is killed while it makes a run, and who clears it away."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import IO

import pytest

from skills_runtime.runs.create import ABANDONED_SECONDS
from skills_runtime.testing import FaultyDisk
from tests.support.children import Zygote, zygote
from tests.support.runs import keys_in, new_run


@pytest.fixture(scope="module")
def nursery() -> Generator[Zygote]:
    """Where the processes come from."""
    with zygote(__name__) as made:
        yield made


class Held(FaultyDisk):
    """A disk that says when it is written to for the first time, and does not go on before it is told to."""

    def __init__(self, say: IO[bytes], hear: IO[bytes]) -> None:
        super().__init__()
        self._say, self._hear = say, hear

    def write(self, fd: int, data: bytes) -> int:
        if not self.counts["write"]:
            self._say.write(b"writing\n")
            self._hear.readline()
        return super().write(fd, data)


def create_slowly(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    new_run(directory, run_id="slow", disk=Held(say, hear))
    say.write(b"created\n")


def half_made(nursery: Zygote, directory: Path) -> Path:
    """The draft of a process that was killed before it had written a line."""
    with nursery.child(create_slowly, directory) as child:
        assert child.line() == b"writing"
        child.kill()
    return only_draft(directory)


def only_draft(directory: Path) -> Path:
    """The one hidden directory beside the runs."""
    (draft,) = (directory / "runs").glob(".*")
    return draft


def grow_old(path: Path, seconds: int = ABANDONED_SECONDS + 60) -> None:
    """Let a directory look as if nobody had touched it for so long."""
    then = path.parent.stat().st_mtime - seconds
    os.utime(path, (then, then))


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "runs").iterdir())


def create(directory: Path) -> None:
    new_run(directory).close()


@pytest.fixture(autouse=True)
def _key(tmp_path: Path) -> None:
    keys_in(tmp_path).current()


def test_what_a_killed_process_left_is_gone_once_another_makes_a_run_there(nursery: Zygote, tmp_path: Path) -> None:
    draft = half_made(nursery, tmp_path)
    assert {"prompt.md", "workspace", "run.lock"} <= {path.name for path in draft.iterdir()}
    grow_old(draft)
    create(tmp_path)
    assert names_in(tmp_path) == ["run_test"]


def test_what_a_process_left_a_moment_ago_is_left_alone(nursery: Zygote, tmp_path: Path) -> None:
    draft = half_made(nursery, tmp_path)
    grow_old(draft, ABANDONED_SECONDS - 60)
    create(tmp_path)
    assert names_in(tmp_path) == [draft.name, "run_test"]


def test_the_draft_of_a_process_that_lives_is_never_taken(nursery: Zygote, tmp_path: Path) -> None:
    with nursery.child(create_slowly, tmp_path) as child:
        assert child.line() == b"writing"
        grow_old(only_draft(tmp_path))
        create(tmp_path)
        child.tell(b"go on")
        assert child.line() == b"created"
    assert names_in(tmp_path) == ["run_test", "slow"]


def test_a_directory_is_looked_through_once(nursery: Zygote, tmp_path: Path) -> None:
    create(tmp_path)
    draft = half_made(nursery, tmp_path)
    grow_old(draft)
    new_run(tmp_path, run_id="second").close()
    assert draft.name in names_in(tmp_path)


@pytest.mark.parametrize(
    "name", [".notes.new", "notes.0123456789ab.new", ".notes.0123456789ab.old", ".0123456789ab.new"]
)
def test_other_people_s_directories_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "runs" / name).mkdir(parents=True)
    grow_old(tmp_path / "runs" / name)
    create(tmp_path)
    assert names_in(tmp_path) == sorted([name, "run_test"])


def test_nothing_is_done_where_a_link_looks_like_a_draft(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    link = tmp_path / "runs" / ".run.0123456789ab.new"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "mine")
    then = link.parent.stat().st_mtime - 2 * ABANDONED_SECONDS
    os.utime(link, (then, then), follow_symlinks=False)
    os.utime(tmp_path / "mine", (then, then))
    create(tmp_path)
    assert link.is_symlink()
    assert list((tmp_path / "mine").iterdir()) == []
