"""Skills as directories: their files, however they are called, and what is wrong in and around them."""

import os
from pathlib import Path

import pytest

from skills_runtime.skills import SkillError
from skills_runtime.skills.standard import find_skill_file, read_properties, validate_directory
from skills_runtime.skills.standard.directories import MAX_FILE_BYTES
from tests.unit.skills.samples import make_skill, skill_text

RUN = '{"name": "writer", "runtime": {"type": "python"}}'


def codes(path: Path, mode: str = "strict") -> list[str]:
    return [one.code for one in validate_directory(path, mode=mode)]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_a_file_of_almost_the_right_name_is_an_error_strictly_and_a_warning_leniently(
    name: str, tmp_path: Path
) -> None:
    directory = make_skill(tmp_path, "writer")
    (directory / "SKILL.md").rename(directory / name)
    assert find_skill_file(directory) == directory / name
    assert codes(directory) == ["file_name"]
    assert [one.severity for one in validate_directory(directory, mode="lenient")] == ["warning"]
    assert read_properties(directory).name == "writer"


def test_a_path_with_a_link_or_a_dot_is_the_directory_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = make_skill(tmp_path, "writer")
    (tmp_path / "link").symlink_to(directory)
    monkeypatch.chdir(directory)
    assert codes(tmp_path / "link") == codes(Path()) == []


def test_a_linked_file_that_is_named_is_read(tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "writer")
    (directory / "SKILL.md").rename(tmp_path / "elsewhere")
    (directory / "SKILL.md").symlink_to(tmp_path / "elsewhere")
    assert codes(directory) == []


def test_files_that_cannot_be_read_are_reported_and_hold_nothing_up(tmp_path: Path) -> None:
    os.mkfifo(make_skill(tmp_path, "pipe", files={"SKILL.md": ""}) / "skill.yaml")
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "SKILL.md").symlink_to("SKILL.md")
    (tmp_path / "dir" / "SKILL.md").mkdir(parents=True)
    assert codes(tmp_path / "pipe") == ["frontmatter_missing", "file_unreadable"]
    assert codes(tmp_path / "loop") == codes(tmp_path / "dir") == ["file_unreadable"]


def test_a_huge_file_is_read_only_so_far(tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "writer")
    os.truncate(directory / "SKILL.md", 100 * MAX_FILE_BYTES)
    assert codes(directory) == []


def test_a_long_body_and_one_that_is_no_text_are_reported(tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "writer", text=skill_text(body="line\n" * 501))
    assert [(one.code, one.severity) for one in validate_directory(directory)] == [("body_long", "info")]
    (directory / "SKILL.md").write_bytes(skill_text().encode() + b"\xff")
    assert codes(directory) == codes(directory, "lenient") == ["body_not_utf8"]


def test_a_skill_that_only_runs_is_a_skill_leniently(tmp_path: Path) -> None:
    directory = tmp_path / "writer"
    directory.mkdir()
    (directory / "skill.yaml").write_text(RUN)
    (directory / "run.py").write_text("print({})")
    assert codes(directory) == ["file_missing"]
    assert codes(directory, "lenient") == []
    with pytest.raises(SkillError, match=r"SKILL\.md"):
        read_properties(directory)


def test_two_files_of_one_skill_must_agree_on_its_name(tmp_path: Path) -> None:
    files = {"skill.yaml": RUN, "run.py": ""}
    assert codes(make_skill(tmp_path, "writer", files=files)) == []
    assert codes(make_skill(tmp_path, "reader", files=files)) == ["run_name_mismatch"]


def test_a_skill_without_the_program_it_runs_is_reported(tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "writer", files={"skill.yaml": RUN})
    assert codes(directory) == ["run_entry_missing"]


def test_reading_a_broken_skill_raises_its_first_error(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="must start with YAML frontmatter") as caught:
        read_properties(make_skill(tmp_path, "writer", text="text"))
    assert caught.value.hint
