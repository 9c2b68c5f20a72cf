"""The lock file: what other installers write is read, kept and written back."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.install.lockfile import (
    Lock,
    LockEntry,
    lock_bytes,
    parse_lock,
    project_places,
    read_lock,
    user_places,
)

HERE = Path("skills-lock.json")
FOREIGN: dict[str, Any] = {
    "version": 1,
    "skills": {
        "pdf": {
            "source": "anthropics/skills",
            "ref": "main",
            "sourceType": "github",
            "skillPath": "skills/pdf/SKILL.md",
            "computedHash": "ab" * 32,
            "subagents": ["a"],
        },
        "local": {"source": "./x", "sourceType": "local", "computedHash": "cd" * 32},
    },
    "future": {"kept": True},
}


def test_a_lock_file_of_another_program_is_read_and_kept_whole() -> None:
    lock = parse_lock(json.dumps(FOREIGN).encode(), HERE, "project")
    assert lock.skills["pdf"].skill_path == "skills/pdf/SKILL.md"
    assert lock.skills["pdf"].commit is None
    assert json.loads(lock_bytes(lock)) == FOREIGN


def test_skills_are_written_by_name_and_indented_by_two() -> None:
    entry = LockEntry(source="a/b", source_type="github", computed_hash="ef" * 32)
    text = lock_bytes(Lock(version=1, skills={"z": entry, "a": entry})).decode()
    assert text.startswith('{\n  "version": 1,\n  "skills": {\n    "a": {\n      "source": "a/b",')
    assert text.endswith("}\n")
    assert text.index('"a": {') < text.index('"z": {')


def test_an_entry_is_set_and_taken_out() -> None:
    entry = LockEntry(source="a/b", source_type="github")
    lock = Lock(version=1, skills={"a": entry, "b": entry}).having({"a": None, "c": entry})
    assert sorted(lock.skills) == ["b", "c"]


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"\xff", b'{"version": 1}', b'{"version": 2, "skills": {}}',
        b'{"version": true, "skills": {}}',
        b'{"version": 1, "skills": []}', b'{"version": 1, "skills": {"a": 1}}', b'{"version": 1, "skills": {"a": {}}}',
        b'{"version": 1, "skills": {"a": {"source": 1, "sourceType": "git"}}}', b"[" * 100_000,
        b'<<<<<<< ours\n{"version": 1, "skills": {}}\n=======\n>>>>>>> theirs\n',
    ],
)  # fmt: skip
def test_a_lock_file_that_cannot_be_used_is_refused_and_never_taken_for_empty(data: bytes) -> None:
    with pytest.raises(ValidationFailed, match="lock file") as error:
        parse_lock(data, HERE, "project")
    assert error.value.hint


def test_a_project_without_a_lock_file_has_nothing_locked(tmp_path: Path) -> None:
    assert read_lock(project_places(tmp_path)) == Lock(version=1)


def test_the_places_of_a_user_are_those_of_other_installers(tmp_path: Path) -> None:
    plain = user_places({"HOME": str(tmp_path)})
    assert (plain.lock, plain.skills) == (tmp_path / ".agents/.skill-lock.json", tmp_path / ".agents/skills")
    moved = user_places({"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")})
    assert moved.lock == tmp_path / "state/skills/.skill-lock.json"


def test_skills_of_a_project_that_are_elsewhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "project/.agents").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project/.agents/skills").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValidationFailed, match="leads out of the project"):
        project_places(tmp_path / "project")
