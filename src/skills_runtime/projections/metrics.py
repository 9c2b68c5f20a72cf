"""The numbers of one run, in the shape `runs metrics` prints."""

from datetime import datetime
from typing import Any

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    HumanRequest,
    LlmRequestStarted,
    LlmUsage,
    RunFailed,
    ToolCallFinished,
    ToolCallRequested,
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
        """Take in the next event."""
        self.run.apply(event)
        match event.payload:
            case LlmRequestStarted():
                self.llm_requests += 1
            case LlmUsage(total_tokens=tokens):
                self.total_tokens += tokens
            case ToolCallRequested(tool=tool):
                self.tools.setdefault(tool, ToolTotals()).calls += 1
            case ToolCallFinished(tool=tool, result=result):
                self._finished(self.tools.setdefault(tool, ToolTotals()), result)
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
        """The metrics as plain data, with the names of the seed's `compute_run_metrics_summary`."""
        run = self.run
        return {
            "run_id": run.run_id,
            "status": run.status.value,
            "started_at": run.started_at,
            "ended_at": run.completed_at,
            "wall_time_ms": _between(run.started_at, run.completed_at or run.updated_at),
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

    def _finished(self, tool: ToolTotals, result: dict[str, Any]) -> None:
        tool.ok += bool(result.get("ok"))
        tool.failed += not result.get("ok")
        duration = result.get("duration_ms")
        tool.duration_ms_total += duration if isinstance(duration, int) else 0


def _between(start: str | None, end: str | None) -> int | None:
    try:
        delta = datetime.fromisoformat(end or "") - datetime.fromisoformat(start or "")
    except (ValueError, TypeError):
        return None  # not begun, or a log of somebody who writes time in another way
    return round(delta.total_seconds() * 1000)
