"""What an agent can be given instead of what its settings name: skills, templates, sub-agents, and no second log."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, AgentBuilder
from skills_runtime.errors import ConfigError, SkillsRuntimeError
from skills_runtime.ports import ChildStatus, Question
from skills_runtime.runs import runs_root
from skills_runtime.skills import Library, MemorySource, Origin, Row
from skills_runtime.testing import FakeModel, says
from tests.support.agents import calls, payloads_of

SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("writer", "reader"):
        skill = tmp_path / "skills" / name
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: A {name}.\n---\n\nBriefly, {name}.\n")
    return tmp_path


def built(directory: Path, model: FakeModel, **settings: Any) -> AgentBuilder:
    overlay = {"safety": {"mode": "allow"}, **settings}
    return AgentBuilder().workspace_root(directory).backend(model).add_config_overlay(overlay)


def system_texts(model: FakeModel, request: int = 0) -> list[str]:
    """The texts of a request, without calls and results."""
    return [
        str(message["content"]) for message in model.requests[request].messages if message["role"] in ("system", "user")
    ]


def library(*rows: Row) -> Library:
    return Library([MemorySource(Origin("m", "own", "rows"), rows)])


POET = Row(skill_name="poet", description="Rhymes.", body="In rhymes.")
NEEDY = Row(skill_name="needy", description="Needs.", body="With $TOKEN.", required_env_vars=("TOKEN",))


class Knowing:
    """Somebody who knows every variable."""

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Tell it."""
        return "s3cret-value"


def test_a_library_takes_the_place_of_the_configured_skills(directory: Path) -> None:
    model = FakeModel([says("done")])
    agent = built(directory, model, skills=SKILLS).skills_manager(library(POET)).build()
    assert agent.run("Use $[own].poet.").status == "completed"
    assert "In rhymes." in system_texts(model)[1]
    with pytest.raises(SkillsRuntimeError, match="web:mvp"):
        agent.run("Use $[web:mvp].writer.")


def test_a_library_works_without_any_skills_in_the_settings(directory: Path) -> None:
    model = FakeModel([says("done")])
    agent = Agent(workspace_root=directory, backend=model, skills_manager=library(POET))
    agent.run("Go.")
    assert "$[own].poet" in system_texts(model)[0]
    assert "activate_skill" in {tool["name"] for tool in model.requests[0].tools}


@pytest.mark.parametrize(("section", "tool"), [("actions", "skill_exec"), ("references", "skill_ref_read")])
@pytest.mark.parametrize("enabled", [True, False])
def test_a_tool_for_skills_is_offered_only_where_it_is_on(
    directory: Path, section: str, tool: str, enabled: bool
) -> None:
    model = FakeModel([says("done")])
    settings = {"skills": {section: {"enabled": enabled}}, "tools": {"compat": True}}
    built(directory, model, **settings).skills_manager(library(POET)).build().run("Go.")
    assert (tool in {request["name"] for request in model.requests[0].tools}) is enabled


def test_a_variable_that_a_given_skill_needs_is_asked_for(directory: Path) -> None:
    model = FakeModel([says("done")])
    result = built(directory, model).skills_manager(library(NEEDY)).human_io(Knowing()).build().run("Use $[own].needy.")
    assert result.status == "completed"
    assert len(payloads_of(result.wal_locator, "env_var_set")) == 1
    assert "With $TOKEN." in system_texts(model)[1]


@pytest.mark.parametrize("path", ["skills/writer", "skills/writer/SKILL.md"])
def test_a_disabled_skill_is_left_out(directory: Path, path: str) -> None:
    model = FakeModel([says("done")])
    agent = built(directory, model, skills=SKILLS).skills_disabled_paths([path]).build()
    agent.run("Use $[web:mvp].reader.")
    assert "$[web:mvp].reader" in system_texts(model)[0]
    assert "$[web:mvp].writer" not in system_texts(model)[0]
    with pytest.raises(SkillsRuntimeError, match="writer"):
        agent.run("Use $[web:mvp].writer.")


