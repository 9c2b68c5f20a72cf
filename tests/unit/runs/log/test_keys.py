"""Keys are made once, kept from others, and never guessed at."""

import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from skills_runtime.errors import AccessRefused, KeyMissing
from skills_runtime.runs.log import KeyRing
from tests.support.children import zygote
from tests.support.users import Unprivileged


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_use_makes_a_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    keys = KeyRing(tmp_path / "state" / "keys")
    key = keys.current()
    assert len(key.secret) == 32
    assert (mode_of(keys.directory / "log.key"), mode_of(keys.directory)) == (0o600, 0o700)
    assert [path.name for path in keys.directory.iterdir()] == ["log.key"]


def test_the_key_stays_the_same(tmp_path: Path) -> None:
    assert KeyRing(tmp_path).current() == KeyRing(tmp_path).current()


def test_the_secret_is_not_shown_and_not_in_the_id(tmp_path: Path) -> None:
    key = KeyRing(tmp_path).current()
    assert key.secret.hex() not in repr(key)
    assert repr(key.secret) not in repr(key)
    assert key.id not in key.secret.hex()


def test_a_key_is_found_by_its_id_also_when_it_no_longer_signs(tmp_path: Path) -> None:
    keys = KeyRing(tmp_path)
    old = keys.current()
    (tmp_path / "log.key").rename(tmp_path / "old.key")
    new = keys.current()
    assert new != old
    assert [keys.find(old.id), keys.find(new.id), keys.find("0" * 16)] == [old, new, None]


def test_no_directory_holds_no_keys(tmp_path: Path) -> None:
    assert KeyRing(tmp_path / "none").find("0" * 16) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o601])
def test_a_key_that_others_can_reach_is_refused(mode: int, tmp_path: Path) -> None:
    keys = KeyRing(tmp_path)
    key = keys.current()
    (tmp_path / "log.key").chmod(mode)
    with pytest.raises(AccessRefused, match="other users"):
        keys.current()
    with pytest.raises(AccessRefused, match="other users"):
        keys.find(key.id)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_file_of_another_size_is_no_key(size: int, tmp_path: Path) -> None:
    (tmp_path / "log.key").write_bytes(b"k" * size)
    (tmp_path / "log.key").chmod(0o600)
    with pytest.raises(KeyMissing, match="not a log key"):
        KeyRing(tmp_path).current()


def test_a_symbolic_link_is_no_key(tmp_path: Path) -> None:
    other = KeyRing(tmp_path / "other")
    other.current()
    (tmp_path / "log.key").symlink_to(tmp_path / "other" / "log.key")
    with pytest.raises(AccessRefused, match=r"log\.key"):
        KeyRing(tmp_path).current()
    with pytest.raises(AccessRefused, match=r"log\.key"):
        KeyRing(tmp_path).find("0" * 16)


def test_a_directory_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "log.key").mkdir(mode=0o700)
    with pytest.raises(AccessRefused, match=r"log\.key"):
        KeyRing(tmp_path).current()


def test_a_key_of_another_user_is_refused_in_words(unprivileged: Unprivileged) -> None:
    (unprivileged.path / "log.key").write_bytes(b"k" * 32)
    (unprivileged.path / "log.key").chmod(0o000 if os.geteuid() else 0o600)
    keys = KeyRing(unprivileged.path)
    for use in (keys.current, lambda: keys.find("0" * 16)):
        with pytest.raises(AccessRefused, match="cannot be read"):
            unprivileged(use)


def test_a_directory_that_cannot_be_written_is_refused_in_words(unprivileged: Unprivileged) -> None:
    unprivileged.path.chmod(0o500)
    with pytest.raises(AccessRefused, match="no log key can be created"):
        unprivileged(KeyRing(unprivileged.path / "state" / "keys").current)


def say_key_id(say: IO[bytes], hear: IO[bytes], directory: Path) -> None:
    hear.readline()
    say.write(KeyRing(directory).current().id.encode() + b"\n")


def test_eight_processes_that_need_a_key_at_once_make_one(tmp_path: Path) -> None:
    with zygote("skills_runtime.runs.log", __name__) as nursery, ExitStack() as stack:
        children = [stack.enter_context(nursery.child(say_key_id, tmp_path / "keys")) for _ in range(8)]
        for child in children:
            child.tell(b"go")
        ids = {child.line() for child in children}
    assert ids == {KeyRing(tmp_path / "keys").current().id.encode()}
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["log.key"]


def test_a_key_that_is_put_in_place_of_the_one_in_use_signs_from_then_on(tmp_path: Path) -> None:
    keys, other = KeyRing(tmp_path / "keys"), KeyRing(tmp_path / "other")
    before = keys.current()
    (tmp_path / "other").mkdir()
    other.current()
    (tmp_path / "other" / "log.key").rename(tmp_path / "keys" / "log.key")
    assert keys.current() == KeyRing(tmp_path / "keys").current() != before


def test_a_deleted_key_is_created_again_also_by_a_process_that_used_it(tmp_path: Path) -> None:
    keys = KeyRing(tmp_path)
    before = keys.current()
    (tmp_path / "log.key").unlink()
    assert keys.current() == KeyRing(tmp_path).current() != before
