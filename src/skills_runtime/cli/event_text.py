"""Events in words, and the steps of a run as people count them: one tool call each.

Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, cast

import msgspec
from rich.console import Console
from rich.text import Text

from skills_runtime.cli.output import cut, spread
from skills_runtime.cli.text import count, duration, money, plural
from skills_runtime.events import Event, Unknown, data_of
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
from skills_runtime.render import skill_note
from skills_runtime.text import readable_line

Data = Mapping[str, Any]

_TELLING = (
    "message", "failure_reason", "final_output", "task", "text", "question", "answer", "summary", "decision",
    "model", "finish_reason", "name", "tool", "path", "to", "workspace_mode", "profile_id", "skill_name", "reason",
)  # fmt: skip
"""Fields of payloads in the order of how much they tell."""
_SKILL = "skill"
_BY_SOMEBODY = ("provider", "inbox")
_TEXT_CHARS = 2000
_CELLS = 200
_REVIEW = ("review_required", "revision_required")
_NOTED: Mapping[str, str] = MappingProxyType(
    {
        "human_request": "asks",
        "human_response": "answered",
        "approval_requested": "asks",
        "approval_decided": "decided",
        "approval_refused": "void",
        "inbox_received": "received",
        "run_state_changed": "review",
        "compaction_started": "context",
        "context_compacted": "context",
        "compaction_failed": "context",
        "context_recovery_decided": "context",
        "child_run_started": "agent",
        "child_run_finished": "agent",
        "llm_retry_scheduled": "retry",
        "output_rejected": "again",
        "budget_increased": "budget",
    }
)
Progress = Literal["running", "waiting", "done", "failed"]
_SUBJECT_CHARS = 200


def told(event: Event) -> str:
    """The one thing worth knowing about an event, on one line."""
    known = not isinstance(event.payload, Unknown)  # a type of ours in a shape of another version is not interpreted
    said = _WORDS.get(event.type, _most_telling) if known else _most_telling
    words = skill_note(event.payload) or said(data_of(event.payload))
    return cut(readable_line(words[:_TEXT_CHARS]), _CELLS)


def note_of(event: Event) -> str | None:
    """The line an event is worth while a run works, if any; steps and ends have lines of their own."""
    label = _SKILL if skill_note(event.payload) else _NOTED.get(event.type)
    if label is None or _is_told_elsewhere(event):
        return None
    return f"{label}  {told(event)}"


def _is_told_elsewhere(event: Event) -> bool:
    """Whether another line tells it: that of the end, or that of what became of a decision."""
    data = data_of(event.payload)
    if event.type == "run_state_changed":
        return data.get("to") not in _REVIEW
    return event.type == "inbox_received" and data.get("kind") == "approve"


def _most_telling(data: Data) -> str:
    return str(next((data[name] for name in _TELLING if data.get(name)), ""))


def _result(data: Data) -> str:
    result: Data = data.get("result") or {}
    outcome = "ok" if result.get("ok") else str(result.get("error_kind") or "failed")
    took = result.get("duration_ms")
    return f"{data.get('tool')}  {outcome}  {duration(took if isinstance(took, int | float) else 0)}"


def _file_operation(data: Data) -> str:
    return f"{data.get('op')} {data.get('path')}" + ("" if data.get("ok") else f"  {data.get('error')}")


def _network(data: Data) -> str:
    place = f"{data.get('verdict')} {data.get('host')}:{data.get('port')}"
    if data.get("stage") == "ended":
        return f"{place}  {data.get('bytes_up', 0)} bytes out · {data.get('bytes_down', 0)} in"
    return f"{place}  {data.get('reason', '')}"


def _call(data: Data) -> str:
    words = (str(value) for value in data.get("arguments", {}).values() if isinstance(value, str))
    return f"{data.get('name')} {' '.join(words)}"


def _usage(data: Data) -> str:
    cost = data.get("cost_usd")
    paid = f" · {money(cost)}" if cost else ""
    return f"{data.get('input_tokens', 0)} tokens in · {data.get('output_tokens', 0)} out{paid}"


def _delta(data: Data) -> str:
    """Text as it is; reasoning and calls that are being written only by how long they are."""
    if data.get("delta_type") == "reasoning":
        return f"thinking  {count(len(data.get('text', '')))} characters"
    calls: Sequence[Data] = data.get("tool_calls") or ()
    if calls:
        return ", ".join(f"writing {one.get('name')}  {one.get('arguments_chars', 0)} characters" for one in calls)
    return str(data.get("text", ""))


def _question(data: Data) -> str:
    choices = data.get("choices") or ()
    return f"{data.get('question')}" + (f"  [{' | '.join(map(str, choices))}]" if choices else "")


def _answer(data: Data) -> str:
    given: Any = data.get("answers")
    answers = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    if len(answers) > 1:
        return ", ".join(f"{name}: {text}" for name, text in answers.items())
    return str(data.get("answer") or next(iter(answers.values()), ""))


def _message(data: Data) -> str:
    body: Data = data.get("body") or {}
    said = {
        "steer": body.get("text"),
        "answer": _answer(body),
        "cancel": body.get("reason"),
        "approve": body.get("decision"),
    }
    return f"{data.get('kind')}  {said.get(str(data.get('kind'))) or ''}"


def _moved(data: Data) -> str:
    reason = data.get("reason")
    return f"{data.get('from')} → {data.get('to')}" + (f"  {reason}" if reason else "")


def _asked(data: Data) -> str:
    risk: Data = data.get("risk") or {}
    level = f"{risk['level']} risk: " if risk.get("level") in ("medium", "high") else ""
    return f"{level}{data.get('summary') or data.get('tool')}"


def _decided(data: Data) -> str:
    """What was decided, by whom, and what they added to it."""
    who, reason, rule = data.get("decided_by"), data.get("reason"), cast("Data", data.get("rule") or {})
    parts = [
        str(data.get("decision")).replace("_", " "),
        f" by {who}" if who else "",
        f" ({reason})" if reason and not (who and reason in _BY_SOMEBODY) else "",
        f": {data['note']}" if data.get("note") else "",
        "; with other arguments" if data.get("arguments_blob") else "",
        f"; a rule was added ({rule.get('scope')})" if rule else "",
    ]
    return "".join(parts)


def _refused(data: Data) -> str:
    """Why a decision does not count; what changed is asked about anew."""
    if data.get("reason") == "changed" and data.get("call_id"):
        return "what was asked about has changed, so it is asked about again"
    return str(data.get("message") or data.get("reason"))


def _compacting(data: Data) -> str:
    return f"compacting the conversation ({data.get('reason')})"


def _not_compacted(data: Data) -> str:
    return f"no summary, an excerpt takes its place: {data.get('error')}"


def _compacted(data: Data) -> str:
    return f"compacted, {plural(int(data.get('kept_messages') or 0), 'message')} kept"


def _recovered(data: Data) -> str:
    return f"full: {data.get('decision')}"


def _child_begun(data: Data) -> str:
    return f"{data.get('child_run_id')} begins: {data.get('message')}"


def _child_ended(data: Data) -> str:
    tokens = int(data.get("input_tokens") or 0) + int(data.get("output_tokens") or 0)
    return f"{data.get('child_run_id')} is {data.get('status')} · {count(tokens)} tokens"


def _history(data: Data) -> str:
    messages, runs = len(data.get("messages") or ()), len(data.get("runs") or ())
    return f"{plural(messages, 'message')} of {plural(runs, 'earlier run')}"


def _images(data: Data) -> str:
    images: Sequence[Data] = data.get("images") or ()
    return ", ".join(str(one.get("name", "")) for one in images)


def _offered(data: Data) -> str:
    return f"{plural(int(data.get('offered') or 0), 'skill')} offered"


def _routed(data: Data) -> str:
    choices: Sequence[Data] = data.get("choices") or ()
    return f"{data.get('decided_by', 'model')}  {', '.join(str(one.get('mention', '')) for one in choices)}"


def _retry(data: Data) -> str:
    tries = f"{data.get('attempt')} of {data.get('max_retries')}"
    return f"{data.get('error_kind')}: again in {duration(data.get('delay_ms') or 0)} ({tries})"


_WORDS: Mapping[str, Callable[[Data], str]] = MappingProxyType(
    {
        "tool_call_finished": _result,
        "file_operation": _file_operation,
        "network_decision": _network,
        "tool_call_requested": _call,
        "llm_usage": _usage,
        "llm_response_delta": _delta,
        "llm_retry_scheduled": _retry,
        "human_request": _question,
        "human_response": _answer,
        "inbox_received": _message,
        "run_state_changed": _moved,
        "approval_requested": _asked,
        "approval_decided": _decided,
        "approval_refused": _refused,
        "compaction_started": _compacting,
        "compaction_failed": _not_compacted,
        "context_compacted": _compacted,
        "context_recovery_decided": _recovered,
        "child_run_started": _child_begun,
        "child_run_finished": _child_ended,
        "history_loaded": _history,
        "images_attached": _images,
        "skill_catalog_offered": _offered,
        "skill_routed": _routed,
    }
)


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
        step = Step(number=number_of(event.step_id) or len(self.all) + 1, tool=readable_line(tool), subject=subject)
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
        step.outcome = f"exit {code}" if code else readable_line(str(result.get("error_kind") or "failed"))
        first = str(result.get("stderr") or "").strip().partition("\n")[0]
        step.reason = readable_line(first)[:_SUBJECT_CHARS]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _subject(arguments: Mapping[str, Any]) -> str:
    """What a call is about: what it asks, or its first argument that is text or a command line."""
    for value in (arguments.get("question"), *arguments.values()):
        words = cast(list[object], value) if isinstance(value, list) else [value]
        if words and all(isinstance(word, str) for word in words):
            return readable_line(" ".join(map(str, words)))[:_SUBJECT_CHARS]
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
