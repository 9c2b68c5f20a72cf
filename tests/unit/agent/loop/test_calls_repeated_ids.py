"""Services that give every call the same id: in a run no id repeats, however long it is."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.engine.replay import replay
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall, ToolContext, ToolResult
from skills_runtime.runs import runs_root
from skills_runtime.testing import says
from tests.support.agents import Doing, Streaming, agent_in, calls, payloads_of

TURNS = 30
LONGEST_ID = 40
"""What the strictest service takes."""
COMPACTING = {"run": {"context_recovery": {"window_tokens": 100_000}, "max_steps": 100}}


async def always_the_same_id(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
    """Call the tool every turn under one id; half-way the conversation is said to be long."""
    used, reason = {"input_tokens": 90_000 if request.answered == TURNS // 2 else 10, "output_tokens": 1}, "stop"
    if request.purpose == "compaction" or request.answered == TURNS:
        yield ChatStreamEvent(type="text_delta", text="That is all.")
    else:
        call = ToolCall(id="call_0", name="do", arguments=json.dumps({"number": request.answered}))
        yield ChatStreamEvent(type="tool_calls", tool_calls=[call])
        reason = "tool_calls"
    yield ChatStreamEvent(type="completed", finish_reason=reason, usage=used)


async def count(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True, stdout=str(arguments["number"]))


async def test_an_id_used_every_turn_names_each_call_once_and_stays_short(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, Streaming(always_the_same_id), settings=COMPACTING)
    agent.register_tool(Doing(count))
    result = await agent.run_async("Go.")
    assert payloads_of(result.wal_locator, "context_compacted")
    ids = [call.call_id for call in payloads_of(result.wal_locator, "tool_call_requested")]
    assert (len(ids), len(set(ids))) == (TURNS, TURNS)
    assert max(map(len, ids)) <= LONGEST_ID
    assert await replay(Path(result.wal_locator).parent, agent.resolved) is None


async def each_begins_another(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
    """Begin a sub-agent and wait for it, always under the same ids."""
    below = {"first": "second", "second": "third"}
    task = next(str(message["content"]) for message in request.messages if message["role"] == "user")
    results = [json.loads(message["content"]) for message in request.messages if message["role"] == "tool"]
    if task not in below or request.answered > 1:
        answer = says(f"{task} done")
    elif request.answered == 0:
        answer = calls(("spawn_agent", {"message": below[task]}), ids=["call_0"])
    else:
        answer = calls(("wait", {"ids": [results[0]["data"]["id"]]}), ids=["call_1"])
    for event in answer.events:
        yield event


@pytest.mark.parametrize("length", [10, 100, 101, 128])
async def test_runs_below_a_run_with_a_long_id_have_ids_of_their_own(tmp_path: Path, length: int) -> None:
    result = await agent_in(tmp_path, Streaming(each_begins_another)).run_async("first", run_id="x" * length)
    family = [str(root / "events.jsonl") for root in runs_root(tmp_path).iterdir()]
    payloads = sorted(end.final_output for log in family for end in payloads_of(log, "run_completed"))
    assert (result.status, payloads) == ("completed", ["first done", "second done", "third done"])
