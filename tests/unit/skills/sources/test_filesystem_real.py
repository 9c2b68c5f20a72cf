"""Skills in directories as people write them: they load, what is odd is reported, and nothing hides the others."""

from pathlib import Path

import pytest

from skills_runtime.skills import Report
from tests.unit.skills.samples import library_at, make_skill, skill_text, source_at

RUN = '{"name": "runner", "description": "Runs.", "runtime": {"type": "shell"}}'


def names(report: Report) -> list[str]:
    return [skill.name for skill in report.skills]


def told(report: Report) -> list[tuple[str, str, str]]:
    return [(one.severity, one.details["rule"], one.name) for one in report.problems]


def test_odd_skills_load_and_broken_ones_are_reported_by_name(tmp_path: Path) -> None:
    make_skill(tmp_path, "colon", text="---\nname: colon\ndescription: Use when: asked\n---\nBody.\n")
    make_skill(tmp_path, "Title", text=skill_text("My Title"))
    make_skill(tmp_path, "undescribed", text="---\nname: undescribed\n---\n# Heading\n\nDoes it.\n")
    make_skill(tmp_path, "broken", text="no front matter")
    make_skill(tmp_path, "plain", text=skill_text("plain", extra="version: 1.0\ntags: [a, b]\n"))
    report = source_at(tmp_path).skills()
    assert names(report) == ["my-title", "colon", "plain", "undescribed"]
    described = {skill.name: skill.description for skill in report.skills}
    assert (described["colon"], described["undescribed"]) == ("Use when: asked", "Does it.")
    assert [(severity, rule) for severity, rule, name in told(report) if name == "broken"] == [
        ("error", "frontmatter_missing")
    ]
    assert {name for severity, _, name in told(report) if severity == "warning"} == {"colon", "Title", "undescribed"}


def test_remarks_are_left_to_validation(tmp_path: Path) -> None:
    extra = "version: 1\nmetadata: {a: [b]}\nallowed-tools: [Read]\n"
    make_skill(tmp_path, "writer", text=skill_text(extra=extra))
    assert source_at(tmp_path).skills().problems == ()


@pytest.mark.parametrize("name", ["skill.md", "Skill.md"])
def test_a_file_in_other_letters_is_found_and_its_body_read(name: str, tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "writer")
    (directory / "SKILL.md").rename(directory / name)
    source = source_at(tmp_path)
    (skill,) = source.skills().skills
    assert skill.path == directory.resolve() / name
    assert source.body(skill) == "Do it.\n"
    assert told(source.skills()) == [("warning", "file_name", "writer")]


def test_the_file_in_capitals_is_the_one_that_counts(tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "writer", files={"skill.md": "broken"})
    report = source_at(tmp_path).skills()
    assert [skill.path for skill in report.skills] == [directory.resolve() / "SKILL.md"]
    assert report.problems == ()


def test_the_body_behind_a_late_front_matter_is_the_body_alone(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer", text=f"<!-- note -->\n\n{skill_text()}")
    source = source_at(tmp_path)
    (skill,) = source.skills().skills
    assert source.body(skill) == "Do it.\n"


def test_a_directory_with_only_a_definition_to_run_is_a_skill_without_a_body(tmp_path: Path) -> None:
    (tmp_path / "runner").mkdir()
    (tmp_path / "runner" / "skill.yaml").write_text(RUN)
    library = library_at(tmp_path)
    (skill,) = library.list()
    assert (skill.name, skill.description) == ("runner", "Runs.")
    assert skill.run is not None
    assert skill.run.runtime == "shell"
    assert library.body(skill) == ""


def test_a_definition_beside_the_text_belongs_to_the_same_skill(tmp_path: Path) -> None:
    make_skill(tmp_path, "runner", files={"skill.yaml": RUN})
    (skill,) = source_at(tmp_path).skills().skills
    assert skill.run is not None
    assert skill.description == "Writes things."


@pytest.mark.parametrize(
    ("definition", "rule"),
    [(RUN.replace("runner", "other"), "run_name_mismatch"), ("[", "run_invalid"), ("{}", "run_field")],
)
def test_a_definition_that_does_not_fit_breaks_its_skill_and_no_other(
    definition: str, rule: str, tmp_path: Path
) -> None:
    make_skill(tmp_path, "runner", files={"skill.yaml": definition})
    make_skill(tmp_path, "writer")
    report = source_at(tmp_path).skills()
    assert names(report) == ["writer"]
    assert ("error", rule, "runner") in told(report)


def test_a_name_that_could_pass_for_a_tag_is_made_harmless(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "skill.yaml").write_text('{"name": "<skill> x", "runtime": {"type": "shell"}}')
    (skill,) = source_at(tmp_path).skills().skills
    assert skill.name == "skill-x"
