"""The builder and the coordinator: other ways to the same agent."""

from pathlib import Path

import pytest

from skills_runtime.agent import Agent, AgentBuilder, Coordinator
from skills_runtime.errors import ValidationFailed
from skills_runtime.events import Event
from skills_runtime.llm import FakeChatBackend
from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in, calls, payloads_of, writes


def test_a_built_agent_uses_the_given_options(tmp_path: Path) -> None:
    events: list[Event] = []
    model = FakeModel([says("done")])
    agent = (
        AgentBuilder()
        .workspace_root(tmp_path)
        .backend(model)
        .model("both")
        .executor_model("other")
        .event_hooks([events.append])
        .add_config_overlay({"run": {"max_steps": 7}})
        .add_config_overlay({"run": {"max_wall_time_sec": 5}})
        .build()
    )
    assert agent.run("x").status == "completed"
    assert model.requests[0].model == "both"
    assert events[-1].type == "run_completed"
    assert (agent.resolved.settings.run.max_steps, agent.resolved.settings.run.max_wall_time_sec) == (7, 5)
    assert agent.resolved.settings.models.executor == "other"


def test_an_overlay_of_the_builder_writes_no_file(tmp_path: Path) -> None:
    AgentBuilder().workspace_root(tmp_path).add_config_overlay({"run": {"max_steps": 7}}).build()
    assert not list(tmp_path.iterdir())


def test_a_later_file_beats_an_earlier_one(tmp_path: Path) -> None:
    for name, steps in (("one.yaml", 1), ("two.yaml", 2)):
        (tmp_path / name).write_text(f"run: {{max_steps: {steps}}}\n")
    built = AgentBuilder().workspace_root(tmp_path).config_paths([tmp_path / "one.yaml"])
    assert built.add_config_path(tmp_path / "two.yaml").build().resolved.settings.run.max_steps == 2


def test_variables_of_the_builder_beat_those_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLS_RUNTIME_SDK_EXECUTOR_MODEL", "of the process")
    agent = AgentBuilder().workspace_root(tmp_path).env_vars({"SKILLS_RUNTIME_SDK_EXECUTOR_MODEL": "mine"}).build()
    assert agent.resolved.settings.models.executor == "mine"


def test_the_unattended_preset_denies_what_no_rule_approves(tmp_path: Path) -> None:
    model = FakeModel([calls(writes("a.txt", "x")), says("done")])
    agent = AgentBuilder.cloud_unattended_preset().workspace_root(tmp_path).backend(model).build()
    result = agent.run("x")
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert finished.result["error_kind"] == "permission"
    assert not (tmp_path / "a.txt").exists()


def test_what_a_child_found_is_history_for_the_parent(tmp_path: Path) -> None:
    parent = FakeModel([says("parent done")])
    coordinator = Coordinator([agent_in(tmp_path, parent), agent_in(tmp_path, [says("child found it")])])
    assert coordinator.run_with_child("go on", "look").final_output == "parent done"
    texts = [message["content"] for message in parent.requests[0].messages[1:]]
    assert texts == ["look", "child found it", "go on"]


async def test_children_work_at_the_same_time(tmp_path: Path) -> None:
    agents = [agent_in(tmp_path, FakeChatBackend([says(f"{number}")])) for number in range(3)]
    results = await Coordinator(agents).run_children_concurrent(["a", "b"])
    assert [(result.status, result.summary) for result in results] == [("completed", "1"), ("completed", "2")]


def test_a_coordinator_without_agents_is_refused() -> None:
    with pytest.raises(ValidationFailed):
        Coordinator([])


def test_an_agent_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed, match="no agent 4"):
        Coordinator([Agent(workspace_root=tmp_path)]).run_child_task("x", child=4)
