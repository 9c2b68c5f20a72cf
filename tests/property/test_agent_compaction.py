"""Compaction: no call ever loses its result, and a run killed at any event of one goes on to its end."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.agent import Agent
from skills_runtime.agent.loop.model_call import Prompt
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import (
    ContextCompacted,
    InboxReceived,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunStarted,
    SkillInjected,
    ToolCallFinished,
    ToolCallRequested,
)
from skills_runtime.ports import ToolContext, ToolResult
from skills_runtime.projections import Conversation, fold
from skills_runtime.runs import RunPaths, read_events, runs_root, verify_run
from skills_runtime.testing import says
from tests.support.agents import SUMMARY, Doing, SmallWindow, calls, spoken_to
from tests.support.events import check_request, numbered, problems_of

RUN_ID = "run_1"
PLAN = {"plan": [{"step": "look", "status": "in_progress"}]}
SCRIPT = [
    calls(("update_plan", PLAN), text="I plan."),
    *(calls(("look", {"n": n}), ("look", {"n": n}), text="hm") for n in range(3)),
    says("done"),
]
USAGE = {"input_tokens": 40, "output_tokens": 5}


async def _look(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True, stdout=str(arguments["n"]) * 600)


def worked_on(directory: Path, model: SmallWindow, *hooks: Callable[[Event], None], window: int) -> RunPaths:
    """Work on the run until it ends."""
    directory.mkdir(exist_ok=True)
    rules = {"window_tokens": window, "compaction_keep_last_messages": 3, "compaction_history_max_chars": 1000}
    agent = Agent(
        workspace_root=directory,
        backend=model,
        session_settings={"safety": {"mode": "allow"}, "run": {"context_recovery": rules}},
        event_hooks=hooks,
    )
    agent.register_tool(Doing(_look, name="look", effect="read"))
    result = agent.run("Write of the sea.", run_id=RUN_ID)
    assert (result.status, result.final_output) == ("completed", "done")
    return RunPaths(runs_root(directory) / RUN_ID)


@pytest.mark.parametrize("summary", [SUMMARY, None], ids=["summed up", "excerpt"])
@pytest.mark.parametrize(
    ("window", "window_chars"), [(1000, 100_000), (100_000, 3500)], ids=["before it is full", "after a refusal"]
)
def test_a_run_killed_at_any_event_of_a_compaction_goes_on_to_its_end(
    tmp_path: Path, summary: str | None, window: int, window_chars: int, subtests: pytest.Subtests
) -> None:
    moments: list[Path] = []

    def keep(event: Event) -> None:
        moments.append(tmp_path / f"{event.seq} {event.type}")
        shutil.copytree(tmp_path / "whole", moments[-1])

    def model() -> SmallWindow:
        return SmallWindow(SCRIPT, window_chars=window_chars, summaries=[summary], usage=USAGE)

    worked_on(tmp_path / "whole", model(), keep, window=window)
    names = [moment.name.partition(" ")[2] for moment in moments]
    first, last = names.index("compaction_started"), len(names) - names[::-1].index("context_compacted")
    assert last - first >= 4
    for moment in moments[max(0, first - 2) : last + 1]:
        with subtests.test(moment.name):
            _check_resumed(moment, model(), window)


def _check_resumed(directory: Path, model: SmallWindow, window: int) -> None:
    paths = worked_on(directory, model, window=window)
    for request in model.requests:
        check_request(request)
        assert spoken_to(request)[0] == "Write of the sea."
    events = list(read_events(paths))
    compacted: list[Any] = [event.payload for event in events if event.type == "context_compacted"]
    assert compacted
    assert [payload.count for payload in compacted] == list(range(1, len(compacted) + 1))
    for one in compacted:
        assert (paths.root / one.artifact_path).read_text() == one.summary
    assert "- [in_progress] look" in spoken_to(model.requests[-1])[1]
    turns = [event.turn_id for event in events if event.type == "llm_request_started"]
    assert len(set(turns)) == len(turns)
    assert verify_run(paths.root, log_ports().keys).findings == []


TURN = st.tuples(st.integers(0, 4), st.booleans())
"""How many calls an answer makes, and whether somebody says something while they run."""
STEPS = st.lists(TURN | st.integers(0, 8), max_size=12)
"""Answers, and compactions that keep so many messages."""


@given(steps=STEPS, skills=st.integers(0, 2), cut=st.integers(0, 200))
def test_whatever_is_compacted_the_conversation_keeps_the_rules_of_providers(
    steps: list[tuple[int, bool] | int], skills: int, cut: int
) -> None:
    injected = [SkillInjected(skill_name=f"s{n}", text_blob=f"{n}" * 64) for n in range(skills)]
    payloads: list[Payload] = [*injected, RunStarted(task="do it")]
    for number, step in enumerate(steps):
        if isinstance(step, int):
            payloads.append(ContextCompacted(summary=f"summary {number}", kept_messages=step))
        else:
            payloads += _turn(number, *step)
    payloads = payloads[: max(cut, 1 + skills)]
    conversation = fold(numbered(payloads), Conversation())
    if conversation.open_calls or conversation.has_final_answer:
        return
    messages = Prompt("system", lambda digest: b"skill").messages(conversation)
    assert problems_of(messages) == []
    texts = [message["content"] for message in messages if message["role"] == "user"]
    assert texts.count("do it") == 1
    assert texts.count("skill") == skills


def _turn(number: int, calls_made: int, steered: bool) -> list[Payload]:
    """One answer, what it calls, the results, and perhaps a message between them."""
    names = [f"{number}-{call}" for call in range(calls_made)]
    texts = [InboxReceived(message_id=str(number), position=number + 1, kind="steer", body={"text": "hurry"})]
    return [
        LlmRequestStarted(model="m"),
        LlmResponseDelta(delta_type="text", text=f"answer {number}"),
        *(ToolCallRequested(call_id=name, tool="t", name="t", arguments={}) for name in names),
        LlmResponseFinished(finish_reason="stop", calls=names),
        *(texts if steered or not names else []),
        *(ToolCallFinished(call_id=name, tool="t", result={"ok": True}) for name in names),
    ]
