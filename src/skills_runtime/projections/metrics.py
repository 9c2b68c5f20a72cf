"""The metrics of one run: tokens, cost, durations, and the summary of `runs metrics`."""

from datetime import datetime
from typing import Any, Literal

import msgspec

from skills_runtime.events import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    Event,
    HumanRequest,
    HumanResponse,
    LlmRequestStarted,
    LlmResponseFinished,
    LlmUsage,
    RunCancelled,
    RunCompleted,
    RunFailed,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.projections.state import RunState


class ToolTotals(msgspec.Struct):
    """The calls of one tool."""

    calls: int = 0
    ok: int = 0
    failed: int = 0
    duration_ms_total: int = 0


class Metrics(msgspec.Struct):
    """Counters over a run."""

    run: RunState = msgspec.field(default_factory=RunState)
    llm_requests: int = 0
    approvals_requested: int = 0
    approvals_decided: int = 0
    human_requests: int = 0
    total_tokens: int = 0
    tools: dict[str, ToolTotals] = {}
    errors: list[dict[str, str]] = []

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        self.run.apply(event)
        match event.payload:
            case LlmRequestStarted():
                self.llm_requests += 1
            case LlmUsage(total_tokens=tokens):
                self.total_tokens += tokens
            case ToolCallRequested(tool=tool):
                self.tools.setdefault(tool, ToolTotals()).calls += 1
            case ToolCallFinished(tool=tool, result=result):
                self._count_result(self.tools.setdefault(tool, ToolTotals()), result)
            case ApprovalRequested():
                self.approvals_requested += 1
            case ApprovalDecided():
                self.approvals_decided += 1
            case HumanRequest():
                self.human_requests += 1
            case RunFailed(error_kind=kind, message=message):
                self.errors.append({"error_kind": kind, "message": message})
            case _:
                pass

    def summary(self) -> dict[str, Any]:
        """Return plain data with the names of the seed's `compute_run_metrics_summary`."""
        run = self.run
        return {
            "run_id": run.run_id,
            "status": run.status.value,
            "started_at": run.started_at,
            "ended_at": run.completed_at,
            "wall_time_ms": _measure_ms(run.started_at, run.completed_at or run.updated_at),
            "counts": {
                "turns_total": run.turns,
                "llm_requests_total": self.llm_requests,
                "tool_calls_total": run.tool_calls,
                "approvals_requested_total": self.approvals_requested,
                "approvals_decided_total": self.approvals_decided,
                "human_requests_total": self.human_requests,
            },
            "llm": {
                "input_tokens_total": run.input_tokens,
                "output_tokens_total": run.output_tokens,
                "total_tokens_total": self.total_tokens,
            },
            "tools": {
                "by_name": {name: msgspec.to_builtins(self.tools[name]) for name in sorted(self.tools)},
                "duration_ms_total": sum(tool.duration_ms_total for tool in self.tools.values()),
            },
            "errors": self.errors,
        }

    def _count_result(self, tool: ToolTotals, result: dict[str, Any]) -> None:
        tool.ok += bool(result.get("ok"))
        tool.failed += not result.get("ok")
        duration = result.get("duration_ms")
        tool.duration_ms_total += duration if isinstance(duration, int) else 0


def _measure_ms(start: str | None, end: str | None) -> int | None:
    try:
        delta = datetime.fromisoformat(end or "") - datetime.fromisoformat(start or "")
    except (ValueError, TypeError):
        return None  # not started, or a foreign log with another time format
    return round(delta.total_seconds() * 1000)


class ModelUsage(msgspec.Struct):
    """Requests and tokens of one model."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class UsageTotals(msgspec.Struct):
    """Usage by model name."""

    models: dict[str, ModelUsage] = {}

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        match event.payload:
            case LlmRequestStarted(model=model):
                self.models.setdefault(model, ModelUsage()).requests += 1
            case LlmUsage() as usage:
                total = self.models.setdefault(usage.model, ModelUsage())
                total.input_tokens += usage.input_tokens
                total.output_tokens += usage.output_tokens
                total.cached_tokens += usage.cached_tokens
            case _:
                pass


SpanKind = Literal["model", "tool", "waiting"]


class Span(msgspec.Struct, kw_only=True):
    """One bar; open while `ended_at` is None, and not `ok` if it never ended."""

    kind: SpanKind
    label: str
    first_seq: int
    started_at: str
    turn_id: str | None = None
    last_seq: int | None = None
    ended_at: str | None = None
    ok: bool = True


class Timeline(msgspec.Struct):
    """All bars in order of their start, and the open ones."""

    spans: list[Span] = []
    open: dict[str, int] = {}

    def apply(self, event: Event) -> None:
        """Apply the next event."""
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
        """Show a wait from a request to its outcome; a refused decision ends nothing."""
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
