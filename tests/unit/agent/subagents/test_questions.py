"""Sub-agents that ask somebody: the run that began them asks for them, and takes them down when it ends."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.events import Event
from skills_runtime.events.payloads import ChildRunFinished
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent, Decision
from skills_runtime.projections import RunState
from skills_runtime.runs import RunPaths, read_view, runs_root
from skills_runtime.safety import InboxApprovals
from skills_runtime.testing import InMemoryInbox, says
from tests.support.agents import calls, payloads_of, writes

FIRST, SECOND = "$first", "$second"
"""Stand for the ids of sub-agents, which only the run knows."""


class Kin:
    """A model that answers every run from the script of its task."""

    def __init__(self, scripts: Mapping[str, Sequence[FakeChatCall]]) -> None:
        self._scripts = scripts

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the next answer for this task."""
        task = next(str(message["content"]) for message in request.messages if message["role"] == "user")
        text = " ".join(str(message["content"]) for message in request.messages if message["role"] == "tool")
        begun = dict(zip((FIRST, SECOND), re.findall(r'"id":"([^"]+)","status":"running"', text), strict=False))
        for event in self._scripts[task][request.answered].events:
            raw = msgspec.json.encode(event).decode()
            for name, result in begun.items():
                raw = raw.replace(name, result)
            yield msgspec.json.decode(raw, type=ChatStreamEvent)


def spawns(task: str) -> FakeChatCall:
    return calls(("spawn_agent", {"message": task}))


WAITS = calls(("wait", {"ids": [FIRST]}))
ASKS = [calls(("ask_human", {"question": "which colour?"})), says("child done")]


def agent_of(
    directory: Path, model: Kin, inbox: InMemoryInbox, event_hooks: Sequence[Callable[[Event], None]] = ()
) -> Agent:
    settings = {"safety": {"mode": "allow"}}
    return Agent(
        workspace_root=directory, backend=model, session_settings=settings, inbox=inbox, event_hooks=event_hooks
    )


def states_in(directory: Path) -> dict[str, RunState]:
    """Every run by its task."""
    roots = sorted(runs_root(directory).iterdir())
    return {(root / "prompt.md").read_text(): read_view(RunPaths(root), log_ports()).state for root in roots}


