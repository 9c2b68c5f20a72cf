"""Sub-agents: runs of their own that a run begins, waits for, and takes down with it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.options import ChildProfile, RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent, Decision
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths, read_view, runs_root
from skills_runtime.safety import InboxApprovals
from skills_runtime.testing import InMemoryInbox, says
from tests.support.agents import agent_in, calls, events_of, payloads_of, writes


class Family:
    """A model that answers a parent and its children from scripts of their own, chosen by the task."""

    def __init__(self, scripts: dict[str, list[FakeChatCall]]) -> None:
        self._scripts = scripts
        self.requests: dict[str, list[ChatRequest]] = {}
        self.holding = asyncio.Event()
        self.held = asyncio.Event()

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the next answer for this task; a script that is empty never answers."""
        task = next(str(message["content"]) for message in request.messages if message["role"] == "user")
        self.requests.setdefault(task, []).append(request)
        script = self._scripts[task]
        if not script:
            self.held.set()
            await self.holding.wait()
        for event in script[request.answered].events:
            yield event


def child_of(result_locator: str) -> str:
    (begun,) = payloads_of(result_locator, "child_run_started")
    return begun.child_run_id


def state_of(directory: Path, run_id: str) -> RunState:
    return read_view(RunPaths(runs_root(directory) / run_id), log_ports()).state


SPAWN = ("spawn_agent", {"message": "child task"})