def test_a_disabled_skill_cannot_be_reached_by_tools(directory: Path) -> None:
    settings = {**SKILLS, "references": {"enabled": True}}
    arguments = {"skill_mention": "$[web:mvp].writer", "ref_path": "references/x.md"}
    model = FakeModel([calls(("skill_ref_read", arguments)), says("done")])
    result = (
        built(directory, model, skills=settings).skills_disabled_paths([directory / "skills/writer"]).build().run("Go.")
    )
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert finished.result["data"]["error"]["code"] == "SKILL_UNKNOWN"


def test_a_whole_directory_of_skills_can_be_disabled(directory: Path) -> None:
    model = FakeModel([says("done")])
    built(directory, model, skills=SKILLS).skills_disabled_paths(["skills"]).build().run("Go.")
    assert "$[web:mvp]" not in system_texts(model)[0]


def test_a_path_to_disable_that_does_not_exist_is_refused(directory: Path) -> None:
    with pytest.raises(ConfigError, match="skills/wrter"):
        built(directory, FakeModel([]), skills=SKILLS).skills_disabled_paths(["skills/wrter"]).build()


TEMPLATES = {"default": "Be kind, in {{cwd}}.", "terse": "Be terse."}


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ({}, "Be kind, in "),
        ({"template": "terse"}, "Be terse."),
        ({"template": "terse", "system_text": "Mine."}, "Mine."),
        ({"profile": "generation_direct"}, "Be kind, in "),
    ],
)
def test_a_template_is_chosen_by_name(directory: Path, prompt: dict[str, str], expected: str) -> None:
    model = FakeModel([says("done")])
    result = built(directory, model, prompt=prompt).prompt_templates(TEMPLATES).build().run("Go.")
    assert result.status == "completed"
    assert system_texts(model)[0].startswith(expected)
    assert "{{cwd}}" not in system_texts(model)[0]
    archived = Path(result.wal_locator).with_name("effective-system-prompt.md").read_text()
    assert archived == system_texts(model)[0]


def test_an_unknown_template_is_refused(directory: Path) -> None:
    agent = built(directory, FakeModel([]), prompt={"template": "fancy"}).prompt_templates(TEMPLATES).build()
    with pytest.raises(ConfigError, match="fancy"):
        agent.run("Go.")
    assert not runs_root(directory).exists()


class Elsewhere:
    """Begins sub-agents somewhere else."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, str, str]] = []

    async def spawn(self, message: str, *, call_id: str, agent_type: str = "") -> ChildStatus:
        """Note it."""
        self.begun.append((message, call_id, agent_type))
        return ChildStatus(id="far-1", status="running")

    async def wait(self, ids: Sequence[str], *, timeout_ms: int | None = None) -> Sequence[ChildStatus]:
        """Say that all is done."""
        return [ChildStatus(id=text, status="completed", final_output="found it") for text in ids]

    async def send(self, child_id: str, message: str) -> ChildStatus:
        """Take it."""
        return ChildStatus(id=child_id, status="running")

    async def resume(self, child_id: str) -> ChildStatus:
        """Say that it runs."""
        return ChildStatus(id=child_id, status="running")

    async def close(self, child_id: str) -> ChildStatus:
        """Say that it has ended."""
        return ChildStatus(id=child_id, status="cancelled")


def test_sub_agents_are_started_by_the_given_starter(directory: Path) -> None:
    model = FakeModel([calls(("spawn_agent", {"message": "Look."})), calls(("wait", {"ids": ["far-1"]})), says("done")])
    far = Elsewhere()
    result = built(directory, model).collab_manager(far).build().run("Go.")
    assert far.begun == [("Look.", "call_spawn_agent_0", "")]
    _, waited = payloads_of(result.wal_locator, "tool_call_finished")
    assert waited.result["data"]["results"][0]["final_output"] == "found it"
    assert len(list(runs_root(directory).iterdir())) == 1, "no run of its own is begun here"


def test_another_log_is_refused_with_what_to_do_instead(directory: Path) -> None:
    with pytest.raises(ConfigError, match="run directory") as caught:
        built(directory, FakeModel([])).wal_backend(object()).build()
    assert "event_hooks" in caught.value.hint
    assert not runs_root(directory).exists()


def test_a_profile_is_what_runs_say_they_belong_to(directory: Path) -> None:
    result = built(directory, FakeModel([says("done")])).profile_id("night-shift").build().run("Go.")
    (created,) = payloads_of(result.wal_locator, "run_created")
    assert created.profile_id == "night-shift"
