"""The steps of a run as people count them: one tool call each.

Pure: a fold of events, and words for it.
"""

from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec
from rich.console import Console
from rich.text import Text

from skills_runtime.cli.render.console import cut, spread
from skills_runtime.cli.render.text import duration, one_line
from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    HumanRequest,
    HumanResponse,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.projections.state import number_of

Progress = Literal["running", "waiting", "done", "failed"]
_SUBJECT_CHARS = 200


class Step(msgspec.Struct, kw_only=True):
    """One call: what it is about, and what came of it."""

    number: int
    tool: str
    subject: str
    progress: Progress = "running"
    outcome: str = ""
    """The exit code or the kind of error of a call that failed."""
    reason: str = ""
    milliseconds: float | None = None


class Steps(msgspec.Struct):
    """All steps in order."""

    all: list[Step] = []
    _by_call: dict[str, Step] = {}

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        match event.payload:
            case ToolCallRequested(call_id=call_id, name=name, arguments=arguments):
                self._add(event, call_id, name, _subject(arguments))
            case ToolCallStarted(call_id=call_id, tool=tool) if call_id not in self._by_call:
                self._add(event, call_id, tool)  # asked for before a resumed run was looked at
            case ApprovalRequested(call_id=call_id) | HumanRequest(call_id=call_id) if call_id in self._by_call:
                self._by_call[call_id].progress = "waiting"
            case (
                ApprovalDecided(call_id=call_id) | ApprovalRefused(call_id=call_id) | HumanResponse(call_id=call_id)
            ) if call_id in self._by_call:
                self._by_call[call_id].progress = "running"
            case ToolCallFinished(call_id=call_id, result=result) if call_id in self._by_call:
                _settle(self._by_call[call_id], result)
            case _:
                pass

    def _add(self, event: Event, call_id: str, tool: str, subject: str = "") -> None:
        step = Step(number=number_of(event.step_id) or len(self.all) + 1, tool=one_line(tool), subject=subject)
        self.all.append(step)
        self._by_call[call_id] = step

    def of_call(self, call_id: str) -> Step | None:
        """The step of a call."""
        return self._by_call.get(call_id)


def _settle(step: Step, result: Mapping[str, Any]) -> None:
    ok = bool(result.get("ok"))
    step.progress = "done" if ok else "failed"
    step.milliseconds = _number(result.get("duration_ms")) or 0
    code = result.get("exit_code")
    if not ok:
        step.outcome = f"exit {code}" if code else one_line(str(result.get("error_kind") or "failed"))
        first = str(result.get("stderr") or "").strip().partition("\n")[0]
        step.reason = one_line(first)[:_SUBJECT_CHARS]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _subject(arguments: Mapping[str, Any]) -> str:
    """What a call is about: what it asks, or its first argument that is text or a command line."""
    for value in (arguments.get("question"), *arguments.values()):
        words = cast(list[object], value) if isinstance(value, list) else [value]
        if words and all(isinstance(word, str) for word in words):
            return one_line(" ".join(map(str, words)))[:_SUBJECT_CHARS]
    return ""


def step_lines(console: Console, step: Step, *, under_way: str = "running") -> list[Text]:
    """A step on one line; the reason of a failure on the next; `under_way` is the word for one that has no result."""
    left = Text.assemble((f"{step.number:>3}  ", "dim"), step.tool, f" {step.subject}")
    waiting = {"waiting": "waiting for you", "running": under_way}.get(step.progress, "")
    right = Text.assemble(
        (step.outcome, "red"), (waiting, "cyan"), (f"{duration(step.milliseconds):>9}" if not waiting else "", "dim")
    )
    lines = [spread(console, left, right)]
    if step.reason:
        room = console.width - 5 if console.is_terminal else len(step.reason)
        lines.append(Text(f"     {cut(step.reason, room)}", style="dim"))
    return lines
