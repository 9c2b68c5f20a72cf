"""The log as prose: the same events always give the same bytes.

Shows what events show: digests and sizes where contents are hidden, never the contents.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    HumanRequest,
    HumanResponse,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    LogRepaired,
    RunAdopted,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunFailed,
    RunStarted,
    RunStateChanged,
    RunWaitingHuman,
    SkillCatalogOffered,
    SkillInjected,
    SkillInjectionSkipped,
    SkillRouted,
    SkillUnloaded,
    ToolCallFinished,
    ToolCallRequested,
)
from skills_runtime.projections.conversation import CLOSING
from skills_runtime.projections.skill_notes import skill_note

SHOWN = frozenset(
    {
        ApprovalDecided, ApprovalRefused, ApprovalRequested, HumanRequest, HumanResponse, LlmRequestStarted,
        LlmResponseDelta, LlmResponseFinished, LogRepaired, RunAdopted, RunCancelled, RunCompleted, RunCreated,
        RunFailed, RunStarted, RunStateChanged, RunWaitingHuman, SkillCatalogOffered, SkillInjected,
        SkillInjectionSkipped, SkillRouted, SkillUnloaded, ToolCallFinished, ToolCallRequested, *CLOSING,
    }
)  # fmt: skip
"""The payloads that leave a trace in a transcript."""

_FENCES = re.compile(r"`{3,}")


class Transcript(msgspec.Struct):
    """Turns each event into the text it adds; remembers only the answer still coming in."""

    coming: list[str] = []
    coming_calls: list[str] = []

    def take(self, event: Event) -> str:
        """The text this event adds to the transcript, often none."""
        if type(event.payload) not in SHOWN:
            return ""
        if isinstance(event.payload, CLOSING) and (self.coming or self.coming_calls):
            return self._answer(event) + _rest(event)
        match event.payload:
            case RunCreated() as born:
                return _front_matter(event, born)
            case RunStarted(task=task):
                return _entry(event, "user", task)
            case LlmRequestStarted():
                self.coming, self.coming_calls = [], []
            case LlmResponseDelta(delta_type="text", text=text):
                self.coming.append(text)
            case ToolCallRequested(name=name, arguments=arguments, call_id=call_id):
                self.coming_calls.append(_entry(event, f"tool {name}", _json(arguments), note=f"call {call_id}"))
            case LlmResponseFinished():
                return self._answer(event)
            case _:
                return _rest(event)
        return ""

    def _answer(self, event: Event) -> str:
        text, calls = "".join(self.coming), self.coming_calls
        self.coming, self.coming_calls = [], []
        return (_entry(event, "assistant", text) if text else "") + "".join(calls)


def render(events: Iterable[Event]) -> Iterator[str]:
    """The transcript of a log, piece by piece."""
    transcript = Transcript()
    for event in events:
        text = transcript.take(event)
        if text:
            yield text


def _rest(event: Event) -> str:
    match event.payload:
        case ToolCallFinished(tool=tool, result=result, call_id=call_id):
            return _entry(event, f"tool {tool}", _json(result), note=f"result of {call_id}")
        case ApprovalRequested() as asked:
            return _entry(event, "approval", _asked(asked), note="requested")
        case ApprovalDecided() as decided:
            return _entry(event, "approval", _decided(decided), note="decided")
        case ApprovalRefused(reason=reason, message=message):
            return _entry(event, "approval", f"{reason}: {message}" if message else reason, note="refused")
        case HumanRequest(question=question):
            return _entry(event, "assistant", question, note="question")
        case HumanResponse(answer=answer):
            return _entry(event, "user", answer, note="answer")
        case _:
            text = _system(event)
            return _entry(event, "system", text) if text else ""


def _asked(asked: ApprovalRequested) -> str:
    risk = [asked.risk[name] for name in ("level", "reason", "part") if asked.risk.get(name)]
    facts = {"asked by": asked.rule, "risk": ": ".join(risk), "id": asked.approval_id}
    return _with_facts(asked.summary or asked.tool, facts)


def _decided(decided: ApprovalDecided) -> str:
    what = f"{decided.decision} ({decided.reason})" if decided.reason else decided.decision
    rule = decided.rule
    facts = {
        "by": decided.decided_by,
        "note": decided.note,
        "arguments": "changed by the approver" if decided.arguments_blob else "",
        "id": decided.approval_id,
        "rule": f"added ({rule.get('scope', '')})\n{rule.get('text', '')}".rstrip() if rule else "",
    }
    return _with_facts(what, facts)


def _with_facts(text: str, facts: Mapping[str, str]) -> str:
    return "\n".join([text, *(f"{label}: {fact}" for label, fact in facts.items() if fact)])


def _system(event: Event) -> str:
    match event.payload:
        case RunStateChanged(before=before, after=after, reason=reason):
            return f"{before} -> {after}" + (f": {reason}" if reason else "")
        case RunWaitingHuman(message=message):
            return f"waiting for a person: {message}"
        case LogRepaired(reason=reason, removed=removed):
            return f"{removed.size} bytes after the last verified line were set aside ({reason})"
        case RunAdopted(previous_key_id=previous, key_id=key_id):
            return f"adopted: signed with key {previous} before, {key_id} from here on"
        case RunCompleted():
            return "completed"
        case RunFailed(error_kind=kind, message=message):
            return f"failed ({kind}): {message}"
        case RunCancelled(message=message):
            return f"cancelled: {message}"
        case payload:
            return skill_note(payload)


def _front_matter(event: Event, born: RunCreated) -> str:
    return (
        f"---\nschema: kgent.transcript/v1\nrun_id: {event.run_id}\nsession_id: {born.session_id}\n"
        f"task_id: {born.task_id}\nprofile_id: {json.dumps(born.profile_id)}\ncreated_at: {event.timestamp}\n---\n"
    )


def _entry(event: Event, heading: str, text: str, *, note: str = "") -> str:
    longest = max((len(run) for run in _FENCES.findall(text)), default=0) if "```" in text else 0
    fence = "`" * max(3, 1 + longest)
    title = _one_line(f"{heading} ({note})" if note else heading)
    return f"\n<!-- event:{event.seq} -->\n## {title}\n\n{fence}text\n{text}\n{fence}\n"


def _one_line(text: str) -> str:
    """A heading stays a heading, whatever a model named its tool."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else "?" for char in text)
    return text[:200]


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode()
