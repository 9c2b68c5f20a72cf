"""The cache of bundles: made whole, looked at before each use, put right when somebody changed it."""

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from skills_runtime.skills import SkillError
from tests.unit.skills.sources.zips import HONEST, Shop, entry, honest, zipped


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_files_of_a_bundle_are_there_as_they_are_in_it(tmp_path: Path) -> None:
    assert files(Shop(tmp_path / "a" / "cache").directory(honest())) == HONEST


def test_only_whether_a_file_can_be_run_is_kept_of_its_mode(tmp_path: Path) -> None:
    run = entry("actions/run", stat.S_IFREG | 0o4755)
    place = Shop(tmp_path).directory(zipped((run, b"x"), ("actions/plain", b"y")))
    assert stat.S_IMODE((place / "actions/run").stat().st_mode) & 0o7111 in (0o100, 0o111, 0o110)
    assert not stat.S_IMODE((place / "actions/plain").stat().st_mode) & 0o111


def test_a_bundle_is_fetched_once(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    assert len({shop.directory(honest()) for _ in range(3)}) == 1
    assert shop.fetched == 1


def _changed(place: Path) -> None:
    path = place / "actions/go.sh"
    path.chmod(0o644)
    path.write_bytes(b"#!/bin/sh\necho evil\n")


def _same_size(place: Path) -> None:
    path = place / "references/guide.md"
    path.chmod(0o644)
    path.write_bytes(b"# Evil!\n")


def _linked(place: Path) -> None:
    (place / "actions/go.sh").unlink()
    (place / "actions/go.sh").symlink_to("/bin/sh")


def _linked_directory(place: Path) -> None:
    (place / "actions").rename(place.parent / "moved")
    (place / "actions").symlink_to(place.parent / "moved")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file was rewritten": _changed,
    "a file was rewritten with as many bytes": _same_size,
    "a file was added": lambda place: (place / "actions/more.sh").write_bytes(b"x"),
    "a file was removed": lambda place: (place / "actions/go.sh").unlink(),
    "a file became a link": _linked,
    "a directory became a link": _linked_directory,
    "a file can be run now": lambda place: (place / "references/guide.md").chmod(0o755),
    "a pipe was added": lambda place: os.mkfifo(place / "actions/pipe"),
    "everything is gone": lambda place: place.rename(place.with_name("gone")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_file_is_restored_without_asking_the_server(change: Callable[[Path], object], tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    place = shop.directory(honest())
    change(place)
    again = shop.directory(honest())
    assert files(again) == HONEST
    assert not any(path.is_symlink() for path in again.rglob("*"))
    assert shop.fetched == 1
    assert [path.name for path in tmp_path.iterdir()] == [place.parent.name]


def test_a_changed_zip_is_fetched_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    place = shop.directory(honest())
    archive = place.parent / "bundle.zip"
    archive.chmod(0o644)
    archive.write_bytes(zipped(("actions/go.sh", b"evil")))
    assert files(shop.directory(honest())) == HONEST
    assert shop.fetched == 2


@pytest.mark.parametrize("what", ["file", "link"])
def test_something_else_in_the_place_of_a_bundle_is_replaced(what: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "cache")
    place = shop.directory(honest()).parent
    place.rename(tmp_path / "elsewhere")
    if what == "file":
        place.write_text("x")
    else:
        place.symlink_to(tmp_path / "elsewhere")
    assert files(shop.directory(honest())) == HONEST
    assert not place.is_symlink()


def test_a_cache_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(SkillError) as caught:
        Shop(tmp_path / "link" / "cache").directory(honest())
    assert "link" in caught.value.message


def test_a_cache_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SkillError) as caught:
        Shop(tmp_path / "file" / "cache").directory(honest())
    assert caught.value.code == "SKILL_BUNDLE_INVALID"
    assert "cache_dir" in caught.value.hint


def test_many_threads_may_unpack_the_same_bundle_at_once(tmp_path: Path) -> None:
    shops = [Shop(tmp_path) for _ in range(8)]
    found: list[dict[str, bytes]] = []
    together = threading.Barrier(len(shops))

    def unpack(shop: Shop) -> None:
        together.wait()
        found.append(files(shop.directory(honest())))

    threads = [threading.Thread(target=unpack, args=(shop,)) for shop in shops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [HONEST] * len(shops)
    assert len(list(tmp_path.iterdir())) == 1
