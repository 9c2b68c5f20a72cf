"""An index that remembers a tree never answers with what is not there any more."""

import os
import time
from pathlib import Path

import pytest

from skills_runtime.skills import Origin
from skills_runtime.skills.sources import FilesystemSource, IndexedSource
from tests.unit.skills.samples import make_skill, skill_text

ORIGIN = Origin("space", "web:mvp", "files")
LATER_NS = 60_000_000_000


def said(root: Path, index: Path) -> list[str]:
    """What another process finds that begins when everything has long been quiet."""
    source = IndexedSource(FilesystemSource(ORIGIN, root), index, now_ns=lambda: time.time_ns() + LATER_NS)
    return [skill.description for skill in source.skills().skills]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "skills"
    make_skill(place, "writer", text=skill_text(description="Version 1001."))
    return place


def test_an_edit_in_place_that_keeps_size_and_time_is_seen(root: Path, tmp_path: Path) -> None:
    file = root / "writer" / "SKILL.md"
    assert said(root, tmp_path / "index") == said(root, tmp_path / "index") == ["Version 1001."]
    before = file.stat()
    with file.open("r+") as opened:
        opened.write(file.read_text().replace("1001", "1002"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert said(root, tmp_path / "index") == ["Version 1002."]


def test_edits_within_one_tick_are_each_seen(root: Path, tmp_path: Path) -> None:
    for number in range(1002, 1012):
        (root / "writer" / "SKILL.md").write_text(skill_text(description=f"Version {number}."))
        source = IndexedSource(FilesystemSource(ORIGIN, root), tmp_path / "index")
        assert [skill.description for skill in source.skills().skills] == [f"Version {number}."]


def test_a_tree_that_takes_the_place_of_another_is_seen(root: Path, tmp_path: Path) -> None:
    make_skill(tmp_path / "other", "writer", text=skill_text(description="Version 2002."))
    assert said(root, tmp_path / "index") == ["Version 1001."]
    root.rename(tmp_path / "away")
    (tmp_path / "other").rename(root)
    assert said(root, tmp_path / "index") == ["Version 2002."]
    root.rename(tmp_path / "other")
    (tmp_path / "away").rename(root)
    assert said(root, tmp_path / "index") == ["Version 1001."]


def test_a_skill_copied_with_all_its_times_is_seen(root: Path, tmp_path: Path) -> None:
    file = root / "writer" / "SKILL.md"
    assert said(root, tmp_path / "index") == ["Version 1001."]
    before = file.stat()
    draft = tmp_path / "draft"
    draft.write_text(skill_text(description="Version 3003."))
    os.utime(draft, ns=(before.st_atime_ns, before.st_mtime_ns))
    draft.replace(file)
    assert said(root, tmp_path / "index") == ["Version 3003."]


def test_variables_declared_later_are_seen(root: Path, tmp_path: Path) -> None:
    (root / "writer" / "agents").mkdir()
    assert said(root, tmp_path / "index") == ["Version 1001."]
    (root / "writer" / "agents" / "openai.yaml").write_text(
        "dependencies: {tools: [{type: env_var, value: A_KEY}]}\n", encoding="utf-8"
    )
    (skill,) = IndexedSource(FilesystemSource(ORIGIN, root), tmp_path / "index").skills().skills
    assert skill.required_env_vars == ("A_KEY",)


@pytest.mark.parametrize("damage", [b"", b"\0" * 64, b"skills-index\n", b"skills-index\n" + b"x" * 5000])
def test_a_damaged_index_is_no_answer(root: Path, tmp_path: Path, damage: bytes) -> None:
    assert said(root, tmp_path / "index") == ["Version 1001."]
    (kept,) = (tmp_path / "index").iterdir()
    kept.write_bytes(damage)
    assert said(root, tmp_path / "index") == ["Version 1001."]


def test_an_index_that_cannot_be_kept_changes_no_answer(root: Path, tmp_path: Path) -> None:
    (tmp_path / "index").write_text("in the way")
    assert said(root, tmp_path / "index") == ["Version 1001."]
    (root / "writer" / "SKILL.md").write_text(skill_text(description="Version 1002."))
    assert said(root, tmp_path / "index") == ["Version 1002."]
