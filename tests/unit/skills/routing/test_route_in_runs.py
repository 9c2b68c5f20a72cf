"""What is said about a choice of skills is what a run does."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.skills import Library
from skills_runtime.skills.library import Rules
from skills_runtime.skills.mentions import resolve_listed_mentions, resolve_mentions
from skills_runtime.skills.problems import SkillError
from skills_runtime.skills.routing import route_skills
from skills_runtime.testing import FakeModel, says
from tests.e2e.cli.programs import invoke
from tests.support.agents import agent_in, payloads_of
from tests.unit.skills.samples import library_of, make_skill, row, skill_text
from tests.unit.skills.sources.test_filesystem import source_at

SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "discovery": {"enabled": False},
}


def put(place: Path, name: str, body: str = "Do it.\n", extra: str = "") -> Path:
    return make_skill(place / "skills", name, text=skill_text(name, body=body, extra=extra))


def ran(place: Path, task: str) -> tuple[str, list[Any]]:
    """What the model was told, and the events about routing."""
    model = FakeModel([says("done")])
    result = agent_in(place, model, settings={"skills": SKILLS}).run(task)
    return str(model.requests[0].messages), payloads_of(result.wal_locator, "skill_routed")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


def plugin(home: Path, name: str, *skills: str) -> None:
    directory = home / ".agents/plugins" / name
    (directory / ".claude-plugin").mkdir(parents=True)
    (directory / ".claude-plugin/plugin.json").write_text(json.dumps({"name": name}))
    for skill in skills:
        make_skill(directory / "skills", skill)


def test_a_trigger_counts_beside_many_mentions(tmp_path: Path) -> None:
    for number in range(5):
        put(tmp_path, f"skill-{number}")
    put(tmp_path, "tides", "MOON\n", extra="triggers: [spring tide]\n")
    prompt_text, _ = ran(tmp_path, " ".join(f"$skill-{number}" for number in range(5)) + " spring tide")
    assert "MOON" in prompt_text


def test_what_is_certain_is_never_cut() -> None:
    library = library_of(*(row(f"skill-{number}") for number in range(9)))
    task = " ".join(f"$skill-{number}" for number in range(9))
    assert len(route_skills(task, library.list(), limit=2).certain) == 9


def test_a_skill_of_the_user_is_meant_before_one_of_a_plugin(workspace: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "two", text=skill_text("two", "Mine."))
    plugin(home, "pp", "two")
    answer = json.loads(invoke("skills", "route", "use $two", "--json").out)
    assert (answer["decided_by"], answer["choices"][0]["mention"]) == ("mention", "$[user].two")


def test_a_skill_that_a_plugin_has_is_called_by_both_names(workspace: Path, home: Path) -> None:
    plugin(home, "pp", "two")
    for task in ("use $two", "use $pp:two"):
        assert json.loads(invoke("skills", "route", task, "--json").out)["decided_by"] == "mention"


def test_a_link_that_leads_elsewhere_is_not_called_a_mention(tmp_path: Path) -> None:
    put(tmp_path, "writer")
    _, routed = ran(tmp_path, "[$writer](nowhere/SKILL.md)")
    assert all(event.decided_by != "mention" for event in routed)


@pytest.mark.parametrize("task", ["/inner x", "use $inner", "[$inner](inner/SKILL.md)"])
def test_a_skill_that_is_not_for_people_is_not_called_by_them(tmp_path: Path, task: str) -> None:
    put(tmp_path, "inner", "SECRET\n", extra="user-invocable: false\n")
    prompt_text, routed = ran(tmp_path, task)
    assert "SECRET" not in prompt_text
    assert all(event.decided_by != "mention" for event in routed)


def test_calling_a_skill_that_is_not_for_people_is_reported() -> None:
    library = library_of(row("inner", metadata={"user-invocable": "false"}))
    (notice,) = resolve_mentions("/inner x", library).notices
    assert notice.code == "SKILL_NOT_FOR_PEOPLE"
    assert resolve_mentions("$[web:mvp].inner", library).skills


@pytest.mark.parametrize("task", ["$one", "/one x", "$[web:mvp].one", "$[web:mvp].none", "$none-such", "$web:mvp:one"])
def test_a_list_and_its_library_mean_the_same(task: str) -> None:
    library = library_of(row("one"), row("two"))
    try:
        meant = resolve_mentions(task, library).skills
    except SkillError:  # whatever a library refuses, its list passes over
        meant = ()
    assert resolve_listed_mentions(task, library.list()).skills == meant


def test_a_skill_that_is_too_large_is_reported_by_name_and_not_offered(tmp_path: Path) -> None:
    put(tmp_path, "large", "x" * 500)
    put(tmp_path, "small")
    library = Library([source_at(tmp_path / "skills")], rules=Rules(max_body_bytes=100))
    assert [skill.name for skill in library.list()] == ["small"]
    (problem,) = library.problems()
    assert (problem.code, problem.name, problem.severity) == ("SKILL_BODY_TOO_LARGE", "large", "error")
    (notice,) = resolve_mentions("/large x", library).notices
    assert "too large" in notice.message


def test_a_front_matter_does_not_count_as_text(tmp_path: Path) -> None:
    put(tmp_path, "small", "x" * 90)
    library = Library([source_at(tmp_path / "skills")], rules=Rules(max_body_bytes=100))
    assert [skill.name for skill in library.list()] == ["small"]


def test_a_list_and_a_route_tell_of_a_skill_that_is_too_large(workspace: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "large", text=skill_text("large", body="x" * 500))
    (workspace / "runtime.yaml").write_text("skills: {injection: {max_bytes: 100}}\n")
    listed_skills = json.loads(invoke("skills", "list", "--config", "runtime.yaml", "--json").out)["skills"]
    (listed_skill,) = [skill for skill in listed_skills if skill["path"].startswith(str(home))]
    assert (listed_skill["name"], listed_skill["state"]) == ("large", "broken")
    answer = json.loads(invoke("skills", "route", "anything", "--config", "runtime.yaml", "--json").out)
    assert "large" in answer["notices"][0]
    assert answer["considered"] == 0
