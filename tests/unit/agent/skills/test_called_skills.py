"""Skills with a context of their own that a task names: another run works on each, before the model is asked."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, ChildProfile
from skills_runtime.agent.options import AgentOptions
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.config import resolve
from skills_runtime.engine import RunControl
from skills_runtime.engine.replay import replay
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent, Decision
from skills_runtime.runs import RunPaths, read_view, runs_root, verify_run
from skills_runtime.safety import InboxApprovals
from skills_runtime.testing import InMemoryInbox, says
from skills_runtime.tools import builtin_tools
from tests.support.agents import Brood, agent_in, calls, payloads_of, writes
from tests.support.events import check_request
from tests.unit.skills.samples import make_skill, skill_text

SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "discovery": {"enabled": False},
}
RUN_ID = "run_1"


class Models:
    """A model that answers each run from a script of its own, by the last task the run was told."""

    def __init__(self, **scripts: list[FakeChatCall]) -> None:
        self.scripts = scripts
        self.requests: dict[str, list[ChatRequest]] = {name: [] for name in scripts}

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the answer this point of the run calls for; the run that somebody began is `person`."""
        check_request(request)
        results = [str(message["content"]) for message in request.messages if message["role"] == "user"]
        name = next(
            (script for script in self.scripts if any(f"TEXT OF {script.upper()}" in text for text in results)),
            "person",
        )
        self.requests[name].append(request)
        for event in self.scripts[name][request.answered].events:
            yield event


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, extra in (("research", ""), ("deploy", "disable-model-invocation: true\n")):
        text = skill_text(name, extra=f"context: fork\n{extra}", body=f"TEXT OF {name.upper()} about $ARGUMENTS.\n")
        make_skill(tmp_path / "skills", name, text=text)
    make_skill(tmp_path / "skills", "writer", text=skill_text(body="TEXT OF WRITER\n"))
    return tmp_path


def run(directory: Path, models: Models, task: str, **settings: Any) -> Any:
    return agent_in(directory, models, settings={"skills": SKILLS, **settings}).run(task, run_id=RUN_ID)


def both(*answers: FakeChatCall) -> Models:
    return Models(research=list(answers) or [says("found it")], deploy=[says("it is out")], person=[says("done")])


def told_by_users(request: ChatRequest) -> list[str]:
    return [str(message["content"]) for message in request.messages if message["role"] == "user"]


def test_a_run_of_its_own_works_on_it_and_its_answer_stands_behind_the_task(directory: Path) -> None:
    models = both()
    result = run(directory, models, "/research the sea")
    assert (result.status, result.final_output) == ("completed", "done")
    (request,) = models.requests["person"]
    task, called, answered = request.messages[1:]
    assert task == {"role": "user", "content": "/research the sea"}
    assert called["tool_calls"][0]["function"]["name"] == "activate_skill"
    assert "found it" in answered["content"]
    assert "TEXT OF RESEARCH" not in str(request.messages)
    assert "TEXT OF RESEARCH about the sea." in str(models.requests["research"][0].messages)
    (child,) = payloads_of(result.wal_locator, "child_run_started")
    assert child.message == "/research the sea"
    assert verify_run(Path(result.wal_locator).parent, log_ports().keys).findings == []


def test_the_child_works_on_the_skill_itself(directory: Path) -> None:
    models = both()
    run(directory, models, "/research the sea")
    assert len(models.requests["research"]) == 1
    assert len(list(runs_root(directory).iterdir())) == 2


@pytest.mark.parametrize("form", ["$research", "$[web:mvp].research", "[$research](skills/research)"])
def test_one_that_is_mentioned_somewhere_is_told_the_whole_task(directory: Path, form: str) -> None:
    models = both()
    run(directory, models, f"Look into tides with {form}, please.")
    (request,) = models.requests["research"]
    assert "about Look into tides with research, please." in str(request.messages)


def test_one_that_is_all_of_the_task_is_told_nothing_more(directory: Path) -> None:
    models = both()
    result = run(directory, models, "$research")
    (child,) = payloads_of(result.wal_locator, "child_run_started")
    assert child.message == "/research"


