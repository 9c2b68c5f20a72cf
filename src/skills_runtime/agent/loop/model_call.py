"""One call of the model: from the conversation to the request, and from the streamed answer to events.

Requests only grow at the end, so that the provider's prompt cache keeps working. An answer counts only when it is
complete.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.agent.loop.output import is_strict
from skills_runtime.agent.loop.ports import AgentPorts
from skills_runtime.events import LlmRequestStarted, LlmResponseFinished, Payload, ToolCallRequested, build_decoder
from skills_runtime.llm import EventRecorder, record_answer
from skills_runtime.ports import ChatRequest, ToolCall
from skills_runtime.projections import Call, Content, Conversation, Message
from skills_runtime.runs import Run
from skills_runtime.safety import sanitize

ReadBlob = Callable[[str], bytes]

MAX_EXCERPT_CHARS = 800
_INVALID_NAME_CHARS = re.compile("[^a-zA-Z0-9_-]")

read_arguments = build_decoder(dict[str, Any])
"""Decodes the arguments of a call; raises only `msgspec.MsgspecError`."""


class Prompt:
    """Builds the request of each turn, reusing the messages of earlier turns."""

    def __init__(self, system_prompt: str, read_blob: ReadBlob) -> None:
        self._system = {"role": "system", "content": system_prompt}
        self._read_blob = read_blob
        self._conversation: list[Message] = []
        self._built_count = 0
        self._built: list[dict[str, Any]] = []

    def messages(self, conversation: Conversation) -> list[dict[str, Any]]:
        """Return all messages in the format of chat providers."""
        # The list only grows; compaction replaces it with a new one.
        if conversation.messages is not self._conversation:
            self._conversation, self._built_count, self._built = conversation.messages, 0, []
        self._built.extend(_messages(conversation.messages[self._built_count :], self._read_blob))
        self._built_count = len(conversation.messages)
        return [self._system, *self._built]


async def ask_model(run: Run, ports: AgentPorts, prompt: Prompt) -> None:
    """Ask the model once and record its answer."""
    turn_id, answered = f"turn_{run.state.turns + 1}", run.view.conversation.model_answers
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
    used_ids, price = run.view.conversation.call_ids, ports.prices.get(model)
    recorder = EventRecorder(
        record, model=model, clock=run.ports.clock, price=price, used_ids=used_ids, secrets=ports.secrets
    )
    answer = await record_answer(ports.backend, request, recorder)
    calls = [call.id for call in answer.calls]
    finished = LlmResponseFinished(finish_reason=answer.finish_reason, text_chars=answer.text_chars, calls=calls)
    steps = enumerate(answer.calls, start=run.state.steps + 1)
    requests = [(_call_event(run, call, ports), turn_id, f"step_{number}") for number, call in steps]
    run.append_all([*requests, (finished, turn_id, None)])


def _call_event(run: Run, call: ToolCall, ports: AgentPorts) -> ToolCallRequested:
    """Return the event of a call; the exact arguments become a blob unless the event shows them unchanged."""
    tool = ports.tools.find(call.name)
    raw = call.arguments.encode()
    try:
        arguments = read_arguments(raw)
    except msgspec.MsgspecError as error:
        return ToolCallRequested(
            call_id=call.id,
            tool=call.name,
            name=call.name,
            arguments_blob=run.put_blob(raw),
            arguments_valid=False,
            raw_arguments_len=len(raw),
            raw_arguments_sha256=hashlib.sha256(raw).hexdigest(),
            raw_arguments_error=str(error),
        )
    visible = sanitize(tool.spec if tool is not None else None, arguments)
    exact = msgspec.json.encode(visible) == raw and ports.secrets.line(raw) is raw
    return ToolCallRequested(
        call_id=call.id,
        tool=call.name,
        name=call.name,
        arguments=visible,
        arguments_blob=None if exact else run.put_blob(raw),
    )


def arguments_of(call: Call, read_blob: ReadBlob) -> str:
    """Return the exact JSON text of a call's arguments."""
    return _text(call.arguments, read_blob)


def excerpt(conversation: Conversation, read_blob: ReadBlob | None, *, limit: int) -> str:
    """Return the conversation as text of at most `limit` characters; without blobs only what events show."""
    lines = [line for message in conversation.messages for line in _lines(message, read_blob)]
    return truncate_middle("\n\n".join(lines), limit=limit)


def truncate_middle(text: str, *, limit: int) -> str:
    """Return the text with its middle left out if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    note = f"\n\n[… {len(text) - limit} characters left out …]\n\n"
    available = max(0, limit - len(note))
    return f"{text[: available // 3]}{note}{text[len(text) - (available - available // 3) :]}"


def _messages(messages: list[Message], read_blob: ReadBlob) -> Iterator[dict[str, Any]]:
    """Yield each message in the format of providers; images from tools follow the results as a user message."""
    images: list[Mapping[str, Any]] = []
    for message in messages:
        if images and message.role != "tool":
            yield _images_message(images, read_blob)
            images = []
        yield _message(message, read_blob)
        if message.role == "tool":
            image = _field(_field((message.result or Content()).data, "data"), "image")
            if _field(image, "blob") and _field(image, "media_type"):
                images.append(image)
    if images:
        yield _images_message(images, read_blob)


def _message(message: Message, read_blob: ReadBlob) -> dict[str, Any]:
    if message.role == "tool":
        content = _text(message.result or Content(), read_blob)
        return {"role": "tool", "tool_call_id": message.call_id, "content": content}
    if message.calls:
        calls: list[dict[str, Any]] = []
        for call in message.calls:
            # Providers parse the arguments of earlier calls, and would refuse every later request with invalid ones.
            arguments = arguments_of(call, read_blob) if call.valid else "{}"
            function = {"name": (_INVALID_NAME_CHARS.sub("_", call.tool)[:64] or "unknown"), "arguments": arguments}
            calls.append({"id": call.id, "type": "function", "function": function})
        return {"role": message.role, "content": message.text or None, "tool_calls": calls}
    text = read_blob(message.blob).decode() if message.blob else message.text
    if not message.images:
        return {"role": message.role, "content": text}
    images = [_image_part(image, read_blob) for image in message.images]
    return {"role": message.role, "content": [{"type": "text", "text": text}, *images]}


def _text(content: Content, read_blob: ReadBlob | None) -> str:
    data = read_blob(content.blob) if read_blob and content.blob else msgspec.json.encode(content.data)
    return data.decode()


def _field(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _images_message(images: list[Mapping[str, Any]], read_blob: ReadBlob) -> dict[str, Any]:
    label = {"type": "text", "text": "Images returned by the tools:"}
    return {"role": "user", "content": [label, *(_image_part(image, read_blob) for image in images)]}


def _image_part(image: Mapping[str, Any], read_blob: ReadBlob) -> dict[str, Any]:
    data = base64.b64encode(read_blob(str(image["blob"]))).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{image['media_type']};base64,{data}"}}


def _lines(message: Message, read_blob: ReadBlob | None) -> Iterator[str]:
    if message.role == "tool":
        text = _text(message.result or Content(), read_blob)
        yield f"result of {message.call_id}: {_truncate(text)}"
        return
    if message.text or not message.calls:
        yield f"{message.role}: {message.text}"
    for call in message.calls:
        yield f"call {call.id}: {call.tool} {_truncate(_text(call.arguments, read_blob))}"


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_EXCERPT_CHARS else f"{text[:MAX_EXCERPT_CHARS]} […]"
