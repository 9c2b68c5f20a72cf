"""A search with an index: reads only what changed, and sees whatever changed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.skills import FilesystemSource, Report
from skills_runtime.skills.sources import IndexedSource, filesystem
from skills_runtime.skills.sources import filesystem_index as source_module
from skills_runtime.skills.sources.filesystem import STAMP, ReadSkill, SkillDirectory, VisitedDirectory, read_skill
from skills_runtime.skills.sources.filesystem_index import GRAIN_NS, is_reliable, load_index
from tests.support.users import Unprivileged
from tests.unit.skills.samples import make_skill, skill_text
from tests.unit.skills.sources.trees import ORIGIN, found_again, index_files, indexed, next_tick

RUN = '{{"name": "{}", "runtime": {{"type": "shell"}}}}'
DEPENDENCIES = "dependencies: {{tools: [{{type: env_var, value: {}}}]}}\n"


EDITS: list[Callable[[Path], object]] = [
    lambda root: (root / "writer").rename(root / "scribe"),
    lambda root: (root / "writer").rename(root / "group/writer"),
    lambda root: (root / "writer/SKILL.md").unlink(),
    lambda root: (root / "group/reader/SKILL.md").rename(root / "group/reader/skill.MD"),
    lambda root: (root / "loop").symlink_to(root),
    lambda root: (root / "writer/agents/openai.yaml").unlink(),
]


def names(report: Report) -> list[str]:
    return [skill.name for skill in report.skills]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Two skills that were searched once, and may be edited now."""
    make_skill(tmp_path / "skills", "writer", files={"agents/openai.yaml": DEPENDENCIES.format("KEY")})
    make_skill(tmp_path / "skills", "group/reader", files={"skill.yaml": RUN.format("reader")})
    indexed(tmp_path).skills()
    next_tick(tmp_path)
    return tmp_path


def test_a_second_search_finds_the_same(base: Path) -> None:
    cold = FilesystemSource(ORIGIN, base / "skills").skills()
    assert names(cold) == ["writer", "reader"]
    assert indexed(base).skills() == cold
    assert found_again(base) == cold


def test_no_skill_is_read_that_did_not_change(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[str, ...]] = []

    def noting(found: SkillDirectory, *others: Any) -> ReadSkill:
        read.append(found.parts)
        return read_skill(found, *others)

    monkeypatch.setattr(filesystem, "read_skill", noting)
    found_again(base)
    assert read == []
    (base / "skills/writer/SKILL.md").write_text(skill_text(description="Changed."))
    found_again(base)
    assert read == [("writer",)]


def test_a_file_that_can_be_read_now_is_read(unprivileged: Unprivileged) -> None:
    make_skill(unprivileged.path / "skills", "writer")
    (unprivileged.path / "skills/writer/SKILL.md").chmod(0o200)
    make_skill(unprivileged.path / "skills", "reader")
    for path in (unprivileged.path / "skills").rglob("*"):
        os.chown(path, 65534, 65534)

    def twice() -> tuple[list[str], list[str]]:
        broken = names(indexed(unprivileged.path).skills())
        (unprivileged.path / "skills/writer/SKILL.md").chmod(0o600)
        return broken, names(found_again(unprivileged.path))

    assert unprivileged(twice) == (["reader"], ["reader", "writer"])


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("writer/SKILL.md", skill_text(description="Writes thongs.")),
        ("writer/agents/openai.yaml", DEPENDENCIES.format("PIN")),
        ("group/reader/skill.yaml", RUN.format("riader")),
        ("group/reader/SKILL.md", "broken"),
        ("group/other/SKILL.md", skill_text("other")),
        ("skill.yaml", RUN.format("everything")),
    ],
)
def test_a_file_that_is_written_is_seen(base: Path, file: str, text: str) -> None:
    before = found_again(base)
    path = base / "skills" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    after = found_again(base)
    assert after == FilesystemSource(ORIGIN, base / "skills").skills()
    assert after != before


