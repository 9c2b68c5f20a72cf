"""Services that give every call the same id: in a run no id repeats, however long it is."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from skills_runtime.engine.replay import replay
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall, ToolContext, ToolResult
from tests.support.agents import Doing, Streaming, agent_in, payloads_of

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
