"""Skills a program registers: checked like any other, their bodies had when they are needed."""

from typing import Any

import pytest

from skills_runtime.skills import MemorySource, Origin, Row, SkillError
from tests.unit.skills.samples import a_skill, row

ORIGIN = Origin("space", "web:mvp", "rows")


def test_a_row_becomes_a_skill() -> None:
    report = MemorySource(ORIGIN, [row(required_env_vars=("KEY",), metadata={"license": "MIT"})]).skills()
    (skill,) = report.skills
    assert skill.mention.text == "$[web:mvp].writer"
    assert (skill.path, skill.directory) == (None, None)
    assert skill.locator == "memory://rows/writer"
    assert skill.required_env_vars == ("KEY",)
    assert skill.metadata == {"license": "MIT"}


@pytest.mark.parametrize(("name", "description"), [("No", "d"), ("", "d"), ("ab", ""), ("ab", " \n")])
def test_a_row_that_is_no_skill_is_a_problem_and_hides_no_other(name: str, description: str) -> None:
    bad = Row(skill_name=name, description=description, body="x")
    report = MemorySource(ORIGIN, [bad, row()]).skills()
    assert [skill.name for skill in report.skills] == ["writer"]
    assert [problem.code for problem in report.problems] == ["SKILL_SCAN_METADATA_INVALID"]


def test_a_body_is_loaded_when_it_is_needed_and_only_then() -> None:
    calls: list[int] = []
    source = MemorySource(ORIGIN, [row(body=lambda: calls.append(1) or "loaded")])  # pyright: ignore[reportArgumentType]
    (skill,) = source.skills().skills
    assert calls == []
    assert source.body(skill) == "loaded"


def _fails() -> str:
    raise OSError("gone")


def _no_text() -> Any:
    return 7


@pytest.mark.parametrize("loader", [_fails, _no_text])
def test_a_loader_that_fails_is_an_error_of_ours(loader: Any) -> None:
    source = MemorySource(ORIGIN, [row(body=loader)])
    with pytest.raises(SkillError) as caught:
        source.body(a_skill())
    assert caught.value.code == "SKILL_BODY_READ_FAILED"


def test_a_skill_that_is_not_registered_has_no_body() -> None:
    with pytest.raises(SkillError, match="not registered"):
        MemorySource(ORIGIN, []).body(a_skill())


def test_half_characters_do_not_reach_a_prompt() -> None:
    assert MemorySource(ORIGIN, [row(body="a\ud800b")]).body(a_skill()) == "a\ufffdb"
