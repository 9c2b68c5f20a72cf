"""The entries of a transcript: what each event adds by the rules of version 1.

Pure. Transcripts on disk are held against these rules, so what they write never changes:
a later version has others.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    HumanRequest,
    HumanResponse,
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
from skills_runtime.projections.skill_notes import skill_note

Teller = Callable[[Event, Any], str]
"""Gives the text that an event with such a payload adds, which may be none."""

_FENCES = re.compile(r"`{3,}")


def entry(event: Event, heading: str, text: str, *, note: str = "") -> str:
    """An entry of a transcript, which nothing in its text can end."""
    longest = max((len(run) for run in _FENCES.findall(text)), default=0) if "```" in text else 0
    fence = "`" * max(3, 1 + longest)
    title = _one_line(f"{heading} ({note})" if note else heading)
    return f"\n<!-- event:{event.seq} -->\n## {title}\n\n{fence}text\n{text}\n{fence}\n"


def system(words: Callable[[Any], str], *, note: str = "") -> Teller:
    """Tells in these words what the runtime did; nothing where there are none."""

    def tell(event: Event, payload: Payload) -> str:
        text = words(payload)
        return entry(event, "system", text, note=note) if text else ""

    return tell


def with_facts(text: str, facts: Mapping[str, str]) -> str:
    """Text, and below it the facts that there are, a line each."""
    return "\n".join([text, *(f"{label}: {fact}" for label, fact in facts.items() if fact)])


def opening(version: int) -> str:
    """How a transcript begins that follows the rules of this version."""
    return f"---\nschema: kgent.transcript/v{version}\n"


def front_matter(version: int, event: Event, born: RunCreated, more: Mapping[str, Any] | None = None) -> str:
    """The rules that a transcript follows, and the ids of its run."""
    added = "".join(f"{name}: {json.dumps(value)}\n" for name, value in (more or {}).items())
    return (
        f"{opening(version)}run_id: {event.run_id}\nsession_id: {born.session_id}\ntask_id: {born.task_id}\n"
        f"profile_id: {json.dumps(born.profile_id)}\n{added}created_at: {event.timestamp}\n---\n"
    )


def task(event: Event, started: RunStarted) -> str:
    """What the run is asked to do."""
    return entry(event, "user", started.task)


def call(event: Event, asked: ToolCallRequested) -> str:
    """A call that the model asks for."""
    return entry(event, f"tool {asked.name}", _json(asked.arguments), note=f"call {asked.call_id}")


def _result(event: Event, done: ToolCallFinished) -> str:
    return entry(event, f"tool {done.tool}", _json(done.result), note=f"result of {done.call_id}")


def _asked(event: Event, asked: ApprovalRequested) -> str:
    risk = [asked.risk[name] for name in ("level", "reason", "part") if asked.risk.get(name)]
    facts = {"asked by": asked.rule, "risk": ": ".join(risk), "id": asked.approval_id}
    return entry(event, "approval", with_facts(asked.summary or asked.tool, facts), note="requested")


def _decided(event: Event, decided: ApprovalDecided) -> str:
    what = f"{decided.decision} ({decided.reason})" if decided.reason else decided.decision
    rule = decided.rule
    facts = {
        "by": decided.decided_by,
        "note": decided.note,
        "arguments": "changed by the approver" if decided.arguments_blob else "",
        "id": decided.approval_id,
        "rule": f"added ({rule.get('scope', '')})\n{rule.get('text', '')}".rstrip() if rule else "",
    }
    return entry(event, "approval", with_facts(what, facts), note="decided")


def _refused(event: Event, refused: ApprovalRefused) -> str:
    text = f"{refused.reason}: {refused.message}" if refused.message else refused.reason
    return entry(event, "approval", text, note="refused")


def _question(event: Event, asked: HumanRequest) -> str:
    return entry(event, "assistant", asked.question, note="question")


def _reply(event: Event, said: HumanResponse) -> str:
    return entry(event, "user", said.answer, note="answer")


def _moved(move: RunStateChanged) -> str:
    return f"{move.before} -> {move.after}" + (f": {move.reason}" if move.reason else "")


def _repaired(repair: LogRepaired) -> str:
    return f"{repair.removed.size} bytes after the last verified line were set aside ({repair.reason})"


def _adopted(adopted: RunAdopted) -> str:
    return f"adopted: signed with key {adopted.previous_key_id} before, {adopted.key_id} from here on"


FIRST: Mapping[type, Teller] = {
    RunCreated: lambda event, born: front_matter(1, event, born),
    RunStarted: task,
    ToolCallFinished: _result,
    ApprovalRequested: _asked,
    ApprovalDecided: _decided,
    ApprovalRefused: _refused,
    HumanRequest: _question,
    HumanResponse: _reply,
    RunStateChanged: system(_moved),
    RunWaitingHuman: system(lambda waiting: f"waiting for a person: {waiting.message}"),
    LogRepaired: system(_repaired),
    RunAdopted: system(_adopted),
    RunCompleted: system(lambda done: "completed"),
    RunFailed: system(lambda failed: f"failed ({failed.error_kind}): {failed.message}"),
    RunCancelled: system(lambda cancelled: f"cancelled: {cancelled.message}"),
    **dict.fromkeys(
        (SkillCatalogOffered, SkillInjected, SkillInjectionSkipped, SkillRouted, SkillUnloaded), system(skill_note)
    ),
}
"""What version 1 tells of, besides the answers of the model."""


def _one_line(text: str) -> str:
    """A heading stays a heading, whatever a model named its tool."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else "?" for char in text)
    return text[:200]


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode()
