"""What a run did, without ids, times and chance: two runs that behave the same make the same moves."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal, cast

import msgspec

from skills_runtime.events import ContextCompacted, Event, RunCancelled, RunCompleted, RunFailed, RunStarted
from skills_runtime.projections.conversation import Call, Content, Conversation, Message

MoveKind = Literal["task", "answer", "call", "result", "end"]
CHANCE = frozenset({"duration_ms"})
"""Fields of a result that differ from one time to the next."""


class Move(msgspec.Struct, frozen=True):
    """One thing a run did, in one line."""

    kind: MoveKind
    what: str
    exact: str = ""
    """The digest of what was really meant, where `what` may show less of it."""

    def is_like(self, other: "Move | None") -> bool:
        """Whether both are the same move, however much of it each log shows."""
        return other is not None and (self.kind, self.exact or self.what) == (other.kind, other.exact or other.what)

    def __str__(self) -> str:
        return f"{self.kind:6} {self.what}"


class Moves(msgspec.Struct):
    """The conversation and the end of a run, as moves."""

    conversation: Conversation = msgspec.field(default_factory=Conversation)
    end: str = ""

    def apply(self, event: Event) -> None:
        """Take in the next event."""
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

    def all(self) -> list[Move]:
        """The moves so far, in order."""
        moves = [move for message in _in_order(self.conversation.messages) for move in _moves(message)]
        return [*moves, Move("end", self.end)] if self.end else moves


def _in_order(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages with results in the order of their calls: one that had to be waited for comes after the others."""
    places: dict[str, int] = {}
    results: list[Message] = []
    for message in messages:
        if message.role == "tool":
            results.append(message)
            continue
        yield from sorted(results, key=lambda one: places.get(one.call_id, 0))
        results = []
        places = {call.id: place for place, call in enumerate(message.calls)}
        yield message
    yield from sorted(results, key=lambda one: places.get(one.call_id, 0))


def _moves(message: Message) -> list[Move]:
    if message.news:
        return []  # what became of files around it is nothing that a run did
    if message.role == "user":
        return [Move("task", _line(message.text))]
    if message.role == "tool":
        return [Move("result", _content(message.result or Content()))]
    calls = [Move("call", f"{call.tool} {_content(call.arguments)}", _exact(call)) for call in message.calls]
    return [*([Move("answer", _line(message.text))] if message.text else []), *calls]


def _exact(call: Call) -> str:
    content = call.arguments
    digest = content.blob or hashlib.sha256(msgspec.json.encode(content.data)).hexdigest()
    return f"{call.tool} {digest}"


def _content(content: Content) -> str:
    if not isinstance(content.data, dict):
        return _line(content.data)
    fields = cast(dict[str, Any], content.data)
    return _line({name: value for name, value in fields.items() if name not in CHANCE and not _left_out(name, value)})


def _left_out(name: str, value: Any) -> bool:
    """Whether a result may as well not have the field: older logs wrote the empty ones too."""
    return name != "ok" and (value is None or value is False or value == "")


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
