"""Private bytes by their digest: kept once, checked always."""

import hashlib
from pathlib import Path

import pytest

from skills_runtime.errors import LogCorrupt, NotFound, StorageFailed, ValidationFailed
from skills_runtime.runs import Blobs
from tests.support.tools import modes, tree

DATA = b"some private bytes"
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    (tmp_path / "blobs").mkdir(mode=0o700)
    return Blobs(tmp_path / "blobs")


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 400], ids=["empty", "short", "long"])
def test_what_was_kept_comes_back(blobs: Blobs, data: bytes) -> None:
    assert blobs.get(blobs.put(data)) == data


def test_a_blob_is_found_by_its_digest_for_its_owner_only(blobs: Blobs, tmp_path: Path) -> None:
    assert blobs.put(DATA) == DIGEST
    assert modes(tmp_path / "blobs") == {
        ".": 0o700,
        "sha256": 0o700,
        f"sha256/{DIGEST[:2]}": 0o700,
        f"sha256/{DIGEST[:2]}/{DIGEST}": 0o600,
    }


def test_the_same_bytes_are_kept_once(blobs: Blobs, tmp_path: Path) -> None:
    blobs.put(DATA)
    before = tree(tmp_path)
    inode = blobs.path(DIGEST).stat().st_ino
    assert blobs.put(DATA) == DIGEST
    assert tree(tmp_path) == before
    assert blobs.path(DIGEST).stat().st_ino == inode


@pytest.mark.parametrize("left", [b"", DATA[:5], b"x" * len(DATA)])
def test_what_a_crash_left_in_its_place_is_replaced(blobs: Blobs, left: bytes) -> None:
    blobs.put(DATA)
    blobs.path(DIGEST).write_bytes(left)
    assert blobs.get(blobs.put(DATA)) == DATA


def test_a_blob_that_was_changed_is_not_believed(blobs: Blobs) -> None:
    blobs.put(DATA)
    blobs.path(DIGEST).write_bytes(b"other")
    with pytest.raises(LogCorrupt, match=DIGEST[:12]):
        blobs.get(DIGEST)


def test_a_blob_that_is_missing_is_named(blobs: Blobs) -> None:
    with pytest.raises(NotFound, match=DIGEST[:12]):
        blobs.get(DIGEST)


@pytest.mark.parametrize(
    "name", ["", "../../etc/passwd", DIGEST[:63], DIGEST.upper(), "g" * 64, DIGEST + "\n", f"/{DIGEST}"]
)
def test_only_a_digest_names_a_blob(blobs: Blobs, name: str) -> None:
    with pytest.raises(ValidationFailed):
        blobs.get(name)


def test_a_blob_that_cannot_be_written_leaves_no_draft(blobs: Blobs, tmp_path: Path) -> None:
    blobs.path(DIGEST).mkdir(parents=True)
    (blobs.path(DIGEST) / "inside").touch()
    before = tree(tmp_path)
    with pytest.raises(StorageFailed):
        blobs.put(DATA)
    assert tree(tmp_path) == before
