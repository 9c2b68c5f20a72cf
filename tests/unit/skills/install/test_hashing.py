"""The hash of the public lock file, and our digest that tells apart what it does not."""

import hashlib
import os
from pathlib import Path

import pytest

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.install import hash_directory
from skills_runtime.skills.install.hashing import collation_key, hash_files
from tests.unit.skills.samples import make_skill, skill_text

# What `localeCompare` of JavaScript makes of these, as Node 20 sorts them.
SORTED = [
    "10", "2", "a", "A", "ä", "a b", "a_b", "a-b", "a.b", "a/b", "a1", "a10", "ab", "aB", "Ab", "AB", "abc", "ae", "Ae",
    "aé", "àe", "assets/_x", "assets/-x", "e", "é", "É", "ea", "ee", "LICENSE", "LICENSE.txt", "ñ", "references/a.md",
    "scripts/x.py", "SKILL.md", "ss", "ß", "z", "б", "я", "Я", "中", "文",
]  # fmt: skip
SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"


def test_paths_are_sorted_as_other_installers_sort_them() -> None:
    turned, signs = SORTED[::-1], SIGNS[::-1]
    assert sorted(turned, key=collation_key) == SORTED
    assert "".join(sorted(signs, key=collation_key)) == SIGNS


def test_the_public_hash_is_that_of_paths_and_contents_in_order(tmp_path: Path) -> None:
    skill = make_skill(
        tmp_path, "writer", files={"scripts/run.sh": "echo\n", "LICENSE": "free\n", "a-b": "1", "aB": "2"}
    )
    order = ["a-b", "aB", "LICENSE", "scripts/run.sh", "SKILL.md"]
    expected = hashlib.sha256(b"".join(name.encode() + (skill / name).read_bytes() for name in order)).hexdigest()
    assert hash_directory(skill).computed_hash == expected


def test_a_known_skill_has_the_hash_that_other_installers_give_it(tmp_path: Path) -> None:
    files = {"SKILL.md": "x\n", "scripts/B.py": "b\n", "scripts/a.py": "a\n", "README.md": "r\n", "_hidden": "h\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    known = "84a21f002062c02425428ab3c95aa56f651acd2b116ec7d440627cb42c26694a"
    assert hash_directory(tmp_path).computed_hash == known


def test_history_and_packages_of_others_do_not_count_for_the_public_hash(tmp_path: Path) -> None:
    skill = make_skill(tmp_path, "writer")
    before = hash_directory(skill)
    for name in (".git", "node_modules", "sub/node_modules"):
        (skill / name).mkdir(parents=True)
        (skill / name / "file").write_text("x")
    after = hash_directory(skill)
    assert after.computed_hash == before.computed_hash
    assert after.digest != before.digest


def test_two_skills_that_share_the_public_hash_have_two_digests(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for place, name, text in ((one, "a", "bc"), (other, "ab", "c")):
        place.mkdir()
        (place / name).write_text(text)
    assert hash_directory(one).computed_hash == hash_directory(other).computed_hash
    assert hash_directory(one).digest != hash_directory(other).digest


def test_a_link_in_the_place_of_a_file_is_another_content(tmp_path: Path) -> None:
    skill = make_skill(tmp_path, "writer", files={"data": "same"})
    before = hash_directory(skill).digest
    (tmp_path / "outside").write_text("same")
    (skill / "data").unlink()
    (skill / "data").symlink_to(tmp_path / "outside")
    assert hash_directory(skill).digest != before


def test_a_pipe_does_not_hold_up_the_count(tmp_path: Path) -> None:
    skill = make_skill(tmp_path, "writer")
    before = hash_directory(skill).digest
    os.mkfifo(skill / "pipe")
    assert hash_directory(skill).digest != before


def test_a_skill_with_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skills_runtime.skills.install.hashing.MAX_HASHED_FILES", 2)
    skill = make_skill(tmp_path, "writer", text=skill_text(), files={"a": "", "b": ""})
    with pytest.raises(ValidationFailed, match="more than 2 files"):
        hash_directory(skill)


def test_no_files_have_the_hash_of_nothing() -> None:
    assert hash_files([]) == hashlib.sha256().hexdigest()
