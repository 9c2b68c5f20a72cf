"""One answer of the model: streamed into the log, and counted only when it is complete."""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from skills_runtime.agent.ports import AgentPorts
from skills_runtime.agent.prompt import Prompt
from skills_runtime.errors import ModelError
from skills_runtime.events.envelope import reader
from skills_runtime.events.payloads import (
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    LlmRetryScheduled,
    LlmUsage,
    ToolCallRequested,
)
from skills_runtime.ports import ChatRequest, ChatStreamEvent, Clock, ToolCall
from skills_runtime.runs import Run
from skills_runtime.safety import sanitize
from skills_runtime.safety.sanitize import well_formed

DELTA_SECONDS = 0.05
DELTA_CHARS = 4096

NOT_AN_ANSWER = {
    "length": "the model's answer was cut off at its length limit",
    "content_filter": "the provider's filter withheld the model's answer",
}
"""Ends of a stream that are no end of an answer."""

read_arguments = reader(dict[str, Any])
"""The arguments of a call as data; fails with `msgspec.MsgspecError` only."""


async def answer(run: Run, ports: AgentPorts, prompt: Prompt) -> None:
    """Ask the model once and record what it says."""
    turn_id = f"turn_{run.state.turns + 1}"
    messages = prompt.messages(run.view.conversation)
    tools = ports.tools.schemas()
    model = ports.executor_model if run.view.conversation.answers else ports.planner_model
    request = ChatRequest(model=model, messages=messages, tools=tools, run_id=run.state.run_id, turn_id=turn_id)
    run.append(
        LlmRequestStarted(model=request.model, messages_count=len(messages), tools_count=len(tools)), turn_id=turn_id
    )
    recorder = _Recorder(run, turn_id, run.ports.clock)
    async for event in ports.backend.stream_chat(request):
        recorder.take(event)
    recorder.finish(request.model, ports)


class _Recorder:
    """Coalesces the pieces of one answer into events."""

    def __init__(self, run: Run, turn_id: str, clock: Clock) -> None:
        self._run = run
        self._turn_id = turn_id
        self._clock = clock
        self._held: list[str] = []
        self._held_chars = 0
        self._written = clock.monotonic()
        self._text_chars = 0
        self._calls: list[ToolCall] = []
        self._end: ChatStreamEvent | None = None

    def take(self, event: ChatStreamEvent) -> None:
        """Take one piece."""
        if event.type == "text_delta" and event.text:
            self._held.append(event.text)
            self._held_chars += len(event.text)
            late = self._clock.monotonic() - self._written >= DELTA_SECONDS
            if late or self._held_chars >= DELTA_CHARS:
                self._flush()
        elif event.type == "tool_calls":
            self._calls.extend(event.tool_calls or ())
        elif event.type == "retry_scheduled":
            self._run.append(LlmRetryScheduled(**(event.retry or {})), turn_id=self._turn_id)
        elif event.type == "completed":
            self._end = event

    def finish(self, model: str, ports: AgentPorts) -> None:
        """Record the end; an answer without one is an error."""
        self._flush(whole=True)
        if self._end is None:
            raise ModelError("the model's answer broke off before its end", retryable=True)
        if self._end.usage is not None:
            self._run.append(_usage(model, self._end), turn_id=self._turn_id)
        if self._end.finish_reason in NOT_AN_ANSWER:
            raise ModelError(NOT_AN_ANSWER[self._end.finish_reason])
        self._calls = _distinct(self._calls)
        for call in self._calls:
            self._request(call, ports)
        self._run.append(
            LlmResponseFinished(
                finish_reason=self._end.finish_reason or "stop",
                text_chars=self._text_chars,
                calls=[call.id for call in self._calls],
            ),
            turn_id=self._turn_id,
        )

    def _flush(self, *, whole: bool = False) -> None:
        text = "".join(self._held)
        # A service may cut a character in two: its first half waits for the second.
        half = text[-1:] if not whole and "\ud800" <= text[-1:] <= "\udbff" else ""
        text = well_formed(text.removesuffix(half))
        if text:
            self._run.append(LlmResponseDelta(delta_type="text", text=text), turn_id=self._turn_id)
            self._text_chars += len(text)
        self._held, self._held_chars, self._written = [half], len(half), self._clock.monotonic()

    def _request(self, call: ToolCall, ports: AgentPorts) -> None:
        step_id = f"step_{self._run.state.steps + 1}"
        self._run.append(_requested(self._run, call, ports), turn_id=self._turn_id, step_id=step_id)


def _distinct(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls as text that can be written, each with an id of its own in this answer."""
    distinct: dict[str, ToolCall] = {}
    for number, call in enumerate(calls, start=1):
        call_id = well_formed(call.id) or f"call_{number}"
        while call_id in distinct:
            call_id = f"{call_id}_{number}"
        distinct[call_id] = ToolCall(id=call_id, name=well_formed(call.name), arguments=well_formed(call.arguments))
    return list(distinct.values())


def _requested(run: Run, call: ToolCall, ports: AgentPorts) -> ToolCallRequested:
    """The call as events may show it; the exact arguments are a blob unless the event already has them."""
    tool = ports.tools.find(call.name)
    raw = call.arguments.encode()
    try:
        arguments = read_arguments(raw)
    except msgspec.MsgspecError as error:
        return ToolCallRequested(
            call_id=call.id,
            tool=call.name,
            name=call.name,
            arguments_blob=run.keep(raw),
            arguments_valid=False,
            raw_arguments_len=len(raw),
            raw_arguments_sha256=hashlib.sha256(raw).hexdigest(),
            raw_arguments_error=str(error),
        )
    shown = sanitize(tool.spec if tool is not None else None, arguments)
    exact = msgspec.json.encode(shown) == raw
    return ToolCallRequested(
        call_id=call.id,
        tool=call.name,
        name=call.name,
        arguments=shown,
        arguments_blob=None if exact else run.keep(raw),
    )


def _usage(model: str, end: ChatStreamEvent) -> LlmUsage:
    usage = {name: count for name, count in (end.usage or {}).items() if count}
    used_in, used_out = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    return LlmUsage(
        model=model,
        input_tokens=used_in,
        output_tokens=used_out,
        total_tokens=usage.get("total_tokens", used_in + used_out),
        cached_tokens=usage.get("cached_tokens", 0),
        provider=end.provider,
        request_id=end.request_id,
    )
