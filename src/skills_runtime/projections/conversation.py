"""What the model has been told and has said: only answers that were complete count."""

from typing import Any, Literal

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    ContextCompacted,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunCompleted,
    RunStarted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)

Phase = Literal["requested", "started"]

READS = frozenset(
    {
        ContextCompacted,
        LlmRequestStarted,
        LlmResponseDelta,
        LlmResponseFinished,
        RunCompleted,
        RunStarted,
        ToolCallFinished,
        ToolCallRequested,
        ToolCallStarted,
    }
)
"""The payloads this projection looks at."""

CLOSING = (ToolCallStarted, RunCompleted)
"""In logs of version 0 nothing says that an answer is complete, but these only happen when it is."""


class Content(msgspec.Struct, frozen=True, omit_defaults=True):
    """Data as the log holds it, or the digest of the blob that holds it exactly."""

    data: Any = None
    blob: str | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call the model made, and how far it came."""

    id: str
    tool: str
    arguments: Content
    valid: bool = True
    step_id: str = ""
    phase: Phase = "requested"
    effect: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of the conversation, in the order providers require."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: list[Call] = []
    call_id: str = ""
    result: Content | None = None


class Conversation(msgspec.Struct, kw_only=True):
    """The messages so far, the answer still coming in, and the calls settled and not settled yet."""

    messages: list[Message] = []
    open_calls: dict[str, Call] = {}
    coming_text: list[str] = []
    coming_calls: list[Call] = []
    task: str = ""
    answers: int = 0
    settled: int = 0

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        if isinstance(event.payload, CLOSING) and (self.coming_text or self.coming_calls):
            self._finish_answer()
        match event.payload:
            case RunStarted(task=task):
                self._start(task)
            case LlmRequestStarted():
                self.coming_text, self.coming_calls = [], []
            case LlmResponseDelta(delta_type="text", text=text):
                self.coming_text.append(text)
            case ToolCallRequested() as payload:
                self.coming_calls.append(_requested(payload, event.step_id))
            case LlmResponseFinished():
                self._finish_answer()
            case ToolCallStarted(call_id=call_id, effect=effect) if call_id in self.open_calls:
                call = self.open_calls[call_id]
                self.open_calls[call_id] = msgspec.structs.replace(call, phase="started", effect=effect)
            case ContextCompacted() as payload:
                self._compact(payload)
            case ToolCallFinished() as payload if payload.call_id in self.open_calls:
                del self.open_calls[payload.call_id]
                self.settled += 1
                result = Content(payload.result, payload.result_blob)
                self.messages.append(Message(role="tool", call_id=payload.call_id, result=result))
            case _:
                pass

    @property
    def last_text(self) -> str:
        """The text of the last answer."""
        return next((one.text for one in reversed(self.messages) if one.role == "assistant"), "")

    def _start(self, task: str) -> None:
        """Take the task; a fork may have been given another one, which replaces it or follows what was said."""
        if task == self.task and self.messages:
            return
        if not self.answers:
            self.messages = []
        self.messages.append(Message(role="user", text=task))
        self.task = task

    def _compact(self, payload: ContextCompacted) -> None:
        """Keep the task, the summary and the newest messages, never a result without its call."""
        first = max(1, len(self.messages) - payload.kept_messages)
        if self.open_calls:  # their results are still to come, so the answer that made them stays
            first = min(first, max(at for at, one in enumerate(self.messages) if one.role == "assistant"))
        while first < len(self.messages) and self.messages[first].role == "tool":
            first += 1
        summary = Message(role="assistant", text=payload.summary)
        self.messages = [*self.messages[:1], summary, *self.messages[first:]]

    def _finish_answer(self) -> None:
        calls = self.coming_calls
        self.messages.append(Message(role="assistant", text="".join(self.coming_text), calls=calls))
        self.open_calls = {call.id: call for call in calls}
        self.coming_text, self.coming_calls = [], []
        self.answers += 1


def _requested(payload: ToolCallRequested, step_id: str | None) -> Call:
    return Call(
        id=payload.call_id,
        tool=payload.tool,
        arguments=Content(payload.arguments, payload.arguments_blob),
        valid=payload.arguments_valid,
        step_id=step_id or "",
    )