def test_cancelling_a_run_without_a_process_ends_all_that_stand_below_it(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    scripts = {"top": [spawns("middle"), WAITS], "middle": [spawns("leaf"), WAITS], "leaf": ASKS}
    assert agent_of(tmp_path, Kin(scripts), inbox).run("top", run_id="top").status == "waiting_human"
    RunControl(inbox, log_ports()).cancel(RunPaths(runs_root(tmp_path) / "top"), "not needed any more")
    result = {task: (state.status.value, state.failure_reason) for task, state in states_in(tmp_path).items()}
    below = ("cancelled", "its parent run has ended")
    assert result == {"top": ("cancelled", "not needed any more"), "middle": below, "leaf": below}


def thoughtful(directory: Path, scripts: Mapping[str, Sequence[FakeChatCall]]) -> Agent:
    """An agent with a tool that returns when a sub-agent has stopped to ask."""
    question_open = asyncio.Event()

    def hear(event: Event) -> None:
        if isinstance(event.payload, ChildRunFinished):
            question_open.set()

    agent = agent_of(directory, Kin(scripts), InMemoryInbox(), event_hooks=[hear])

    @agent.tool
    async def think() -> str:  # pyright: ignore[reportUnusedFunction]
        """Think until a sub-agent has asked."""
        await question_open.wait()
        return "thought"

    return agent


THINKS = calls(("think", {}))


def test_a_run_that_completes_leaves_no_sub_agent_behind_that_asks(tmp_path: Path) -> None:
    agent = thoughtful(tmp_path, {"top": [spawns("leaf"), THINKS, says("done")], "leaf": ASKS})
    assert agent.run("top").status == "completed"
    assert states_in(tmp_path)["leaf"].status == "cancelled"


def test_closing_a_sub_agent_that_waits_ends_those_below_it(tmp_path: Path) -> None:
    closes = calls(("close_agent", {"id": FIRST}))
    scripts = {"top": [spawns("middle"), THINKS, closes, says("done")], "middle": [spawns("leaf"), WAITS], "leaf": ASKS}
    assert thoughtful(tmp_path, scripts).run("top").status == "completed"
    result = states_in(tmp_path)
    assert (result["middle"].status, result["leaf"].status) == ("cancelled", "cancelled")


PARTS = [
    {"id": "size", "question": "Which size?", "header": "Size", "options": [{"label": "big", "description": "10 m"}]},
    {"id": "shape", "question": "Which shape?"},
]


def test_questions_of_several_parts_are_asked_whole_from_two_levels_below(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    leaf = [calls(("request_user_input", {"questions": PARTS})), says("leaf done")]
    middle = [spawns("leaf"), WAITS, says("middle done")]
    agent = agent_of(
        tmp_path, Kin({"top": [spawns("middle"), WAITS, says("done")], "middle": middle, "leaf": leaf}), inbox
    )
    waiting = agent.run("top", run_id="top")
    (payload,) = payloads_of(waiting.wal_locator, "human_request")
    assert [(question["id"], question.get("choices", [])) for question in payload.questions] == [
        ("size", [{"label": "big", "description": "10 m"}]),
        ("shape", []),
    ]
    RunControl(inbox, log_ports()).answer(RunPaths(runs_root(tmp_path) / "top"), {"size": "big", "shape": "round"})
    assert agent.run("", run_id="top").status == "completed"
    (below,) = states_in(tmp_path)["middle"].children.values()
    (request,) = payloads_of(str(RunPaths(Path(below.root)).events), "tool_call_finished")
    answers = [{"id": "size", "answer": "big"}, {"id": "shape", "answer": "round"}]
    assert (request.result["ok"], request.result["data"]["answers"]) == (True, answers)


BOTH = calls(("wait", {"ids": [FIRST, SECOND]}))


def test_sub_agents_that_ask_at_the_same_time_do_not_wait_for_each_other(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    spawn = calls(("spawn_agent", {"message": "leaf"}), ("spawn_agent", {"message": "other"}), ids=["one", "two"])
    other = [calls(("ask_human", {"question": "how many?"})), says("other done")]
    agent = agent_of(tmp_path, Kin({"top": [spawn, BOTH, says("done")], "leaf": ASKS, "other": other}), inbox)
    assert agent.run("top", run_id="top").status == "waiting_human"
    top = RunPaths(runs_root(tmp_path) / "top")
    result = {question.question: name for name, question in read_view(top, log_ports()).pending.questions.items()}
    assert set(result) == {"which colour?", "how many?"}
    RunControl(inbox, log_ports()).answer(top, "three", call_id=result["how many?"])
    assert agent.run("", run_id="top").status == "waiting_human"
    states = states_in(tmp_path)
    assert (states["leaf"].status, states["other"].status) == ("waiting_for_user", "completed")
    RunControl(inbox, log_ports()).answer(top, "blue")
    assert agent.run("", run_id="top").status == "completed"


def test_a_question_that_the_sub_agent_was_answered_itself_is_not_asked_any_more(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    later = calls(("ask_human", {"question": "and now?"}))
    agent = agent_of(tmp_path, Kin({"top": [spawns("leaf"), WAITS, later, says("done")], "leaf": ASKS}), inbox)
    assert agent.run("top", run_id="top").status == "waiting_human"
    (leaf,) = (Path(child.root) for child in states_in(tmp_path)["top"].children.values())
    RunControl(inbox, log_ports()).answer(RunPaths(leaf), "blue")
    result = agent.run("", run_id="top")
    top = read_view(RunPaths(runs_root(tmp_path) / "top"), log_ports())
    assert [question.question for question in top.pending.questions.values()] == ["and now?"]
    assert [payload.answer for payload in payloads_of(result.wal_locator, "human_response")] == ["blue"]


def test_a_request_that_the_sub_agent_was_answered_itself_is_void(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    later = calls(("ask_human", {"question": "and now?"}))
    leaf = [calls(writes("a.txt", "one")), says("leaf done")]
    agent = Agent(
        workspace_root=tmp_path,
        backend=Kin({"top": [spawns("leaf"), WAITS, later, says("done")], "leaf": leaf}),
        session_settings={"safety": {"mode": "ask", "tool_allowlist": ["spawn_agent", "wait", "ask_human"]}},
        approval_provider=InboxApprovals(),
        inbox=inbox,
    )
    assert agent.run("top", run_id="top").status == "waiting_human"
    (below,) = (Path(child.root) for child in states_in(tmp_path)["top"].children.values())
    RunControl(inbox, log_ports()).decide(RunPaths(below), Decision(decision="approved", decided_by="ann"))
    result = agent.run("", run_id="top")
    assert read_view(RunPaths(runs_root(tmp_path) / "top"), log_ports()).pending.approvals.open == {}
    assert [payload.message for payload in payloads_of(result.wal_locator, "approval_refused")] == [
        "the sub-agent no longer needs this decision"
    ]
