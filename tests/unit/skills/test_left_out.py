"""Skills that are left out: by the path of the skill, of its directory, or of a directory above."""

from pathlib import Path

import pytest

from skills_runtime.skills import FilesystemSource, Library, Mention, Origin, SkillError

TEXT = "---\nname: {name}\ndescription: A {name}.\n---\n\nBody.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("near/writer", "near/reader", "far/writer"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "SKILL.md").write_text(TEXT.format(name=name.rpartition("/")[2]))
    (tmp_path / "near" / "broken").mkdir()
    (tmp_path / "near" / "broken" / "SKILL.md").write_text("no front matter")
    return tmp_path


def full_library(root: Path) -> Library:
    return Library([FilesystemSource(Origin("s", "own", "f"), root)])


def names(library: Library) -> list[str]:
    return [skill.name for skill in library.list()]


@pytest.mark.parametrize("path", ["near/reader", "near/reader/SKILL.md"])
def test_a_skill_is_left_out_by_its_path(root: Path, path: str) -> None:
    less = full_library(root).without([root / path])
    assert names(less) == []
    with pytest.raises(SkillError, match="reader"):
        less.find(Mention("own", "reader"))


def test_leaving_one_of_two_out_makes_their_name_mean_one_skill(root: Path) -> None:
    with pytest.raises(SkillError):
        full_library(root).find(Mention("own", "writer"))
    skill = full_library(root).without([root / "far"]).find(Mention("own", "writer"))
    assert skill.path == root.resolve() / "near" / "writer" / "SKILL.md"


def test_what_is_wrong_with_a_skill_that_is_left_out_is_not_reported(root: Path) -> None:
    assert [problem.name for problem in full_library(root).problems() if problem.name == "broken"] == ["broken"]
    less = full_library(root).without([root / "near" / "broken"])
    assert [problem.name for problem in less.problems() if problem.name == "broken"] == []


def test_a_link_to_a_skill_leaves_out_what_it_leads_to(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root / "near")
    assert names(full_library(root).without([link])) == ["writer"]


def test_leaving_out_adds_up_and_changes_nothing_else(root: Path) -> None:
    library = full_library(root)
    library.set_variable("TOKEN", "x")
    less = library.without([root / "far"]).without([root / "near" / "reader"])
    assert names(less) == ["writer"]
    assert names(library) == ["reader"]
    assert names(library.without([])) == names(library)


def test_a_name_that_only_begins_like_a_path_is_not_below_it(root: Path) -> None:
    assert names(full_library(root).without([root / "near" / "read"])) == ["reader"]
