"""Skills in directories: what a search finds, what it leaves out and says so, and how bodies are read."""

import os
from pathlib import Path

import msgspec
import pytest

from skills_runtime.skills import FilesystemSource, Problem, Report, ScanOptions, SkillError
from skills_runtime.skills.sources import filesystem
from skills_runtime.skills.standard.yaml import parse_mapping
from tests.support.users import Unprivileged
from tests.unit.skills.samples import ORIGIN, make_skill, skill_text, source_at


def names(report: Report) -> list[str]:
    return [skill.name for skill in report.skills]


def only(report: Report) -> Problem:
    (problem,) = report.problems
    return problem


def test_every_directory_with_a_skill_is_found_nearest_first_and_by_name(tmp_path: Path) -> None:
    for place in ("zebra", "alpha", "group/inner", "group/deep/est"):
        make_skill(tmp_path, place)
    report = source_at(tmp_path).skills()
    assert names(report) == ["alpha", "zebra", "inner", "est"]
    assert report.problems == ()


def test_a_skill_is_known_with_all_it_says_of_itself(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer", text=skill_text("writer", "Writes.", extra="license: MIT\n"))
    (skill,) = source_at(tmp_path).skills().skills
    assert (skill.name, skill.description, skill.metadata) == ("writer", "Writes.", {"license": "MIT"})
    assert (skill.namespace, skill.space_id, skill.source_id) == ("web:mvp", "space", "files")
    assert skill.path == tmp_path.resolve() / "writer" / "SKILL.md"
    assert skill.locator == str(skill.path)
    assert skill.mention.text == "$[web:mvp].writer"


def test_what_is_inside_a_skill_is_not_another_skill(tmp_path: Path) -> None:
    make_skill(tmp_path, "outer")
    make_skill(tmp_path, "outer/assets/template")
    assert names(source_at(tmp_path).skills()) == ["outer"]


def test_one_broken_skill_does_not_hide_the_others(tmp_path: Path) -> None:
    make_skill(tmp_path, "good")
    make_skill(tmp_path, "broken", text="no front matter")
    report = source_at(tmp_path).skills()
    assert names(report) == ["good"]
    problem = only(report)
    assert (problem.code, problem.severity) == ("SKILL_SCAN_METADATA_INVALID", "error")
    assert (problem.namespace, problem.name) == ("web:mvp", "broken")
    assert problem.locator == str(tmp_path.resolve() / "broken")


@pytest.mark.parametrize("kind", ["directory", "pipe", "link", "dangling link"])
def test_a_skill_file_that_is_no_file_is_a_problem_and_holds_nothing_up(kind: str, tmp_path: Path) -> None:
    make_skill(tmp_path, "good")
    place = tmp_path / "odd" / "SKILL.md"
    place.parent.mkdir()
    if kind == "directory":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(tmp_path / ("good/SKILL.md" if kind == "link" else "nowhere"))
    report = source_at(tmp_path).skills()
    assert names(report) == ["good"]
    assert only(report).name == "odd"


def test_links_to_directories_are_not_followed_and_are_reported(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    make_skill(outside, "secret")
    root = tmp_path / "root"
    make_skill(root, "good")
    (root / "link").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "dangling").symlink_to("nowhere")
    (root / "file").symlink_to(root / "good" / "SKILL.md")
    report = source_at(root).skills()
    assert names(report) == ["good"]
    assert [(each.code, each.severity, each.name) for each in report.problems] == [
        ("SKILL_SCAN_LINK_SKIPPED", "warning", "link"),
        ("SKILL_SCAN_LINK_SKIPPED", "warning", "loop"),
    ]


def test_a_root_may_itself_be_a_link(tmp_path: Path) -> None:
    make_skill(tmp_path / "real", "writer")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    source = source_at(tmp_path / "link")
    (skill,) = source.skills().skills
    assert source.body(skill) == "Do it.\n"


def test_a_root_that_is_not_there_is_a_problem_with_its_path(tmp_path: Path) -> None:
    problem = only(source_at(tmp_path / "nowhere").skills())
    assert problem.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"
    assert problem.locator.endswith("nowhere")


def test_hidden_directories_are_searched_only_when_asked_for(tmp_path: Path) -> None:
    for place in (".hidden", "seen", ".git/hook", "node_modules/package"):
        make_skill(tmp_path, place, text=skill_text(place.lstrip(".").rpartition("/")[2]))
    assert names(source_at(tmp_path).skills()) == ["seen"]
    assert names(source_at(tmp_path, ignore_dot_entries=False).skills()) == ["hidden", "seen"]


@pytest.mark.parametrize(("depth", "found"), [(0, []), (1, ["one"]), (2, ["one", "two"]), (9, ["one", "two"])])
def test_the_search_goes_as_deep_as_it_may_and_says_when_there_is_more(
    depth: int, found: list[str], tmp_path: Path
) -> None:
    make_skill(tmp_path, "one")
    make_skill(tmp_path, "group/two")
    report = source_at(tmp_path, max_depth=depth).skills()
    assert names(report) == found
    assert [problem.code for problem in report.problems] == ([] if depth > 1 else ["SKILL_SCAN_LIMIT_REACHED"])


def test_the_search_visits_as_many_directories_as_it_may_and_says_when_there_are_more(tmp_path: Path) -> None:
    for number in range(6):
        make_skill(tmp_path, f"skill-{number}")
    assert len(source_at(tmp_path, max_dirs_per_root=7).skills().skills) == 6
    report = source_at(tmp_path, max_dirs_per_root=4).skills()
    assert names(report) == ["skill-0", "skill-1", "skill-2"]
    problem = only(report)
    assert (problem.code, problem.severity) == ("SKILL_SCAN_LIMIT_REACHED", "warning")
    assert "max_dirs_per_root" in problem.message


def test_directories_of_every_level_count(tmp_path: Path) -> None:
    for number in range(3):
        make_skill(tmp_path, f"group-{number}/skill-{number}")
    assert len(source_at(tmp_path, max_dirs_per_root=7).skills().skills) == 3
    assert names(source_at(tmp_path, max_dirs_per_root=5).skills()) == ["skill-0"]


def test_a_huge_file_is_not_read_to_know_the_skill(tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "huge")
    source = source_at(tmp_path)
    (skill,) = source.skills().skills
    os.truncate(directory / "SKILL.md", 1 << 40)
    report = source.skills()
    assert (report.skills, [one.code for one in report.problems]) == ((), ["SKILL_BODY_TOO_LARGE"])
    with pytest.raises(SkillError) as caught:
        source.body(skill)
    assert caught.value.code == "SKILL_BODY_TOO_LARGE"


def test_the_largest_body_is_read_and_one_byte_more_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make_skill(tmp_path, "writer")
    source = source_at(tmp_path)
    (skill,) = source.skills().skills
    monkeypatch.setattr(filesystem, "MAX_FILE_BYTES", (directory / "SKILL.md").stat().st_size)
    assert source.body(skill) == "Do it.\n"
    with open(directory / "SKILL.md", "a") as file:
        file.write("x")
    with pytest.raises(SkillError):
        source.body(skill)


def test_an_odd_name_of_a_directory_is_shown_so_that_it_can_be_logged(tmp_path: Path) -> None:
    odd = os.fsdecode(b"a\xff\nb<skill>")
    make_skill(tmp_path, odd, text=skill_text("writer"))
    make_skill(tmp_path, odd + "2", text="broken")
    report = source_at(tmp_path).skills()
    (skill,) = report.skills
    locators = [skill.locator, *(problem.locator for problem in report.problems)]
    assert all(locator.isprintable() for locator in locators)
    assert msgspec.json.encode(locators)
    assert [problem.severity for problem in report.problems] == ["warning", "error"]
    assert source_at(tmp_path).body(skill) == "Do it.\n"


def test_the_variables_a_skill_declares_are_known(tmp_path: Path) -> None:
    declared = "dependencies:\n  tools:\n  - type: env_var\n    value: API_KEY\n"
    make_skill(tmp_path, "writer", files={"agents/openai.yaml": declared})
    (skill,) = source_at(tmp_path).skills().skills
    assert skill.required_env_vars == ("API_KEY",)


@pytest.mark.parametrize("content", ["[", "#" * 70_000])
def test_declarations_that_cannot_be_read_are_a_warning(content: str, tmp_path: Path) -> None:
    make_skill(tmp_path, "writer", files={"agents/openai.yaml": content})
    report = source_at(tmp_path).skills()
    assert names(report) == ["writer"]
    assert only(report).severity == "warning"


def test_a_body_is_read_as_it_is_now(tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "writer")
    source = source_at(tmp_path)
    (skill,) = source.skills().skills
    (directory / "SKILL.md").write_text(skill_text(body="Do it otherwise — 写.\n"))
    assert source.body(skill) == "Do it otherwise — 写.\n"


@pytest.mark.parametrize("swap", ["file", "directory", "above", "root"])
def test_a_body_behind_a_link_made_after_the_search_is_refused(swap: str, tmp_path: Path) -> None:
    make_skill(tmp_path / "elsewhere", "group/writer", text=skill_text(body="SECRET"))
    root = tmp_path / "root"
    make_skill(root, "group/writer")
    source = source_at(root)
    (skill,) = source.skills().skills
    place = {"file": "group/writer/SKILL.md", "directory": "group/writer", "above": "group", "root": "."}[swap]
    here, there = root / place, tmp_path / "elsewhere" / place
    here.rename(tmp_path / "moved")
    here.symlink_to(there)
    with pytest.raises(SkillError) as caught:
        source.body(skill)
    assert caught.value.code == "SKILL_BODY_READ_FAILED"
    assert "link" in caught.value.message


def test_a_body_that_is_gone_broken_or_no_text_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = make_skill(tmp_path, "writer") / "SKILL.md"
    source = source_at(tmp_path)
    (skill,) = source.skills().skills
    for content in (b"broken", skill_text().encode() + b"\xff", None):
        path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(SkillError) as caught:
            source.body(skill)
        assert caught.value.code == "SKILL_BODY_READ_FAILED"
        assert skill.locator in caught.value.hint


def test_a_skill_of_another_root_is_not_read(tmp_path: Path) -> None:
    make_skill(tmp_path / "one", "writer")
    (skill,) = source_at(tmp_path / "one").skills().skills
    for stranger in (skill, msgspec.structs.replace(skill, file="")):
        with pytest.raises(SkillError, match="not a file of this source"):
            source_at(tmp_path / "two").body(stranger)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    make_skill(tmp_path, "group/writer", files={"agents/openai.yaml": "["})
    (tmp_path / "link").symlink_to("group")
    os.mkfifo(make_skill(tmp_path, "odd") / "pipe")
    source = source_at(tmp_path)
    before = sorted(Path("/proc/self/fd").iterdir())
    for skill in source.skills().skills:
        source.body(skill)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_directory_without_permission_is_reported_and_the_others_are_found(unprivileged: Unprivileged) -> None:
    root = unprivileged.path
    parse_mapping(b"a: b")  # what it imports may be out of reach for a child without rights

    def search() -> list[tuple[str, str]]:
        make_skill(root, "good")
        make_skill(root, "closed/inner")
        make_skill(root, "unread")
        (root / "closed").chmod(0)
        (root / "unread" / "SKILL.md").chmod(0)
        report = FilesystemSource(ORIGIN, root, ScanOptions()).skills()
        (root / "closed").chmod(0o700)
        return [("", name) for name in names(report)] + [(each.code, each.name) for each in report.problems]

    assert unprivileged(search) == [
        ("", "good"),
        ("SKILL_SCAN_METADATA_INVALID", "unread"),
        ("SKILL_SCAN_SOURCE_UNAVAILABLE", "closed"),
    ]
