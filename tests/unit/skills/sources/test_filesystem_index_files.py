"""Index files: whatever happened to one, the search finds what is there."""

import hashlib
import os
import stat
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skills_runtime.skills.sources import filesystem_index as module
from skills_runtime.skills.sources.filesystem import VisitedDirectory
from skills_runtime.skills.sources.filesystem_index import Index, load_index, save_index
from skills_runtime.storage import files as written
from tests.support.users import Unprivileged
from tests.unit.skills.samples import make_skill
from tests.unit.skills.sources.trees import found_again, index_files, indexed


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in ("writer", "reader"):
        make_skill(tmp_path / "skills", name)
    indexed(tmp_path).skills()
    return tmp_path


def an_index(key: str = "key") -> Index:
    return Index(key=key, is_complete=True)


def test_the_directory_it_is_made_in_is_for_the_user_alone(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        save_index(tmp_path / "state/index", an_index())
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state", tmp_path / "state/index")]
    assert modes == [0o700, 0o700]


def test_only_the_user_can_see_it(base: Path) -> None:
    (file,) = index_files(base)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_a_damaged_file_is_as_good_as_none(base: Path, data: st.DataObject) -> None:
    (file,) = index_files(base)
    whole = file.read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    damaged = whole[:start] + data.draw(st.binary(max_size=40)) + whole[end:]
    file.write_bytes(damaged)
    assert [skill.name for skill in found_again(base).skills] == ["reader", "writer"]
    file.write_bytes(whole)


@pytest.mark.parametrize("put", ["directory", "pipe", "link", "nothing"])
def test_something_else_in_its_place_is_as_good_as_none(base: Path, put: str) -> None:
    (file,) = index_files(base)
    file.rename(base / "moved")
    if put == "directory":
        file.mkdir()
    elif put == "pipe":
        os.mkfifo(file)
    elif put == "link":
        file.symlink_to(base / "moved")
    assert len(found_again(base).skills) == 2


def test_an_index_with_a_right_digest_and_wrong_parts_is_not_believed(tmp_path: Path) -> None:
    save_index(tmp_path, an_index())
    assert load_index(tmp_path, "key") == an_index()
    (file,) = tmp_path.iterdir()
    for wrong in (
        msgspec.msgpack.encode(msgspec.structs.replace(an_index(), visited=(VisitedDirectory("a", 1),))),
        msgspec.msgpack.encode(
            msgspec.structs.replace(an_index(), visited=(VisitedDirectory("a", 1, stamps=bytes(64)),))
        ),
        msgspec.msgpack.encode(an_index("another version")),
        msgspec.msgpack.encode({"key": "key"}),
        b"",
    ):
        file.write_bytes(b"skills-index\n" + hashlib.sha256(wrong).digest() + wrong)
        assert load_index(tmp_path, "key") is None


def test_a_file_of_another_user_is_not_believed(unprivileged: Unprivileged) -> None:
    save_index(unprivileged.path, an_index())
    for path in unprivileged.path.iterdir():
        path.chmod(0o644)
        os.chown(path, 0, 0)
    assert unprivileged(lambda: load_index(unprivileged.path, "key")) is None


def test_where_nothing_can_be_written_the_search_still_works(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills", "writer")
    (tmp_path / "index").write_text("a file where a directory should be")
    assert len(found_again(tmp_path).skills) == 1
    assert (tmp_path / "index").is_file()


def test_a_full_disk_leaves_nothing_half_written(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> None:
        os.write(fd, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(written, "write_all", full)
    make_skill(base / "skills", "another")
    before = [(path, path.read_bytes()) for path in index_files(base)]
    assert len(found_again(base).skills) == 3
    assert [(path, path.read_bytes()) for path in index_files(base)] == before


def test_writers_at_the_same_time_leave_a_whole_file(tmp_path: Path) -> None:
    indexes = [msgspec.structs.replace(an_index(), limits=(str(number) * 50_000,)) for number in range(4)]

    def write(index: Index) -> None:
        for _ in range(25):
            save_index(tmp_path, index)

    threads = [threading.Thread(target=write, args=(one,)) for one in indexes]
    for thread in threads:
        thread.start()
    seen = [load_index(tmp_path, "key") for _ in range(200)]
    for thread in threads:
        thread.join()
    assert all(one is None or one in indexes for one in seen)
    assert load_index(tmp_path, "key") in indexes
    assert len(list(tmp_path.iterdir())) == 1


def test_only_so_many_trees_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 8)
    for number in range(30):
        save_index(tmp_path, an_index(str(number)))
    assert len(list(tmp_path.iterdir())) <= 8
    assert load_index(tmp_path, "29") is not None


def test_text_that_cannot_be_written_is_found_all_the_same(tmp_path: Path) -> None:
    save_index(tmp_path, msgspec.structs.replace(an_index(), limits=("half a character: \ud800",)))
    assert list(tmp_path.iterdir()) == []
