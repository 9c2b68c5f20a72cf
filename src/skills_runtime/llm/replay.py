"""A model that answers as it did before: from the log of an earlier run.

Takes the answers as plain values; reading the run is the caller's work.
"""

from collections.abc import AsyncIterator, Sequence

from skills_runtime.llm.fake import FakeChatCall, ScriptedBackend
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall


class RecordedAnswer:
    """One complete answer of the earlier run."""

    def __init__(self, text: str, calls: Sequence[ToolCall]) -> None:
        self.text = text
        self.calls = tuple(calls)


class ReplayBackend:
    """Gives recorded answers by how many the run has had, and recorded summaries in their order."""

    def __init__(self, answers: Sequence[RecordedAnswer], *, compactions: Sequence[str] = ()) -> None:
        self._script = ScriptedBackend(map(_call, answers), compactions=compactions)

    def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the recorded answer for this point of the run."""
        return self._script.stream_chat(request)


def _call(answer: RecordedAnswer) -> FakeChatCall:
    events = [ChatStreamEvent(type="text_delta", text=answer.text)] if answer.text else []
    if answer.calls:
        events.append(ChatStreamEvent(type="tool_calls", tool_calls=answer.calls))
    reason = "tool_calls" if answer.calls else "stop"
    return FakeChatCall([*events, ChatStreamEvent(type="completed", finish_reason=reason)])