def test_an_edit_that_keeps_size_and_time_is_seen(base: Path) -> None:
    path = base / "skills/writer/SKILL.md"
    before = path.stat()
    path.write_text(path.read_text().replace("Writes", "Wrotes"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert found_again(base).skills[0].description == "Wrotes things."


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_renamed_or_removed_is_seen(base: Path, edit: Callable[[Path], object]) -> None:
    before = found_again(base)
    edit(base / "skills")
    after = found_again(base)
    assert after == FilesystemSource(ORIGIN, base / "skills").skills()
    assert after != before


def test_where_a_link_leads_is_looked_at_every_time(base: Path) -> None:
    (base / "skills/link").symlink_to(base / "target")
    assert not found_again(base).problems
    (base / "target").mkdir()
    (problem,) = found_again(base).problems
    assert (problem.code, problem.name) == ("SKILL_SCAN_LINK_SKIPPED", "link")


def test_a_root_that_is_gone_and_comes_back_is_seen(base: Path) -> None:
    (base / "skills").rename(base / "away")
    (problem,) = found_again(base).problems
    assert problem.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"
    (base / "away").rename(base / "skills")
    assert names(found_again(base)) == ["writer", "reader"]


def test_what_changed_just_before_it_was_read_is_read_again_the_next_time(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills", "writer")
    source = indexed(tmp_path, ahead_ns=0)
    source.skills()
    assert not (tmp_path / "index").exists()
    assert source.has_changed()


@pytest.mark.parametrize(("age", "settled"), [(GRAIN_NS + 1, True), (GRAIN_NS, False), (0, False), (-GRAIN_NS, False)])
@pytest.mark.parametrize("word", [0, 1])
def test_only_what_is_older_than_the_coarsest_clock_has_settled(age: int, settled: bool, word: int) -> None:
    stamp = [100, 100, 1, 1]
    stamp[word] = 10 * GRAIN_NS - age
    visited = VisitedDirectory("", 1, stamps=STAMP.pack(*stamp))
    assert is_reliable(visited, 10 * GRAIN_NS) is settled


def test_other_options_have_another_index(base: Path) -> None:
    assert names(found_again(base, max_depth=0)) == []
    assert len(index_files(base)) == 2
    assert names(found_again(base)) == ["writer", "reader"]


def test_the_index_of_another_version_is_not_used(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "FORMAT", 2**31)
    assert names(found_again(base)) == ["writer", "reader"]
    assert len(index_files(base)) == 2


def test_too_many_entries_end_the_search_the_same_way_every_time(base: Path) -> None:
    for _ in range(2):
        report = found_again(base, max_entries_per_root=5)
        assert names(report) == ["writer"]
        (problem,) = report.problems
        assert "skills.scan.max_entries_per_root" in problem.message


def test_without_a_directory_for_it_the_index_is_in_memory(base: Path) -> None:
    source = IndexedSource(FilesystemSource(ORIGIN, base / "skills"), None)
    assert source.skills() == source.skills()
    assert index_files(base) == index_files(base)


def test_bodies_are_read_when_they_are_asked_for(base: Path) -> None:
    source = indexed(base)
    skill = source.skills().skills[0]
    (base / "skills/writer/SKILL.md").write_text(skill_text(body="Another text.\n"))
    assert source.body(skill) == "Another text.\n"


def test_the_directories_to_watch_are_those_of_the_search(base: Path) -> None:
    source = indexed(base)
    assert list(source.directories()) == []
    source.skills()
    root = base / "skills"
    places = [root, root / "group", root / "group/reader", root / "writer", root / "writer/agents"]
    assert list(source.directories()) == places


def test_names_that_are_no_text_survive_the_index(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills", os.fsdecode(b"caf\xe9"), text=skill_text("coffee"))
    cold = indexed(tmp_path).skills()
    assert names(cold) == ["coffee"]
    assert found_again(tmp_path) == cold
    assert found_again(tmp_path).skills[0].path == cold.skills[0].path


def test_the_index_is_kept_under_its_key_only(base: Path) -> None:
    (file,) = index_files(base)
    assert load_index(file.parent, "another key") is None
