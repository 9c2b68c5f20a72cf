"""What a service must not forget is whole, there once, and gone when it is old."""

import os
from pathlib import Path

import msgspec
import pytest

from skills_runtime.engine.json_store import KEY_RETENTION_SECONDS, IdempotencyKeys, JsonStore, KeyedRun
from skills_runtime.errors import RequestConflict, StorageFailed, ValidationFailed


class Remark(msgspec.Struct, frozen=True):
    """Something noted."""

    text: str


@pytest.fixture
def claims(tmp_path: Path) -> IdempotencyKeys:
    return IdempotencyKeys(tmp_path / "state")


def test_a_note_is_added_once(tmp_path: Path) -> None:
    notes = JsonStore(tmp_path / "notes", Remark)
    assert notes.add("a", Remark("first"))
    assert not notes.add("a", Remark("second"))
    assert notes.get("a") == Remark("first")
    notes.put("a", Remark("third"))
    assert list(notes.all()) == [("a", Remark("third"))]
    assert notes.remove("a")
    assert not notes.remove("a")
    assert list((tmp_path / "notes").iterdir()) == []


def test_a_damaged_note_is_reported_and_does_not_hide_the_others(tmp_path: Path) -> None:
    notes = JsonStore(tmp_path, Remark)
    notes.add("good", Remark("x"))
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(StorageFailed):
        notes.get("bad")
    assert list(notes.all()) == [("good", Remark("x"))]


def test_a_key_of_another_caller_is_another_key(claims: IdempotencyKeys) -> None:
    first = claims.claim("ada", "k", KeyedRun("run_1", "order"))
    assert claims.claim("bob", "k", KeyedRun("run_2", "other")) == KeyedRun("run_2", "other")
    assert claims.claim("ada", "k", KeyedRun("run_3", "order")) == first
    with pytest.raises(RequestConflict):
        claims.claim("ada", "k", KeyedRun("run_3", "other"))


def test_a_key_is_only_freed_by_the_run_it_stands_for(claims: IdempotencyKeys) -> None:
    claims.claim("ada", "k", KeyedRun("run_1", "order"))
    claims.release("ada", "k", "run_2")
    assert claims.claim("ada", "k", KeyedRun("run_3", "order")).run_id == "run_1"
    claims.release("ada", "k", "run_1")
    assert claims.claim("ada", "k", KeyedRun("run_3", "order")).run_id == "run_3"


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb"])
def test_a_key_that_is_none_is_refused(claims: IdempotencyKeys, key: str) -> None:
    with pytest.raises(ValidationFailed):
        claims.claim("ada", key, KeyedRun("run_1", "order"))


def test_keys_of_long_ago_stand_for_nothing(claims: IdempotencyKeys, tmp_path: Path) -> None:
    claims.claim("ada", "old", KeyedRun("run_1", "order"))
    for file in (tmp_path / "state").rglob("*.json"):
        age = file.stat().st_mtime - KEY_RETENTION_SECONDS - 60
        os.utime(file, (age, age))
    claims.claim("ada", "new", KeyedRun("run_2", "order"))
    claims.remove_expired()
    assert claims.claim("ada", "new", KeyedRun("run_4", "order")).run_id == "run_2"
    assert claims.claim("ada", "old", KeyedRun("run_3", "order")).run_id == "run_3"
