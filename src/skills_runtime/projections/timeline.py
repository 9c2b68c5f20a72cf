"""The run as bars on a time axis: model, tool, waiting for a person."""

from typing import Literal

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    HumanRequest,
    HumanResponse,
    LlmRequestStarted,
    LlmResponseFinished,
    RunCancelled,
    RunCompleted,
    RunFailed,
    ToolCallFinished,
    ToolCallStarted,
)

SpanKind = Literal["model", "tool", "waiting"]


class Span(msgspec.Struct, kw_only=True):
    """One bar; open while `ended_at` is None, and not `ok` when its end never came."""

    kind: SpanKind
    label: str
    first_seq: int
    started_at: str
    turn_id: str | None = None
    last_seq: int | None = None
    ended_at: str | None = None
    ok: bool = True


class Timeline(msgspec.Struct):
    """All bars in the order they began, and which of them are still open."""

    spans: list[Span] = []
    open: dict[str, int] = {}

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        match event.payload:
            case LlmRequestStarted(model=model):
                self._end("model", event, ok=False)
                self._begin("model", "model", model, event)
            case LlmResponseFinished():
                self._end("model", event)
            case ToolCallStarted(call_id=call_id, tool=tool):
                self._begin(f"tool:{call_id}", "tool", tool, event)
            case ToolCallFinished(call_id=call_id, result=result):
                self._end(f"tool:{call_id}", event, ok=bool(result.get("ok")))
            case ApprovalRequested() | ApprovalDecided() | ApprovalRefused():
                self._approve(event, event.payload)
            case HumanRequest(call_id=call_id):
                self._begin(f"human:{call_id}", "waiting", "question", event)
            case HumanResponse(call_id=call_id):
                self._end(f"human:{call_id}", event)
            case RunCompleted() | RunFailed() | RunCancelled():
                self._end_all(event)
            case _:
                pass

    def _approve(self, event: Event, payload: ApprovalRequested | ApprovalDecided | ApprovalRefused) -> None:
        """Waiting lasts from a request to what became of it; a decision that only came astray ends nothing."""
        key = f"approval:{payload.approval_id or payload.approval_key}"  # older logs have no ids
        match payload:
            case ApprovalRequested(tool=tool):
                self._begin(key, "waiting", tool, event)
            case ApprovalDecided(decision=decision):
                self._end(key, event, ok=decision.startswith("approved"))
            case ApprovalRefused(call_id=call_id) if call_id:
                self._end(key, event, ok=False)
            case _:
                pass

    def _begin(self, key: str, kind: SpanKind, label: str, event: Event) -> None:
        self.open[key] = len(self.spans)
        span = Span(kind=kind, label=label, first_seq=event.seq, started_at=event.timestamp, turn_id=event.turn_id)
        self.spans.append(span)

    def _end(self, key: str, event: Event, *, ok: bool = True) -> None:
        index = self.open.pop(key, None)
        if index is not None:
            span = self.spans[index]
            span.last_seq, span.ended_at, span.ok = event.seq, event.timestamp, ok

    def _end_all(self, event: Event) -> None:
        for key in list(self.open):
            self._end(key, event, ok=False)
