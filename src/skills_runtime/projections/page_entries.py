"""What happened in a run, one entry after another, as its page tells it.

Pure.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    ChildRunFinished,
    ChildRunStarted,
    ContextCompacted,
    HumanRequest,
    HumanResponse,
    InboxReceived,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    OutputRejected,
    PlanUpdated,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    RunStateChanged,
    ToolCallFinished,
    ToolCallRequested,
)
from skills_runtime.projections.page_words import Words
from skills_runtime.projections.skill_notes import skill_note


class Entry(NamedTuple):
    """One thing that happened."""

    kind: str
    seq: int
    time: str
    heading: str
    body: str | Mapping[str, Any]


def entries_of(events: Iterable[Event], words: Words) -> Iterator[Entry]:
    """The entries of a log, in order; an answer is one entry, however many pieces it came in."""
    coming: list[str] = []
    for event in events:
        match event.payload:
            case LlmRequestStarted():
                coming = []
            case LlmResponseDelta(delta_type="text", text=text):
                coming.append(text)
            case LlmResponseFinished():
                if said := "".join(coming).strip():
                    yield _entry("answer", event, words.answer, said)
                coming = []
            case payload:
                told = _told(payload, words)
                if told is not None:
                    kind, heading, body = told
                    yield _entry(kind, event, heading, body)


def _entry(kind: str, event: Event, heading: str, body: str | Mapping[str, Any]) -> Entry:
    return Entry(kind, event.seq, event.timestamp, heading, body)


def _told(payload: Payload, words: Words) -> tuple[str, str, str | Mapping[str, Any]] | None:
    match payload:
        case RunStarted(task=task, resume=resume) if not resume.get("enabled"):
            return "task", words.task, task
        case ToolCallRequested(name=name, arguments=arguments):
            return "call", f"{words.call} {name}", arguments
        case ToolCallFinished(tool=tool, result=result):
            return ("outcome" if result.get("ok") else "failed"), f"{words.outcome} {tool}", result
        case PlanUpdated(plan=plan):
            return "plan", words.plan, "\n".join(f"[{one.get('status', '')}] {one.get('step', '')}" for one in plan)
        case _:
            return _of_people(payload, words) or _of_run(payload, words)


def _of_people(payload: Payload, words: Words) -> tuple[str, str, str | Mapping[str, Any]] | None:
    match payload:
        case ApprovalRequested(tool=tool, summary=summary, rule=rule, risk=risk):
            facts = [summary, rule, " · ".join(filter(None, risk.values()))]
            return "approval", f"{words.asked} {tool}", "\n".join(filter(None, facts))
        case ApprovalDecided(decision=decision, decided_by=who, note=note):
            return "approval", words.decided, "\n".join(filter(None, (decision, who, note)))
        case ApprovalRefused(reason=reason, message=message):
            return "approval", words.void, "\n".join(filter(None, (reason, message)))
        case HumanRequest(question=question):
            return "approval", words.question, question
        case HumanResponse(answer=answer, answers=answers):
            return "approval", words.reply, answer or answers
        case InboxReceived(kind="steer", body=body):
            return "task", words.message, str(body.get("text", ""))
        case _:
            return None


def _of_run(payload: Payload, words: Words) -> tuple[str, str, str] | None:
    match payload:
        case RunStateChanged(before=before, after=after, reason=reason):
            return "state", words.state, f"{before} → {after}" + (f": {reason}" if reason else "")
        case RunFailed(error_kind=kind, message=message):
            return "failed", words.failed, f"{kind}: {message}"
        case RunCancelled(message=message):
            return "failed", words.statuses["cancelled"], message
        case RunCompleted(final_output=output):
            return "answer", words.statuses["completed"], output
        case OutputRejected(message=message):
            return "state", words.correction, message
        case ContextCompacted(summary=summary):
            return "state", words.summary, summary
        case ChildRunStarted(child_run_id=child, message=message):
            return "call", f"{words.child} {child}", message
        case ChildRunFinished(child_run_id=child, status=status):
            return "outcome", f"{words.child} {child}", words.statuses.get(status, status)
        case _:
            note = skill_note(payload)
            return ("skill", words.skill, note) if note else None
