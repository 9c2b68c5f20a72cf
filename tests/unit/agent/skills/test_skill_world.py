"""Skills with default settings: built-in ones by name, programs at once, and a reason where one cannot be used."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.config import state_home
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.ports import ToolContext, ToolResult
from skills_runtime.runs import runs_root
from skills_runtime.skills import TrustStore
from skills_runtime.skills.create import create_skill
from skills_runtime.testing import FakeModel, says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Doing, calls, payloads_of

RESOURCES = "$[web:mvp].get-available-resources"
EXECUTE = calls(("skill_exec", {"skill_mention": RESOURCES, "action_id": "run", "input": {}}))


def agent_for(directory: Path, model: FakeModel, **settings: Any) -> Agent:
    return Agent(workspace_root=directory, backend=model, session_settings={"safety": {"mode": "allow"}, **settings})


def offered_tools(model: FakeModel, request: int = 0) -> set[str]:
    return {tool["name"] for tool in model.requests[request].tools}


def only_result(locator: str) -> dict[str, Any]:
    (payload,) = payloads_of(locator, "tool_call_finished")
    return payload.result


def test_a_run_in_a_fresh_directory_executes_a_built_in_skill_that_its_task_names(tmp_path: Path) -> None:
    model = FakeModel([EXECUTE, says("done")])
    result = agent_for(tmp_path, model).run(f"Use {RESOURCES}.")
    assert result.status == "completed", result.final_output
    assert only_result(result.wal_locator)["data"]["output"]["cpu"]["usable"] >= 1


@pytest.mark.parametrize("task", ["Use $[web:mvp].article-writer.", "/novel-writer on bees", "With $article-writer"])
def test_a_built_in_skill_without_a_program_is_active_once_it_is_named(tmp_path: Path, task: str) -> None:
    result = agent_for(tmp_path, FakeModel([says("done")])).run(task)
    (injected,) = payloads_of(result.wal_locator, "skill_injected")
    assert injected.namespace == "web:mvp"


def test_a_run_that_names_no_skill_pays_for_none(tmp_path: Path) -> None:
    model = FakeModel([says("done")])
    agent_for(tmp_path, model).run("Go.")
    assert not offered_tools(model) & {"skill_exec", "activate_skill", "read_skill_file"}
    assert "article-writer" not in str(model.requests[0].messages)


def test_a_model_that_calls_a_missing_skill_tool_learns_why(tmp_path: Path) -> None:
    result = agent_for(tmp_path, FakeModel([EXECUTE, says("done")])).run("Go.")
    assert "no skill is active in this run" in str(only_result(result.wal_locator))


def test_a_message_that_names_the_first_skill_of_a_run_brings_the_tools_for_it(tmp_path: Path) -> None:
    inbox = InMemoryInbox()

    async def tell(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        inbox.send("run_1", "steer", {"text": f"Now use {RESOURCES}."})
        return ToolResult(ok=True)

    model = FakeModel([calls(("talk", {})), EXECUTE, says("done")])
    settings = {"safety": {"mode": "allow"}}
    agent = Agent(workspace_root=tmp_path, backend=model, session_settings=settings, inbox=inbox)
    agent.register_tool(Doing(tell, name="talk"))
    result = agent.run("Go.", run_id="run_1")
    assert ("skill_exec" in offered_tools(model), "skill_exec" in offered_tools(model, 1)) == (False, True)
    _, executed = payloads_of(result.wal_locator, "tool_call_finished")
    assert executed.result["ok"] is True


def own_skill(directory: Path, name: str = "counter") -> Path:
    skill = create_skill(name, directory / ".agents/skills", "Counts words.", runtime="python").parent
    TrustStore(state_home()).trust_skill(skill)
    return skill


def test_a_skill_that_was_created_here_is_executed_by_a_run(tmp_path: Path) -> None:
    own_skill(tmp_path)
    arguments = {"skill_mention": "$[project].counter", "action_id": "run", "input": {"text": "one two"}}
    model = FakeModel([calls(("skill_exec", arguments)), says("done")])
    result = agent_for(tmp_path, model).run("Use $counter.")
    assert only_result(result.wal_locator)["data"]["output"] == {"lines": 1, "words": 2, "characters": 7}


def refusal(directory: Path, task: str, **settings: Any) -> SkillsRuntimeError:
    """The error of a run that is refused before a model is called and before anything is written."""
    model = FakeModel([says("done")])
    with pytest.raises(SkillsRuntimeError) as caught:
        agent_for(directory, model, **settings).run(task)
    assert model.requests == []
    assert not runs_root(directory).exists() or not list(runs_root(directory).iterdir())
    return caught.value


@pytest.mark.parametrize("mention", ["$[project].counter", "$counter", "/counter now", "[$counter](x/SKILL.md)"])
def test_an_untrusted_skill_that_the_task_names_is_refused_with_the_command(tmp_path: Path, mention: str) -> None:
    create_skill("counter", tmp_path / ".agents/skills", runtime="python")
    error = refusal(tmp_path, mention)
    assert (error.kind, error.hint) == ("permission", "review it, then run `skills trust counter`")


@pytest.mark.parametrize("mention", ["$[project].counter", "$counter"])
def test_a_program_is_refused_where_programs_are_turned_off(tmp_path: Path, mention: str) -> None:
    own_skill(tmp_path)
    error = refusal(tmp_path, f"Use {mention}.", skills={"actions": {"enabled": False}})
    assert error.kind == "permission"
    assert "skills.actions.enabled" in error.hint


def test_a_program_without_its_entry_file_is_refused(tmp_path: Path) -> None:
    (own_skill(tmp_path) / "run.py").unlink()
    error = refusal(tmp_path, "Use $counter.")
    assert (error.kind, "no entry file `run.py`" in error.message) == ("validation", True)


def test_a_variable_that_is_not_set_is_named_with_the_command(tmp_path: Path) -> None:
    skill = own_skill(tmp_path)
    (skill / "agents").mkdir()
    dependencies = {"dependencies": {"tools": [{"type": "env_var", "value": "COUNTER_KEY"}]}}
    (skill / "agents/openai.yaml").write_text(json.dumps(dependencies))
    assert "export COUNTER_KEY=" in refusal(tmp_path, "Use $counter.").hint


def test_a_model_that_executes_a_program_learns_that_programs_are_turned_off(tmp_path: Path) -> None:
    own_skill(tmp_path)
    arguments = {"skill_mention": "$[project].counter", "action_id": "run", "input": {"text": "x"}}
    model = FakeModel([calls(("skill_exec", arguments)), says("done")])
    result = agent_for(tmp_path, model, skills={"actions": {"enabled": False}}).run("Count.")
    assert "skill_exec" not in offered_tools(model)
    assert "skills.actions.enabled" in str(only_result(result.wal_locator))
