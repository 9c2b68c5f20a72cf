"""The scripted model: says and calls what it is told to, so that an agent works without a network or a key."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall


def says(*pieces: str, usage: Mapping[str, int] | None = None) -> FakeChatCall:
    """Script an answer of text, streamed in these pieces."""
    end = ChatStreamEvent(type="completed", finish_reason="stop", usage=usage)
    return FakeChatCall([*(ChatStreamEvent(type="text_delta", text=piece) for piece in pieces), end])


def calls(tool: str, /, **arguments: Any) -> FakeChatCall:
    """Script an answer that calls a tool with these arguments."""
    call = ToolCall(id=f"call_{tool}", name=tool, arguments=msgspec.json.encode(arguments).decode())
    return _answer([], [call])


class FakeModel(ScriptedBackend):
    """Gives scripted answers in order and keeps the requests it was sent.

    An answer is what `says` or `calls` return; a list of them is one answer with all of it, such as two calls made at
    once. The answer is chosen by how many the run has had already, so a resumed run goes on where it was.
    """

    def __init__(
        self, answers: Iterable[FakeChatCall | Sequence[FakeChatCall]], *, compactions: Iterable[str] = ()
    ) -> None:
        self.requests: list[ChatRequest] = []
        joined = [answer if isinstance(answer, FakeChatCall) else _join(answer) for answer in answers]
        super().__init__(_with_unique_ids(joined), compactions=compactions)

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the answer this point of the run calls for."""
        self.requests.append(request)
        return super().stream_chat(request)


def _answer(text: Sequence[ChatStreamEvent], tool_calls: Sequence[ToolCall]) -> FakeChatCall:
    batch = [ChatStreamEvent(type="tool_calls", tool_calls=tool_calls)] if tool_calls else []
    end = ChatStreamEvent(type="completed", finish_reason="tool_calls" if tool_calls else "stop")
    return FakeChatCall([*text, *batch, end])


def _join(parts: Sequence[FakeChatCall]) -> FakeChatCall:
    events = [event for part in parts for event in part.events]
    text = [event for event in events if event.type not in {"tool_calls", "completed"}]
    return _answer(text, [call for event in events for call in event.tool_calls or ()])


def _with_unique_ids(answers: Iterable[FakeChatCall]) -> Iterable[FakeChatCall]:
    """Give repeated calls of one tool numbered ids, because services give each call its own id."""
    counts: dict[str, int] = {}

    def numbered(call: ToolCall) -> ToolCall:
        if call.id != f"call_{call.name}":  # an id that the test chose
            return call
        counts[call.name] = counts.get(call.name, 0) + 1
        return call if counts[call.name] == 1 else msgspec.structs.replace(call, id=f"{call.id}_{counts[call.name]}")

    for answer in answers:
        yield FakeChatCall(
            [
                msgspec.structs.replace(event, tool_calls=[numbered(call) for call in event.tool_calls])
                if event.tool_calls
                else event
                for event in answer.events
            ]
        )
