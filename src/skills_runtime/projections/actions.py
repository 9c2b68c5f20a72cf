"""The actions of a run without ids, times and randomness: two runs that behave the same have the same actions."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal, cast

import msgspec

from skills_runtime.events import ContextCompacted, Event, RunCancelled, RunCompleted, RunFailed, RunStarted
from skills_runtime.projections.conversation import Call, Content, Conversation, Message

ActionKind = Literal["task", "answer", "call", "result", "end"]
VOLATILE_FIELDS = frozenset({"duration_ms"})
"""Result fields that differ between executions."""


class Action(msgspec.Struct, frozen=True):
    """One action of a run, in one line."""

    kind: ActionKind
    text: str
    digest: str = ""
    """The digest of the complete content, where `what` may be redacted."""

    def is_same_as(self, other: "Action | None") -> bool:
        """Return whether both are the same action, even if one log redacts more."""
        return other is not None and (self.kind, self.digest or self.text) == (other.kind, other.digest or other.text)

    def __str__(self) -> str:
        return f"{self.kind:6} {self.text}"


class Actions(msgspec.Struct):
    """The conversation and the end of a run, as actions."""

    conversation: Conversation = msgspec.field(default_factory=Conversation)
    end: str = ""

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        if not isinstance(event.payload, ContextCompacted):  # what was left out of the context was done all the same
            self.conversation.apply(event)
        match event.payload:
            case RunCompleted():
                self.end = "completed"
            case RunFailed(error_kind=kind, message=message):
                # What a run failed to hand over says nothing about what it did.
                self.end = "completed" if message.startswith("missing_deliverable") else f"failed {kind}"
            case RunCancelled():
                self.end = "cancelled"
            case RunStarted():  # a fork goes on where its parent had ended
                self.end = ""
            case _:
                pass

    def to_list(self) -> list[Action]:
        """Return the actions so far, in order."""
        moves = [action for message in _order_results(self.conversation.messages) for action in _build_actions(message)]
        return [*moves, Action("end", self.end)] if self.end else moves


def _order_results(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages with results in the order of their calls; deferred results come later in the log."""
    call_order: dict[str, int] = {}
    results: list[Message] = []
    for message in messages:
        if message.role == "tool":
            results.append(message)
            continue
        yield from sorted(results, key=lambda result: call_order.get(result.call_id, 0))
        results = []
        call_order = {call.id: index for index, call in enumerate(message.calls)}
        yield message
    yield from sorted(results, key=lambda result: call_order.get(result.call_id, 0))


def _build_actions(message: Message) -> list[Action]:
    if message.is_skill_update:
        return []  # what became of files around it is nothing that a run did
    if message.role == "user":
        return [Action("task", _to_json(message.text))]
    if message.role == "tool":
        return [Action("result", _format_content(message.result or Content()))]
    calls = [
        Action("call", f"{call.tool} {_format_content(call.arguments)}", _digest_call(call)) for call in message.calls
    ]
    return [*([Action("answer", _to_json(message.text))] if message.text else []), *calls]


def _digest_call(call: Call) -> str:
    content = call.arguments
    digest = content.blob or hashlib.sha256(msgspec.json.encode(content.data)).hexdigest()
    return f"{call.tool} {digest}"


def _format_content(content: Content) -> str:
    if not isinstance(content.data, dict):
        return _to_json(content.data)
    fields = cast(dict[str, Any], content.data)
    return _to_json(
        {name: value for name, value in fields.items() if name not in VOLATILE_FIELDS and not _is_default(name, value)}
    )


def _is_default(name: str, value: Any) -> bool:
    """Return whether a result field can be omitted: older logs wrote empty ones too."""
    return name != "ok" and (value is None or value is False or value == "")


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
