"""Each step of a run happens once: rule files are read once, skills discovered once, each call assessed once."""

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunRequest
from skills_runtime.ports import Effect, Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.testing import FakeModel, says
from tests.support.agents import Answering, agent_in, calls

_OPENED: Counter[str] = Counter()
"""How often this process has opened a path; an audit hook sees what really happens."""


def _count(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str) and arguments[1] is None:  # the call of the system
        _OPENED[arguments[0]] += 1


@pytest.fixture(scope="module", autouse=True)
def counted() -> None:
    """Count what is opened from here on."""
    sys.addaudithook(_count)


class Described:
    """A tool that counts how often it is asked what a call would do."""

    def __init__(self, effect: Effect = "effectful") -> None:
        self.spec = ToolSpec(name="work", description="Work.", parameters={"type": "object"}, effect=effect)
        self.described: list[Any] = []

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Say what it would do."""
        self.described.append(arguments.get("n"))
        return Intent(line="true")

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Do nothing."""
        return ToolResult(ok=True)


@pytest.mark.parametrize("effect", ["read", "effectful"])
@pytest.mark.parametrize("approver", [None, Answering()], ids=["nobody to ask", "approver"])
def test_a_call_that_is_allowed_is_assessed_once(tmp_path: Path, effect: Effect, approver: Answering | None) -> None:
    tool = Described(effect)
    agent = agent_in(tmp_path, [calls(("work", {"n": 1})), says("done")], approver=approver)
    agent.register_tool(tool)
    assert agent.run("Go.").status == "completed"
    assert tool.described == [1]


def test_calls_that_run_in_parallel_are_assessed_once_each(tmp_path: Path) -> None:
    tool = Described("read")
    agent = agent_in(tmp_path, [calls(*(("work", {"n": n}) for n in range(5))), says("done")])
    agent.register_tool(tool)
    assert agent.run("Go.").status == "completed"
    assert sorted(tool.described) == [0, 1, 2, 3, 4]


def test_sequential_calls_are_assessed_once_with_an_approver(tmp_path: Path) -> None:
    tool = Described()
    answers = [calls(*(("work", {"n": n}) for n in range(3))), says("done")]
    agent = agent_in(tmp_path, answers, approver=Answering())
    agent.register_tool(tool)
    assert agent.run("Go.").status == "completed"
    assert tool.described == [0, 1, 2]


def test_a_call_that_was_looked_at_before_another_had_an_effect_is_assessed_anew(tmp_path: Path) -> None:
    """Nobody can be asked, so all are looked at first; what the first does may change what the others would do."""
    tool = Described()
    agent = agent_in(tmp_path, [calls(*(("work", {"n": n}) for n in range(3))), says("done")])
    agent.register_tool(tool)
    assert agent.run("Go.").status == "completed"
    assert tool.described == [0, 1, 2, 1, 2]


def test_an_approved_call_is_looked_at_again_only_after_the_approval(tmp_path: Path) -> None:
    tool = Described()
    approver = Answering("approved")
    agent = agent_in(tmp_path, [calls(("work", {"n": 1})), says("done")], mode="ask", approver=approver)
    agent.register_tool(tool)
    assert agent.run("Go.").status == "completed"
    assert (len(approver.asked), tool.described) == (1, [1, 1])


def test_rule_files_are_read_once_for_all_runs_of_an_agent(tmp_path: Path) -> None:
    rules = tmp_path / "config" / "rules.yaml"
    rules.parent.mkdir()
    rules.write_text("rules:\n- {effect: ask, name: mine, tool: [work]}\n")
    agent = agent_in(tmp_path, FakeModel([says("one"), says("two")]))
    before = _OPENED[str(rules)]
    assert agent.run("Go.").status == agent.run("Go.").status == "completed"
    assert _OPENED[str(rules)] - before == 1


SKILL = "skill-that-is-counted"


def _with_skill(parent: Path) -> dict[str, Any]:
    """Settings with one skill, whose directory is opened by its name when skills are searched."""
    directory = parent / "skills" / SKILL
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text(f"---\nname: {SKILL}\ndescription: Writes.\n---\nWrite.\n")
    source = {"id": "f", "type": "filesystem", "options": {"root": "skills"}}
    spaces = [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}]
    return {"skills": {"sources": [source], "spaces": spaces, "discovery": {"enabled": False}}}


def test_skills_are_searched_once_for_a_run(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done")], settings=_with_skill(tmp_path))
    before = _OPENED[SKILL]
    assert agent.run("Go.").status == "completed"
    assert _OPENED[SKILL] - before == 1


async def test_skills_are_not_searched_again_when_a_created_run_is_worked_on(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done")], settings=_with_skill(tmp_path))
    before = _OPENED[SKILL]
    run = agent.create(RunRequest(prompt="Go."))
    run.close()
    assert (await agent.execute(agent.resume(run.paths.root))).status == "completed"
    assert _OPENED[SKILL] - before == 1


def test_what_the_user_should_know_of_rules_is_reported_without_reading_them_again(tmp_path: Path) -> None:
    rules = tmp_path / "config" / "rules.yaml"
    rules.parent.mkdir()
    rules.write_text("rules:\n- {effect: allow, name: mine, tool: [work]}\n")
    agent: Agent = agent_in(tmp_path, [says("done")])
    run = agent.create(RunRequest(prompt="Go."))
    before = _OPENED[str(rules)]
    (notice,) = agent.notices(run.state.run_id)
    run.close()
    assert "rule `mine`" in notice
    assert "was ignored" in notice
    assert _OPENED[str(rules)] == before
