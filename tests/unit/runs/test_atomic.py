"""Small files that are seen whole or not at all."""

import json
import threading
from pathlib import Path

import pytest

from skills_runtime.errors import StorageFailed
from skills_runtime.runs import RunStatus, read_record
from skills_runtime.runs.atomic import extend, replace, write_new
from tests.support.runs import new_run
from tests.support.tools import tree


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    write_new(tmp_path / "a", b"x")
    assert oct((tmp_path / "a").stat().st_mode)[-3:] == "600"


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "target")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"new")
    assert not (tmp_path / "target").exists()


def test_replacing_a_link_replaces_the_link_and_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "a").symlink_to(tmp_path / "target")
    replace(tmp_path / "a", b"new")
    assert ((tmp_path / "target").read_bytes(), (tmp_path / "a").read_bytes()) == (b"mine", b"new")


def test_a_replacement_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "inside").touch()
    before = tree(tmp_path)
    with pytest.raises(OSError, match="directory"):
        replace(tmp_path / "a", b"new")
    assert tree(tmp_path) == before


def test_a_reader_of_run_json_never_sees_a_part(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.change(RunStatus.RUNNING)
    done = threading.Event()

    def write() -> None:
        for _ in range(500):
            run.save()
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while not done.is_set():
        assert read_record(run.paths.run_json).status == "running"
        seen += 1
    writer.join()
    run.close()
    assert seen
    assert not list(run.paths.root.glob(".*"))
    json.loads(run.paths.run_json.read_bytes())


def test_a_file_grows_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    extend(tmp_path / "a", b" and new")
    assert (tmp_path / "a").read_bytes() == b"old and new"


def test_nothing_is_added_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "a").symlink_to(tmp_path / "target")
    with pytest.raises(StorageFailed):
        extend(tmp_path / "a", b"new")
    assert (tmp_path / "target").read_bytes() == b"mine"
