"""One answer of the model: streamed into the log, and counted only when it is complete."""

import hashlib
from typing import Any

import msgspec

from skills_runtime.agent.loop.ports import AgentPorts
from skills_runtime.agent.loop.prompt import Prompt
from skills_runtime.agent.output import is_strict
from skills_runtime.events import Payload
from skills_runtime.events.envelope import reader
from skills_runtime.events.payloads import LlmRequestStarted, LlmResponseFinished, ToolCallRequested
from skills_runtime.llm import Transcriber, transcribe
from skills_runtime.ports import ChatRequest, ToolCall
from skills_runtime.runs import Run
from skills_runtime.safety import sanitize

read_arguments = reader(dict[str, Any])
"""The arguments of a call as data; fails with `msgspec.MsgspecError` only."""


async def answer(run: Run, ports: AgentPorts, prompt: Prompt) -> None:
    """Ask the model once and record what it says."""
    turn_id, answered = f"turn_{run.state.turns + 1}", run.view.conversation.asked
    model = ports.executor_model if answered else ports.planner_model
    response_format: dict[str, Any] | None = None
    if (schema := ports.output_schema) is not None:
        shape = {"name": "output", "schema": dict(schema), "strict": is_strict(schema)}
        response_format = {"type": "json_schema", "json_schema": shape}
    request = ChatRequest(
        model=model,
        messages=prompt.messages(run.view.conversation),
        tools=ports.tools.schemas(),
        response_format=response_format,
        run_id=run.state.run_id,
        turn_id=turn_id,
        answered=answered,
    )

    def record(payload: Payload) -> None:
        run.append(payload, turn_id=turn_id)

    record(LlmRequestStarted(model=model, messages_count=len(request.messages), tools_count=len(request.tools)))
    taken, price = run.view.conversation.call_ids, ports.prices.get(model)
    transcriber = Transcriber(
        record, model=model, clock=run.ports.clock, price=price, taken=taken, secrets=ports.secrets
    )
    said = await transcribe(ports.backend, request, transcriber)
    calls = [call.id for call in said.calls]
    finished = LlmResponseFinished(finish_reason=said.finish_reason, text_chars=said.text_chars, calls=calls)
    steps = enumerate(said.calls, start=run.state.steps + 1)
    asked = [(_requested(run, call, ports), turn_id, f"step_{number}") for number, call in steps]
    run.append_all([*asked, (finished, turn_id, None)])


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
    exact = msgspec.json.encode(shown) == raw and ports.secrets.line(raw) is raw
    return ToolCallRequested(
        call_id=call.id,
        tool=call.name,
        name=call.name,
        arguments=shown,
        arguments_blob=None if exact else run.keep(raw),
    )
