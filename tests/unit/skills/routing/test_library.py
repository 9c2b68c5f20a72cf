"""Routing over a library: bodies are read once, and what is kept is believed only while it holds."""

import os
from pathlib import Path

import pytest

from skills_runtime.skills import Library
from skills_runtime.skills.routing import index_for, search
from skills_runtime.skills.routing.store import MAX_FILES, file_for, load, save
from tests.unit.skills.samples import library_at, library_of, make_skill, row, skill_text


def found(library: Library, query: str, kept_in: Path | None = None) -> list[str]:
    return [choice.skill.name for choice in search(query, index_for(library, kept_in=kept_in))]


def test_the_bodies_of_a_library_are_searched() -> None:
    assert found(library_of(row("writer", "About zebras."), row("editor")), "zebra") == ["writer"]


def test_more_skills_than_can_be_read_are_searched_by_what_they_say() -> None:
    library = library_of(row("writer", "About zebras."))
    assert search("zebra", index_for(library, max_bodies=0)) == ()
    assert len(search("writer", index_for(library, max_bodies=0))) == 1


def test_a_body_that_cannot_be_read_hides_no_skill(tmp_path: Path) -> None:
    make_skill(tmp_path, "gone")
    make_skill(tmp_path, "editor")
    library = library_at(tmp_path)
    library.list()
    (tmp_path / "gone" / "SKILL.md").unlink()
    assert sorted(found(library, "write things")) == ["editor", "gone"]


def test_what_was_kept_is_used_and_a_changed_skill_is_read_again(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills", "writer", text=skill_text(body="About zebras.\n"))
    kept_in = tmp_path / "kept"
    assert found(library_at(tmp_path / "skills"), "zebra", kept_in) == ["writer"]
    (file,) = kept_in.iterdir()
    before = file.stat().st_ino
    assert found(library_at(tmp_path / "skills"), "zebra", kept_in) == ["writer"]
    assert file.stat().st_ino == before
    make_skill(tmp_path / "skills", "writer", text=skill_text(body="About lions.\n"))
    assert found(library_at(tmp_path / "skills"), "zebra", kept_in) == []
    assert found(library_at(tmp_path / "skills"), "lion", kept_in) == ["writer"]
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["garbage", "directory", "pipe", "link"])
def test_a_file_that_is_not_ours_is_read_as_nothing(damage: str, tmp_path: Path) -> None:
    make_skill(tmp_path / "skills", "writer")
    library = library_at(tmp_path / "skills")
    file = file_for(tmp_path, library.list())
    if damage == "garbage":
        file.write_bytes(b"\x92\x01\x80")
    elif damage == "directory":
        file.mkdir()
    elif damage == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    assert load(file) == {}
    assert found(library, "writer", tmp_path) == ["writer"]


def test_a_directory_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills", "writer")
    (tmp_path / "file").touch()
    assert found(library_at(tmp_path / "skills"), "writer", tmp_path / "file" / "kept") == ["writer"]


def test_only_so_many_sets_of_skills_are_remembered(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 3):
        save(tmp_path / f"{number}.terms", b"")
    assert len(list(tmp_path.iterdir())) == MAX_FILES