class Waiting:
    """A parent's script that waits for the child it began, whose id only the run knows."""

    def __init__(self, child: list[FakeChatCall], after: list[FakeChatCall] | None = None) -> None:
        self.family = Family({"parent task": [], "child task": child})
        self._after = after or [says("parent done")]

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Spawn, wait for what was spawned, then go on with the script."""
        task = next(str(message["content"]) for message in request.messages if message["role"] == "user")
        if task != "parent task":
            async for event in self.family.stream_chat(request):
                yield event
            return
        results = [str(message["content"]) for message in request.messages if message["role"] == "tool"]
        if request.answered == 0:
            answer = calls(SPAWN)
        elif request.answered == 1:
            answer = calls(("wait", {"ids": [results[0].split('"id":"')[1].split('"')[0]]}))
        else:
            answer = self._after[request.answered - 2]
        for event in answer.events:
            yield event


def test_a_child_is_a_run_of_its_own_and_its_result_comes_back(tmp_path: Path) -> None:
    result = agent_in(tmp_path, Waiting([says("child done")])).run("parent task")
    assert (result.status, result.final_output) == ("completed", "parent done")
    child = state_of(tmp_path, child_of(result.wal_locator))
    assert (child.status, child.final_output, child.parent_run_id) == ("completed", "child done", result.run_id)
    (waited,) = [payload for payload in payloads_of(result.wal_locator, "tool_call_finished") if payload.tool == "wait"]
    assert waited.result["data"]["results"][0]["final_output"] == "child done"


def test_what_a_child_uses_counts_for_its_parent(tmp_path: Path) -> None:
    child = [says("child done", usage={"input_tokens": 70, "output_tokens": 30})]
    agent = agent_in(tmp_path, Waiting(child), settings={"run": {"max_tokens": 100}})
    result = agent.run("parent task")
    assert (result.status, result.error_kind) == ("failed", "budget_exceeded")
    state = state_of(tmp_path, result.run_id)
    assert (state.child_tokens, state.input_tokens) == (100, 0)


def test_a_child_has_only_what_its_parent_has_left(tmp_path: Path) -> None:
    child = [calls(("list_dir", {"dir_path": "."})), calls(("list_dir", {"dir_path": "."})), says("never")]
    agent = agent_in(tmp_path, Waiting(child), settings={"run": {"max_tool_calls": 2}})
    result = agent.run("parent task")
    ended = state_of(tmp_path, child_of(result.wal_locator))
    assert (ended.status, ended.error_kind) == ("failed", "budget_exceeded")


def test_a_child_gets_the_tools_of_its_profile_only(tmp_path: Path) -> None:
    model = Waiting([says("child done")])
    agent = Agent(
        workspace_root=tmp_path,
        backend=model,
        session_settings={"safety": {"mode": "allow"}},
        child_profile_map={"": ChildProfile(tools=frozenset({"file_read"}))},
    )
    agent.run("parent task")
    (request,) = model.family.requests["child task"]
    assert [tool["name"] for tool in request.tools] == ["file_read"]


WHOLE = {
    "run": {"review": "required", "output_schema": {"type": "object", "required": ["a"]}},
    "deliverables": {"required": ["report.md"]},
}


def test_what_the_result_of_a_task_has_to_be_is_not_asked_of_its_parts(tmp_path: Path) -> None:
    after = [calls(writes("deliverables/report.md", "# R")), says('{"a": 1}')]
    agent = agent_in(tmp_path, Waiting([says("child done")], after), settings=WHOLE)
    result = agent.run("parent task", run_id="parent")
    child = state_of(tmp_path, child_of(result.wal_locator))
    assert (child.status, child.final_output) == ("completed", "child done")
    assert state_of(tmp_path, "parent").status == "review_required"


def test_an_unknown_kind_of_child_is_refused(tmp_path: Path) -> None:
    script = [calls(("spawn_agent", {"message": "x", "agent_type": "boss"})), says("done")]
    agent = Agent(
        workspace_root=tmp_path,
        backend=Family({"parent task": script}),
        session_settings={"safety": {"mode": "allow"}},
        child_profile_map={"clerk": ChildProfile()},
    )
    (spawned,) = payloads_of(agent.run("parent task").wal_locator, "tool_call_finished")
    assert (spawned.result["ok"], spawned.result["error_kind"]) == (False, "permission")


async def test_cancelling_the_parent_cancels_the_child(tmp_path: Path) -> None:
    model = Waiting([])
    agent = agent_in(tmp_path, model)
    work = asyncio.create_task(agent.run_async("parent task", run_id="parent"))
    await model.family.held.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    child = child_of(str(runs_root(tmp_path) / "parent" / "events.jsonl"))
    assert state_of(tmp_path, "parent").status == "cancelled"
    assert state_of(tmp_path, child).status == "cancelled"


async def test_stopping_the_parent_leaves_both_to_be_resumed(tmp_path: Path) -> None:
    model = Waiting([])
    agent = agent_in(tmp_path, model)
    run = agent.create(RunRequest(prompt="parent task", run_id="parent"))
    control = Control()
    work = asyncio.create_task(agent.execute(run, control=control))
    await model.family.held.wait()
    control.stopping = True
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    resumed = agent_in(tmp_path, Waiting([says("child done")]))
    result = await resumed.run_async("", run_id="parent")
    assert result.status == "completed"
    assert len({payload.child_run_id for payload in payloads_of(result.wal_locator, "child_run_started")}) == 1
    assert state_of(tmp_path, child_of(result.wal_locator)).status == "completed"


def test_a_question_of_the_child_is_answered_through_the_parent(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    child = [calls(("ask_human", {"question": "which colour?"})), says("child done")]
    agent = Agent(
        workspace_root=tmp_path,
        backend=Waiting(child),
        session_settings={"safety": {"mode": "allow"}},
        inbox=inbox,
    )
    waiting = agent.run("parent task", run_id="parent")
    assert waiting.status == "waiting_human"
    (question,) = read_view(RunPaths(runs_root(tmp_path) / "parent"), log_ports()).pending.questions.values()
    assert question.question == "which colour?"
    inbox.send("parent", "answer", {"call_id": question.call_id, "answer": "blue"})
    result = agent.run("", run_id="parent")
    assert result.status == "completed"
    locator = str(runs_root(tmp_path) / child_of(result.wal_locator) / "events.jsonl")
    assert [payload.answer for payload in payloads_of(locator, "human_response")] == ["blue"]


def test_an_approval_of_the_child_is_decided_through_the_parent(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    agent = Agent(
        workspace_root=tmp_path,
        backend=Waiting([calls(writes("a.txt", "one")), says("child done")]),
        session_settings={"safety": {"mode": "ask", "tool_allowlist": ["spawn_agent", "wait"]}},
        approval_provider=InboxApprovals(),
        inbox=inbox,
    )
    parent = RunPaths(runs_root(tmp_path) / "parent")
    assert agent.run("parent task", run_id="parent").status == "waiting_human"
    (approval,) = read_view(parent, log_ports()).pending.approvals.open.values()
    assert (approval.tool, approval.details_blob is not None) == ("file_write", True)
    RunControl(inbox, log_ports()).decide(parent, Decision(decision="approved", decided_by="ann"))
    result = agent.run("", run_id="parent")
    assert result.status == "completed"
    assert (tmp_path / "a.txt").read_text() == "one"
    locator = str(runs_root(tmp_path) / child_of(result.wal_locator) / "events.jsonl")
    (decided,) = payloads_of(locator, "approval_decided")
    assert (decided.decision, decided.decided_by, decided.approval_id) == ("approved", "ann", approval.approval_id)


def test_a_child_can_be_told_something_and_closed(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    agent = Agent(
        workspace_root=tmp_path,
        backend=Family({"parent task": [calls(SPAWN), says("parent done")], "child task": [says("child done")]}),
        session_settings={"safety": {"mode": "allow"}},
        inbox=inbox,
    )
    result = agent.run("parent task")
    assert result.status == "completed"
    # Nobody waited for the child, so it ended with its parent.
    assert state_of(tmp_path, child_of(result.wal_locator)).status in ("completed", "cancelled")
    assert events_of(result.wal_locator)[-1].type == "run_completed"