def test_one_that_only_people_may_call_is_called_for_them(directory: Path) -> None:
    models = both()
    assert run(directory, models, "/deploy now").status == "completed"
    assert "it is out" in str(models.requests["person"][0].messages[-1])


def test_a_model_still_may_not_call_what_only_people_may(directory: Path) -> None:
    models = both()
    models.scripts["person"] = [calls(("activate_skill", {"name": "$[web:mvp].deploy"})), says("done")]
    run(directory, models, "/deploy now")
    assert "no skill" in str(models.requests["person"][1].messages[-1])
    assert len(models.requests["deploy"]) == 1


def test_several_are_worked_on_by_a_run_each_and_others_in_the_run_itself(directory: Path) -> None:
    models = both()
    result = run(directory, models, "Use $research, $writer and $deploy.")
    (request,) = models.requests["person"]
    assert ["found it" in str(message["content"]) for message in request.messages if message["role"] == "tool"] == [
        True,
        False,
    ]
    assert "TEXT OF WRITER" in told_by_users(request)[0]
    children = [payload.message for payload in payloads_of(result.wal_locator, "child_run_started")]
    assert sorted(children) == [
        "/deploy Use research, $writer and deploy.",
        "/research Use research, $writer and deploy.",
    ]


def test_what_the_child_could_not_do_is_reported_and_the_run_continues(directory: Path) -> None:
    models = both(calls(("list_dir", {"dir_path": "."})), says("never"))
    result = run(directory, models, "/research x", run={"max_tool_calls": 1})
    (finished,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert (finished.result["ok"], finished.result["error_kind"]) == (False, "budget_exceeded")
    assert result.status == "completed"


def test_a_skill_that_asks_for_itself_again_is_active_already(directory: Path) -> None:
    again = calls(("activate_skill", {"name": "research", "arguments": "x"}))
    models = both(again, says("found it"))
    run(directory, models, "/research x")
    assert "already active" in str(models.requests["research"][1].messages[-1])


def test_skills_that_call_each_other_come_to_an_end(directory: Path) -> None:
    deeper = calls(("activate_skill", {"name": "research", "arguments": "deeper"}))
    other = calls(("activate_skill", {"name": "other", "arguments": "deeper"}))
    text = skill_text("other", extra="context: fork\n", body="TEXT OF OTHER $ARGUMENTS\n")
    make_skill(directory / "skills", "other", text=text)
    models = Models(other=[deeper, says("o")], research=[other, says("r")], person=[says("done")])
    assert run(directory, models, "/research x").status == "completed"
    assert len(list(runs_root(directory).iterdir())) == 4  # three below the first
    refused = [str(request.messages[-1]) for request in (*models.requests["other"], *models.requests["research"])]
    assert any("at most 3 levels deep" in content for content in refused)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"prompt": {"tools": {"exposure": "none"}}}, "`activate_skill` is not offered"),
        ({"prompt": {"profile": "generation_direct"}}, "`activate_skill` is not offered"),
    ],
)
def test_where_it_cannot_have_a_run_it_is_worked_on_here_and_reported(
    directory: Path, settings: dict[str, Any], reason: str
) -> None:
    models = Models(research=[says("done")], person=[])
    result = run(directory, models, "/research the sea", **settings)
    assert result.final_output == "done"
    (skipped,) = payloads_of(result.wal_locator, "skill_injection_skipped")
    assert reason in skipped.reason
    assert not payloads_of(result.wal_locator, "child_run_started")


def test_what_is_too_long_for_a_call_is_worked_on_here(directory: Path) -> None:
    models = Models(research=[says("done")], person=[])
    result = run(directory, models, f"/research {'x' * 10_001}")
    (skipped,) = payloads_of(result.wal_locator, "skill_injection_skipped")
    assert "10,000 characters" in skipped.reason


@pytest.mark.parametrize("given", [{"collab_manager": True}, {"child_profile_map": {"scribe": ChildProfile()}}])
def test_an_agent_whose_sub_agents_are_others_works_on_it_here(directory: Path, given: dict[str, Any]) -> None:
    given = {"collab_manager": Brood(directory)} if "collab_manager" in given else given
    models = Models(research=[says("done")], person=[])
    settings = {"safety": {"mode": "allow"}, "skills": SKILLS}
    agent = Agent(workspace_root=directory, backend=models, session_settings=settings, **given)
    result = agent.run("/research x")
    assert (result.final_output, payloads_of(result.wal_locator, "child_run_started")) == ("done", [])
    assert payloads_of(result.wal_locator, "skill_injection_skipped")


