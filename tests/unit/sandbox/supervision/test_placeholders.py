"""Names that are kept free while a command runs: shared, given up by the last, never taken from anybody."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.sandbox.supervision.placeholders import DIRECTORY_MODE, MODE, Placeholders


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def held() -> Iterator[Placeholders]:
    placeholders = Placeholders()
    yield placeholders
    placeholders.release()


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def paths(place: Path, *wanted: str) -> list[str]:
    return [str(place / name) for name in wanted]


def test_names_are_taken_and_given_back(place: Path, held: Placeholders) -> None:
    held.hold(paths(place, ".a", ".b"), paths(place, ".c"))
    assert names(place) == [".a", ".b", ".c"]
    assert (place / ".a").stat().st_mode & 0o7777 == MODE
    assert (place / ".c").stat().st_mode & 0o7777 == DIRECTORY_MODE
    held.release()
    assert names(place) == []


def test_all_names_in_a_directory_are_one_file(place: Path, held: Placeholders) -> None:
    held.hold(paths(place, ".a", ".b", ".c"), [])
    assert {(place / name).stat().st_ino for name in names(place)} == {(place / ".a").stat().st_ino}


def test_the_mask_of_the_process_changes_nothing(place: Path, held: Placeholders) -> None:
    before = os.umask(0o077)
    try:
        held.hold(paths(place, ".a"), paths(place, ".c"))
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(before)
    assert (place / ".a").stat().st_mode & 0o7777 == MODE


def test_what_exists_is_left_alone(place: Path, held: Placeholders) -> None:
    (place / ".a").write_text("mine")
    (place / ".c").mkdir()
    held.hold(paths(place, ".a"), paths(place, ".c"))
    held.release()
    assert (place / ".a").read_text() == "mine"
    assert (place / ".c").is_dir()


def test_the_last_one_who_holds_a_name_removes_it(place: Path, held: Placeholders) -> None:
    other = Placeholders()
    held.hold(paths(place, ".a", ".b"), paths(place, ".c"))
    other.hold(paths(place, ".a", ".b"), paths(place, ".c"))
    held.release()
    assert names(place) == [".a", ".b", ".c"]
    other.release()
    assert names(place) == []


def test_what_a_crash_left_behind_is_taken_over(place: Path, held: Placeholders) -> None:
    (place / ".a").touch()
    (place / ".a").chmod(MODE)
    (place / ".c").mkdir()
    (place / ".c").chmod(DIRECTORY_MODE)
    held.hold(paths(place, ".a", ".b"), paths(place, ".c"))
    held.release()
    assert names(place) == []


def test_a_file_with_something_in_it_is_nobody_s_placeholder(place: Path, held: Placeholders) -> None:
    (place / ".a").write_text("mine")
    (place / ".a").chmod(MODE)
    held.hold(paths(place, ".a"), [])
    held.release()
    assert (place / ".a").read_text() == "mine"


def test_what_somebody_has_put_into_a_directory_stays(place: Path, held: Placeholders) -> None:
    held.hold([], paths(place, ".c"))
    (place / ".c/theirs").touch()
    held.release()
    assert (place / ".c/theirs").exists()
    assert (place / ".c").stat().st_mode & 0o7777 == 0o755


def test_what_somebody_has_put_in_place_of_a_name_stays(place: Path, held: Placeholders) -> None:
    held.hold(paths(place, ".a", ".b"), [])
    (place / ".a").unlink()
    (place / ".a").write_text("theirs")
    held.release()
    assert names(place) == [".a"]


@pytest.mark.parametrize("target", ["elsewhere", "/etc", "."])
def test_a_link_is_refused(target: str, place: Path, held: Placeholders) -> None:
    (place / ".a").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        held.hold(paths(place, ".a"), [])
    held.release()
    assert (place / ".a").is_symlink()


def test_a_directory_on_the_way_that_is_a_link_is_refused(place: Path, held: Placeholders) -> None:
    (place / "real").mkdir()
    (place / "link").symlink_to("real")
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        held.hold(paths(place / "link", ".a"), [])
    assert names(place / "real") == []


def test_where_nothing_can_be_made_nothing_is_needed(place: Path, held: Placeholders) -> None:
    held.hold(paths(place / "missing", ".a"), [])
    held.release()
    assert names(place) == []


def test_nothing_stays_open(place: Path) -> None:
    before = {path.name for path in Path("/proc/self/fd").iterdir()}
    placeholders = Placeholders()
    placeholders.hold(paths(place, ".a", ".b"), paths(place, ".c"))
    placeholders.release()
    assert {path.name for path in Path("/proc/self/fd").iterdir()} == before
