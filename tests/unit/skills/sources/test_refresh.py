"""When a source is searched again, and what happens when that fails."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config.models import SkillsSettings
from skills_runtime.skills import Library, Origin, Problem, Report, Skill, build_library
from skills_runtime.skills.configured import InjectedClients
from skills_runtime.skills.sources.refresh import MAX_SCANS, Policy, Scans, apply_refresh_policy
from tests.unit.skills.samples import a_skill, make_skill

GONE = Problem(code="SKILL_SCAN_SOURCE_UNAVAILABLE", message="the server is gone", locator="redis://r")


class Now:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Counting:
    """A source that counts its searches and can be switched off."""

    origin = Origin("space", "web:mvp", "rows")

    def __init__(self) -> None:
        self.searches = 0
        self.is_gone = False

    def skills(self) -> Report:
        self.searches += 1
        return Report((), (GONE,)) if self.is_gone else Report((a_skill(f"writer-{self.searches}"),))

    def body(self, skill: Skill) -> str:
        return f"The text of {skill.name}."


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def scans(now: Now) -> Scans:
    return Scans(now)


def names(source: Counting, policy: Policy, scans: Scans) -> list[str]:
    return [skill.name for skill in Library([apply_refresh_policy(source, "key", policy, 300, scans)]).list()]


def test_always_searches_for_every_library(scans: Scans) -> None:
    source = Counting()
    assert [names(source, "always", scans) for _ in range(2)] == [["writer-1"], ["writer-2"]]


def test_a_search_stays_valid_for_the_configured_time(scans: Scans, now: Now) -> None:
    source = Counting()
    found: list[str] = []
    for second in (0, 299, 300, 301):
        now.seconds = second
        found += names(source, "ttl", scans)
    assert found == ["writer-1", "writer-1", "writer-2", "writer-2"]


def test_manual_searches_again_only_when_asked_to(scans: Scans, now: Now) -> None:
    source = Counting()
    names(source, "manual", scans)
    now.seconds = 1e9
    assert names(source, "manual", scans) == ["writer-1"]
    scans.refresh()
    assert [names(source, "manual", scans) for _ in range(2)] == [["writer-2"], ["writer-2"]]


@pytest.mark.parametrize("policy", ["ttl", "manual"])
def test_a_search_that_fails_gives_the_earlier_one_and_says_so(policy: Policy, scans: Scans) -> None:
    source = Counting()
    names(source, policy, scans)
    source.is_gone = True
    scans.refresh()
    library = Library([apply_refresh_policy(source, "key", policy, 300, scans)])
    assert [skill.name for skill in library.list()] == ["writer-1"]
    (problem,) = library.problems()
    assert (problem.code, problem.severity) == ("SKILL_SCAN_REFRESH_FAILED", "warning")
    assert "the server is gone" in problem.message
    source.is_gone = False
    assert names(source, policy, scans) == ["writer-3"]


def test_without_an_earlier_search_a_failure_is_a_failure(scans: Scans) -> None:
    source = Counting()
    source.is_gone = True
    library = Library([apply_refresh_policy(source, "key", "ttl", 300, scans)])
    assert [problem.code for problem in library.problems()] == ["SKILL_SCAN_SOURCE_UNAVAILABLE"]


def test_a_failure_is_not_kept(scans: Scans) -> None:
    source = Counting()
    source.is_gone = True
    names(source, "manual", scans)
    source.is_gone = False
    assert names(source, "manual", scans) == ["writer-2"]


def test_a_library_sees_one_search_while_others_go_on(scans: Scans) -> None:
    source = Counting()
    library = Library([apply_refresh_policy(source, "key", "manual", 300, scans)])
    assert [skill.name for skill in library.list()] == ["writer-1"]
    scans.refresh()
    assert names(source, "manual", scans) == ["writer-2"]
    assert [skill.name for skill in library.list()] == ["writer-1"]
    assert library.body(library.list()[0]) == "The text of writer-1."


def test_only_a_bounded_number_of_searches_is_kept(scans: Scans) -> None:
    for number in range(MAX_SCANS + 1):
        scans.put(number, Report())
    assert scans.get(0) is None
    assert scans.get(1) is not None


@pytest.mark.parametrize(("policy", "found"), [("always", 2), ("ttl", 1), ("manual", 1)])
def test_the_policy_comes_from_the_settings(policy: str, found: int, tmp_path: Path, scans: Scans) -> None:
    settings: dict[str, Any] = {
        "spaces": [{"id": "s", "namespace": "web", "sources": ["files"]}],
        "sources": [{"id": "files", "type": "filesystem", "options": {"root": "skills"}}],
        "scan": {"refresh_policy": policy},
    }
    for name in ("one", "two"):
        make_skill(tmp_path, f"skills/{name}")
        library = build_library(
            SkillsSettings.model_validate(settings), tmp_path, sources_with=InjectedClients(scans=scans)
        )
        number = len([skill for skill in library.list() if skill.namespace == "web"])
    assert number == found