def test_a_mention_in_the_system_text_starts_no_run(directory: Path) -> None:
    models = Models(research=[says("done")], person=[])
    result = run(directory, models, "Go.", prompt={"system_text": "Always use $research."})
    assert not payloads_of(result.wal_locator, "child_run_started")


def test_a_rule_that_denies_the_skill_denies_it_to_people_too(directory: Path) -> None:
    models = both()
    result = run(directory, models, "/research x", safety={"mode": "allow", "tool_denylist": ["activate_skill"]})
    assert not payloads_of(result.wal_locator, "child_run_started")
    assert "denied" in str(models.requests["person"][0].messages[-1])


async def test_a_replay_of_it_does_not_diverge(directory: Path) -> None:
    models = both()
    models.scripts["person"] = [calls(writes("a.txt", "x")), says("done")]
    result = await asyncio.to_thread(run, directory, models, "/research the sea")
    resolved = resolve(directory, session_settings={"safety": {"mode": "allow"}, "skills": SKILLS})
    assert await replay(Path(result.wal_locator).parent, resolved) is None


def test_an_approval_that_the_child_needs_is_asked_by_the_run(directory: Path) -> None:
    inbox, models = InMemoryInbox(), both(calls(writes("a.txt", "x")), says("found it"))
    resolved = resolve(directory, session_settings={"safety": {"mode": "ask"}, "skills": SKILLS})
    options = AgentOptions(tools=builtin_tools(), backend=models, inbox=inbox, approver=InboxApprovals())
    assert Agent.from_resolved(resolved, options).run("/research x", run_id=RUN_ID).status == "waiting_human"
    paths = RunPaths(runs_root(directory) / RUN_ID)
    (payload,) = payloads_of(str(paths.events), "approval_requested")
    assert (payload.tool, payload.call_id) == ("file_write", f"{_child_of(paths)}:call_file_write_0")
    RunControl(inbox, log_ports()).decide(paths, Decision(decision="approved"))
    result = Agent.from_resolved(resolved, options).run("", run_id=RUN_ID)
    assert (result.status, result.final_output) == ("completed", "done")
    assert (directory / "a.txt").read_text() == "x"


async def test_cancelling_the_run_cancels_the_child(directory: Path) -> None:
    held = asyncio.Event()

    class Hanging(Models):
        async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
            held.set()
            await asyncio.Event().wait()
            yield ChatStreamEvent(type="completed")

    agent = agent_in(directory, Hanging(person=[]), settings={"skills": SKILLS})
    work = asyncio.create_task(agent.run_async("/research x", run_id=RUN_ID))
    await held.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    paths = RunPaths(runs_root(directory) / RUN_ID)
    child = RunPaths(runs_root(directory) / _child_of(paths))
    assert [read_view(run_paths, log_ports()).state.status for run_paths in (paths, child)] == [
        "cancelled",
        "cancelled",
    ]


def _child_of(paths: RunPaths) -> str:
    (begun,) = payloads_of(str(paths.events), "child_run_started")
    return begun.child_run_id


def test_a_fork_with_the_same_task_does_not_call_it_again_and_one_with_another_does(directory: Path) -> None:
    models = both()
    result = run(directory, models, "/research the sea")
    agent, root = agent_in(directory, models, settings={"skills": SKILLS}), Path(result.wal_locator).parent
    last = read_view(RunPaths(root), log_ports()).state.last_seq - 2
    models.scripts["person"] = [says("done"), says("done again")]
    same = asyncio.run(agent.execute(agent.fork(root, last)))
    assert (same.status, len(models.requests["research"])) == ("completed", 1)
    other = asyncio.run(agent.execute(agent.fork(root, last, prompt="/research the land")))
    assert (other.final_output, len(models.requests["research"])) == ("done again", 2)
    (request,) = models.requests["person"][-1:]
    assert [message["role"] for message in request.messages[-3:]] == ["user", "assistant", "tool"]
    assert request.messages[-3]["content"] == "/research the land"
