"""Evidence goes to the file that was named, past everything that a command could put there meanwhile."""

import os
import stat
from pathlib import Path

import pytest

from skills_runtime.cli.sandbox_exec import evidence_file
from skills_runtime.errors import AccessRefused, ValidationFailed
from tests.support.users import Unprivileged


def test_a_new_file_is_written(tmp_path: Path) -> None:
    with evidence_file(str(tmp_path / "e")) as file:
        assert file is not None
        file.write(b"told")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"e": b"told"}


def test_a_file_that_is_there_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "e").write_text("something longer than what comes")
    with evidence_file(str(tmp_path / "e")) as file:
        assert file is not None
        file.write(b"told")
    assert (tmp_path / "e").read_bytes() == b"told"


def test_without_a_path_there_is_no_file() -> None:
    with evidence_file(None) as file:
        assert file is None


def test_a_link_that_was_planted_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("as it was")
    with evidence_file(str(tmp_path / "e")) as file:
        (tmp_path / "e").symlink_to("outside")
        assert file is not None
        file.write(b"told")
    assert ((tmp_path / "outside").read_text(), (tmp_path / "e").is_symlink()) == ("as it was", False)


def test_a_pipe_that_was_planted_is_replaced_and_not_waited_for(tmp_path: Path) -> None:
    with evidence_file(str(tmp_path / "e")) as file:
        os.mkfifo(tmp_path / "e")
        assert file is not None
        file.write(b"told")
    assert stat.S_ISREG((tmp_path / "e").lstat().st_mode)


def test_a_second_name_of_another_file_is_replaced_and_not_written(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("as it was")
    with evidence_file(str(tmp_path / "e")) as file:
        (tmp_path / "e").hardlink_to(tmp_path / "outside")
        assert file is not None
        file.write(b"told")
    assert (tmp_path / "outside").read_text() == "as it was"


def test_a_directory_that_was_put_elsewhere_is_reported(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "outside").mkdir()
    with evidence_file(str(tmp_path / "d/e")) as file:
        (tmp_path / "d").rename(tmp_path / "moved")
        (tmp_path / "d").symlink_to("outside")
        assert file is not None
        with pytest.raises(AccessRefused, match="moved the directory"):
            file.write(b"told")
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_what_is_no_ordinary_file_is_refused_before_anything_starts(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "e"
    {"link": lambda: place.symlink_to("x"), "pipe": lambda: os.mkfifo(place), "directory": place.mkdir}[kind]()
    with pytest.raises(ValidationFailed, match="not a regular file"), evidence_file(str(place)):
        pass


@pytest.mark.parametrize("path", ["", " ", "d/", "a\0b"])
def test_what_names_no_file_is_refused(path: str) -> None:
    with pytest.raises(ValidationFailed, match="does not name a file"), evidence_file(path):
        pass


def test_a_directory_in_which_nothing_can_be_made_is_refused(unprivileged: Unprivileged) -> None:
    closed = unprivileged.path / "closed"

    def run() -> bool:
        closed.mkdir(mode=0o555)
        try:
            with evidence_file(str(closed / "e")):
                return False
        except AccessRefused:
            return True

    assert unprivileged(run)
