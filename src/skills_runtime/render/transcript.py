"""The log as prose: the same events always give the same bytes.

Shows what events show: digests and sizes where contents are hidden, never the contents. A transcript on disk is
compared with what this module writes, so a change of its texts needs another `SCHEMA`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.events import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    BudgetIncreased,
    ChildRunFinished,
    ChildRunStarted,
    CompactionFailed,
    ContextCompacted,
    ContextRecoveryDecided,
    EnvVarRequired,
    EnvVarSet,
    Event,
    HistoryLoaded,
    HumanRequest,
    HumanResponse,
    ImagesAttached,
    InboxReceived,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    LogRepaired,
    OutputRejected,
    Payload,
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
from skills_runtime.projections import CLOSING
from skills_runtime.render.skill_notes import skill_note
from skills_runtime.text import printable

SCHEMA = "kgent.transcript/v2"
MAX_HEADING = 200

Teller = Callable[[Event, Any], str]
"""Gives the text that an event with such a payload adds, which may be none."""

_FENCES = re.compile(r"`{3,}")


def render_transcript(events: Iterable[Event]) -> Iterator[str]:
    """The transcript of a log, piece by piece."""
    transcript = Transcript()
    for event in events:
        text = transcript.take(event)
        if text:
            yield text


class Transcript(msgspec.Struct):
    """Turns each event into the text it adds; remembers only the task, and the answer still coming in."""

    coming: list[str] = []
    coming_calls: list[str] = []
    task: str | None = None

    def take(self, event: Event) -> str:
        """The text this event adds to the transcript, often none."""
        payload = event.payload
        kind = type(payload)
        follow = _FOLLOWED.get(kind)
        if follow is not None:
            return follow(self, event, payload)
        tell = TELLERS.get(kind)
        text = tell(event, payload) if tell is not None else ""
        if (self.coming or self.coming_calls) and isinstance(payload, CLOSING):
            return self.answer(event) + text
        return text

    def answer(self, event: Event) -> str:
        """What has come in, which is complete now."""
        text, calls = "".join(self.coming), self.coming_calls
        self.coming, self.coming_calls = [], []
        return (_entry(event, "assistant", text) if text else "") + "".join(calls)


def _started(transcript: Transcript, event: Event, payload: RunStarted) -> str:
    again, transcript.task = payload.task == transcript.task, payload.task
    return _entry(event, "system", "resumed") if again else _entry(event, "user", payload.task)


def _asked(transcript: Transcript, event: Event, payload: LlmRequestStarted) -> str:
    transcript.coming, transcript.coming_calls = [], []
    return ""


def _delta(transcript: Transcript, event: Event, payload: LlmResponseDelta) -> str:
    if payload.delta_type == "text":
        transcript.coming.append(payload.text)
    return ""


def _called(transcript: Transcript, event: Event, payload: ToolCallRequested) -> str:
    transcript.coming_calls.append(_call(event, payload))
    return ""


def _answered(transcript: Transcript, event: Event, payload: LlmResponseFinished) -> str:
    return transcript.answer(event)


_FOLLOWED: Mapping[type, Callable[[Transcript, Event, Any], str]] = {
    RunStarted: _started,
    LlmRequestStarted: _asked,
    LlmResponseDelta: _delta,
    ToolCallRequested: _called,
    LlmResponseFinished: _answered,
}
"""Those whose meaning depends on what came before."""


def _entry(event: Event, heading: str, text: str, *, note: str = "") -> str:
    """An entry of a transcript, which nothing in its text can end."""
    longest = max((len(run) for run in _FENCES.findall(text)), default=0) if "```" in text else 0
    fence = "`" * max(3, 1 + longest)
    # A heading stays one, whatever a model named its tool.
    title = printable(f"{heading} ({note})" if note else heading, replacement="?")[:MAX_HEADING]
    return f"\n<!-- event:{event.seq} -->\n## {title}\n\n{fence}text\n{text}\n{fence}\n"


def _system(words: Callable[[Any], str], *, note: str = "") -> Teller:
    """Tells in these words what the runtime did; nothing where there are none."""

    def tell(event: Event, payload: Payload) -> str:
        text = words(payload)
        return _entry(event, "system", text, note=note) if text else ""

    return tell


def _with_facts(text: str, facts: Mapping[str, str]) -> str:
    """Text, and below it the facts that there are, a line each."""
    return "\n".join([text, *(f"{label}: {fact}" for label, fact in facts.items() if fact)])


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode()


def _created(event: Event, created: RunCreated) -> str:
    facts: dict[str, Any] = {"parent_run_id": created.parent_run_id} if created.parent_run_id else {}
    if created.fork:
        facts |= {"forked_from": created.fork.run_id, "forked_after_event": created.fork.seq}
    return (
        f"---\nschema: {SCHEMA}\nrun_id: {event.run_id}\n"
        f"session_id: {created.session_id}\ntask_id: {created.task_id}\nprofile_id: {json.dumps(created.profile_id)}\n"
        f"{''.join(f'{name}: {json.dumps(value)}{chr(10)}' for name, value in facts.items())}"
        f"created_at: {event.timestamp}\n---\n"
    )


def _call(event: Event, asked: ToolCallRequested) -> str:
    """A call that the model asks for."""
    return _entry(event, f"tool {asked.name}", _json(asked.arguments), note=f"call {asked.call_id}")


def _message(event: Event, received: InboxReceived) -> str:
    """What somebody said to the run at work; of other messages their outcome is told, and nothing else counts."""
    if received.kind != "steer":
        return ""
    note = "review" if received.body.get("review") else "message"
    return _entry(event, "user", str(received.body.get("text", "")), note=note)


def _history(event: Event, loaded: HistoryLoaded) -> str:
    return "".join(
        _entry(
            event,
            "assistant" if message.get("role") == "assistant" else "user",
            message.get("content", ""),
            note="earlier",
        )
        for message in loaded.messages
    )


def _pictures(event: Event, attached: ImagesAttached) -> str:
    names = (f"{image.get('name', '')} ({image.get('media_type', '')})".strip() for image in attached.images)
    return _entry(event, "user", "\n".join(names), note="pictures")


def _question(event: Event, request: HumanRequest) -> str:
    only = {"question": request.question, "choices": request.choices, "context": request.context}
    texts: list[str] = []
    for one in request.questions or [only]:
        choices = one.get("choices")
        labels = [
            str(cast("Mapping[str, Any]", choice).get("label", "")) if isinstance(choice, dict) else str(choice)
            for choice in (cast("list[Any]", choices) if isinstance(choices, list) else [])
        ]
        facts = {"context": str(one.get("context", "")), "choices": " | ".join(labels)}
        texts.append(_with_facts(str(one.get("question", "")), facts))
    return _entry(event, "assistant", "\n".join(texts), note="question")


def _reply(event: Event, response: HumanResponse) -> str:
    several = [f"{name}: {answer}" for name, answer in response.answers.items()] if len(response.answers) > 1 else []
    only = response.answer or next(iter(response.answers.values()), "")
    return _entry(event, "user", "\n".join(several) or only, note="answer")


def _approval_requested(event: Event, asked: ApprovalRequested) -> str:
    risk = [asked.risk[name] for name in ("level", "reason", "part") if asked.risk.get(name)]
    facts = {"asked by": asked.rule, "risk": ": ".join(risk), "id": asked.approval_id}
    return _entry(event, "approval", _with_facts(asked.summary or asked.tool, facts), note="requested")


def _approval_decided(event: Event, decided: ApprovalDecided) -> str:
    what = f"{decided.decision} ({decided.reason})" if decided.reason else decided.decision
    rule = decided.rule
    facts = {
        "by": decided.decided_by,
        "note": decided.note,
        "arguments": "changed by the approver" if decided.arguments_blob else "",
        "id": decided.approval_id,
        "rule": f"added ({rule.get('scope', '')})\n{rule.get('text', '')}".rstrip() if rule else "",
    }
    return _entry(event, "approval", _with_facts(what, facts), note="decided")


def _approval_refused(event: Event, refused: ApprovalRefused) -> str:
    text = f"{refused.reason}: {refused.message}" if refused.message else refused.reason
    return _entry(event, "approval", text, note="refused")


def _compacted(compacted: ContextCompacted) -> str:
    facts = {"reason": compacted.reason, "skills left out": ", ".join(compacted.skills_left_out)}
    return f"{_with_facts('older messages were replaced by a summary', facts)}\n\n{compacted.summary}"


def _more_room(more: BudgetIncreased) -> str:
    facts = {"steps": more.extra_steps, "seconds": more.extra_wall_time_sec}
    return _with_facts(f"more room: {more.reason}", {name: str(count) for name, count in facts.items() if count})


def _needed(needed: EnvVarRequired) -> str:
    who = f"the skill `{needed.skill_name}`" if needed.skill_name else "a skill"
    return f"{who} needs the variable `{needed.env_var}`"


def _completed(done: RunCompleted) -> str:
    """A run that hands its work on ends with a summary, which is no answer of its conversation."""
    handed_on = f": another run can go on from here\n\n{done.final_output}" if done.metadata.get("handoff") else ""
    return f"completed{handed_on}"


TELLERS: Mapping[type, Teller] = {
    RunCreated: _created,
    ToolCallFinished: lambda event, done: _entry(
        event, f"tool {done.tool}", _json(done.result), note=f"result of {done.call_id}"
    ),
    ApprovalRequested: _approval_requested,
    ApprovalDecided: _approval_decided,
    ApprovalRefused: _approval_refused,
    InboxReceived: _message,
    HistoryLoaded: _history,
    ImagesAttached: _pictures,
    HumanRequest: _question,
    HumanResponse: _reply,
    OutputRejected: _system(lambda rejected: rejected.message, note="correction"),
    ContextRecoveryDecided: _system(lambda decided: f"the conversation has no room any more: {decided.decision}"),
    CompactionFailed: _system(lambda failed: f"the model gave no summary: {failed.error}", note="compaction"),
    ContextCompacted: _system(_compacted, note="compaction"),
    BudgetIncreased: _system(_more_room),
    ChildRunStarted: _system(
        lambda child: _with_facts(
            f"`{child.child_run_id}` began", {"profile": child.profile_id, "task": child.message}
        ),
        note="child run",
    ),
    ChildRunFinished: _system(lambda child: f"`{child.child_run_id}`: {child.status}", note="child run"),
    EnvVarRequired: _system(_needed),
    EnvVarSet: _system(lambda given: f"the variable `{given.env_var}` was given"),
    RunStateChanged: _system(
        lambda move: f"{move.before} -> {move.after}" + (f": {move.reason}" if move.reason else "")
    ),
    RunWaitingHuman: _system(lambda waiting: f"waiting for a person: {waiting.message}"),
    LogRepaired: _system(
        lambda repair: f"{repair.removed.size} bytes after the last verified line were set aside ({repair.reason})"
    ),
    RunAdopted: _system(
        lambda adopted: f"adopted: signed with key {adopted.previous_key_id} before, {adopted.key_id} from here on"
    ),
    RunCompleted: _system(_completed),
    RunFailed: _system(lambda failed: f"failed ({failed.error_kind}): {failed.message}"),
    RunCancelled: _system(lambda cancelled: f"cancelled: {cancelled.message}"),
    SkillCatalogOffered: _system(lambda news: "\n\n".join(filter(None, (skill_note(news), news.text)))),
    **dict.fromkeys((SkillInjected, SkillInjectionSkipped, SkillRouted, SkillUnloaded), _system(skill_note)),
}
"""What is told besides answers; the rest is of interest to programs, or told by the call that it belongs to."""
