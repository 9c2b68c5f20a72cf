"""Render a log as a Markdown transcript; the same events always give the same bytes.

Shows only what events contain: digests and sizes instead of hidden contents. A transcript on disk is compared with what
this module writes, so changing its texts needs another `SCHEMA`.
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
MAX_HEADING_CHARS = 200

Renderer = Callable[[Event, Any], str]
"""Returns the text that an event adds, possibly empty."""

_FENCES = re.compile(r"`{3,}")


def render_transcript(events: Iterable[Event]) -> Iterator[str]:
    """Yield the transcript of a log in chunks."""
    transcript = Transcript()
    for event in events:
        text = transcript.render(event)
        if text:
            yield text


class Transcript(msgspec.Struct):
    """Render events one by one; keeps only the task and the unfinished answer."""

    answer_parts: list[str] = []
    pending_calls: list[str] = []
    task: str | None = None

    def render(self, event: Event) -> str:
        """Return the text that an event adds, often empty."""
        payload = event.payload
        kind = type(payload)
        follow = _STATEFUL.get(kind)
        if follow is not None:
            return follow(self, event, payload)
        tell = RENDERERS.get(kind)
        text = tell(event, payload) if tell is not None else ""
        if (self.answer_parts or self.pending_calls) and isinstance(payload, CLOSING):
            return self.finish_answer(event) + text
        return text

    def finish_answer(self, event: Event) -> str:
        """Return the finished answer and its calls."""
        text, calls = "".join(self.answer_parts), self.pending_calls
        self.answer_parts, self.pending_calls = [], []
        return (_entry(event, "assistant", text) if text else "") + "".join(calls)


def _start_run(transcript: Transcript, event: Event, payload: RunStarted) -> str:
    again, transcript.task = payload.task == transcript.task, payload.task
    return _entry(event, "system", "resumed") if again else _entry(event, "user", payload.task)


def _start_answer(transcript: Transcript, event: Event, payload: LlmRequestStarted) -> str:
    transcript.answer_parts, transcript.pending_calls = [], []
    return ""


def _add_delta(transcript: Transcript, event: Event, payload: LlmResponseDelta) -> str:
    if payload.delta_type == "text":
        transcript.answer_parts.append(payload.text)
    return ""


def _add_call(transcript: Transcript, event: Event, payload: ToolCallRequested) -> str:
    transcript.pending_calls.append(_render_call(event, payload))
    return ""


def _finish_answer(transcript: Transcript, event: Event, payload: LlmResponseFinished) -> str:
    return transcript.finish_answer(event)


_STATEFUL: Mapping[type, Callable[[Transcript, Event, Any], str]] = {
    RunStarted: _start_run,
    LlmRequestStarted: _start_answer,
    LlmResponseDelta: _add_delta,
    ToolCallRequested: _add_call,
    LlmResponseFinished: _finish_answer,
}
"""Renderers that depend on earlier events."""


def _entry(event: Event, heading: str, text: str, *, note: str = "") -> str:
    """Render an entry; its code fence is longer than any in the text, so the text cannot close it."""
    longest = max((len(run) for run in _FENCES.findall(text)), default=0) if "```" in text else 0
    fence = "`" * max(3, 1 + longest)
    # The model chooses tool names: keep the heading on one line and short.
    title = printable(f"{heading} ({note})" if note else heading, replacement="?")[:MAX_HEADING_CHARS]
    return f"\n<!-- event:{event.seq} -->\n## {title}\n\n{fence}text\n{text}\n{fence}\n"


def _system_entry(describe: Callable[[Any], str], *, note: str = "") -> Renderer:
    """Create a renderer for a system entry; empty descriptions render nothing."""

    def tell(event: Event, payload: Payload) -> str:
        text = describe(payload)
        return _entry(event, "system", text, note=note) if text else ""

    return tell


def _with_facts(text: str, facts: Mapping[str, str]) -> str:
    """Append the non-empty facts to a text, one per line."""
    return "\n".join([text, *(f"{label}: {fact}" for label, fact in facts.items() if fact)])


def _format_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode()


def _render_header(event: Event, created: RunCreated) -> str:
    facts: dict[str, Any] = {"parent_run_id": created.parent_run_id} if created.parent_run_id else {}
    if created.fork:
        facts |= {"forked_from": created.fork.run_id, "forked_after_event": created.fork.seq}
    return (
        f"---\nschema: {SCHEMA}\nrun_id: {event.run_id}\n"
        f"session_id: {created.session_id}\ntask_id: {created.task_id}\nprofile_id: {json.dumps(created.profile_id)}\n"
        f"{''.join(f'{name}: {json.dumps(value)}{chr(10)}' for name, value in facts.items())}"
        f"created_at: {event.timestamp}\n---\n"
    )


def _render_call(event: Event, request: ToolCallRequested) -> str:
    return _entry(event, f"tool {request.name}", _format_json(request.arguments), note=f"call {request.call_id}")


def _render_message(event: Event, received: InboxReceived) -> str:
    """Render a message to the run; other kinds of messages have their own events."""
    if received.kind != "steer":
        return ""
    note = "review" if received.body.get("review") else "message"
    return _entry(event, "user", str(received.body.get("text", "")), note=note)


def _render_history(event: Event, loaded: HistoryLoaded) -> str:
    return "".join(
        _entry(
            event,
            "assistant" if message.get("role") == "assistant" else "user",
            message.get("content", ""),
            note="earlier",
        )
        for message in loaded.messages
    )


def _render_images(event: Event, attached: ImagesAttached) -> str:
    names = (f"{image.get('name', '')} ({image.get('media_type', '')})".strip() for image in attached.images)
    return _entry(event, "user", "\n".join(names), note="pictures")


def _render_question(event: Event, request: HumanRequest) -> str:
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


def _render_reply(event: Event, response: HumanResponse) -> str:
    several = [f"{name}: {answer}" for name, answer in response.answers.items()] if len(response.answers) > 1 else []
    only = response.answer or next(iter(response.answers.values()), "")
    return _entry(event, "user", "\n".join(several) or only, note="answer")


def _render_approval_request(event: Event, request: ApprovalRequested) -> str:
    risk = [request.risk[name] for name in ("level", "reason", "part") if request.risk.get(name)]
    facts = {"asked by": request.rule, "risk": ": ".join(risk), "id": request.approval_id}
    return _entry(event, "approval", _with_facts(request.summary or request.tool, facts), note="requested")


def _render_approval_decision(event: Event, decision: ApprovalDecided) -> str:
    outcome = f"{decision.decision} ({decision.reason})" if decision.reason else decision.decision
    rule = decision.rule
    facts = {
        "by": decision.decided_by,
        "note": decision.note,
        "arguments": "changed by the approver" if decision.arguments_blob else "",
        "id": decision.approval_id,
        "rule": f"added ({rule.get('scope', '')})\n{rule.get('text', '')}".rstrip() if rule else "",
    }
    return _entry(event, "approval", _with_facts(outcome, facts), note="decided")


def _render_approval_refusal(event: Event, refused: ApprovalRefused) -> str:
    text = f"{refused.reason}: {refused.message}" if refused.message else refused.reason
    return _entry(event, "approval", text, note="refused")


def _describe_compaction(compacted: ContextCompacted) -> str:
    facts = {"reason": compacted.reason, "skills left out": ", ".join(compacted.skills_left_out)}
    return f"{_with_facts('older messages were replaced by a summary', facts)}\n\n{compacted.summary}"


def _describe_budget(more: BudgetIncreased) -> str:
    facts = {"steps": more.extra_steps, "seconds": more.extra_wall_time_sec}
    return _with_facts(f"more room: {more.reason}", {name: str(count) for name, count in facts.items() if count})


def _describe_missing_variable(needed: EnvVarRequired) -> str:
    subject = f"the skill `{needed.skill_name}`" if needed.skill_name else "a skill"
    return f"{subject} needs the variable `{needed.env_var}`"


def _describe_completion(completion: RunCompleted) -> str:
    """Include the handoff summary, which is not part of the conversation."""
    handed_on = (
        f": another run can go on from here\n\n{completion.final_output}" if completion.metadata.get("handoff") else ""
    )
    return f"completed{handed_on}"


RENDERERS: Mapping[type, Renderer] = {
    RunCreated: _render_header,
    ToolCallFinished: lambda event, finished: _entry(
        event, f"tool {finished.tool}", _format_json(finished.result), note=f"result of {finished.call_id}"
    ),
    ApprovalRequested: _render_approval_request,
    ApprovalDecided: _render_approval_decision,
    ApprovalRefused: _render_approval_refusal,
    InboxReceived: _render_message,
    HistoryLoaded: _render_history,
    ImagesAttached: _render_images,
    HumanRequest: _render_question,
    HumanResponse: _render_reply,
    OutputRejected: _system_entry(lambda rejected: rejected.message, note="correction"),
    ContextRecoveryDecided: _system_entry(
        lambda decision: f"the conversation has no room any more: {decision.decision}"
    ),
    CompactionFailed: _system_entry(lambda failed: f"the model gave no summary: {failed.error}", note="compaction"),
    ContextCompacted: _system_entry(_describe_compaction, note="compaction"),
    BudgetIncreased: _system_entry(_describe_budget),
    ChildRunStarted: _system_entry(
        lambda child: _with_facts(
            f"`{child.child_run_id}` began", {"profile": child.profile_id, "task": child.message}
        ),
        note="child run",
    ),
    ChildRunFinished: _system_entry(lambda child: f"`{child.child_run_id}`: {child.status}", note="child run"),
    EnvVarRequired: _system_entry(_describe_missing_variable),
    EnvVarSet: _system_entry(lambda variable: f"the variable `{variable.env_var}` was given"),
    RunStateChanged: _system_entry(
        lambda move: f"{move.before} -> {move.after}" + (f": {move.reason}" if move.reason else "")
    ),
    RunWaitingHuman: _system_entry(lambda waiting: f"waiting for a person: {waiting.message}"),
    LogRepaired: _system_entry(
        lambda repair: f"{repair.removed.size} bytes after the last verified line were set aside ({repair.reason})"
    ),
    RunAdopted: _system_entry(
        lambda adopted: f"adopted: signed with key {adopted.previous_key_id} before, {adopted.key_id} from here on"
    ),
    RunCompleted: _system_entry(_describe_completion),
    RunFailed: _system_entry(lambda failed: f"failed ({failed.error_kind}): {failed.message}"),
    RunCancelled: _system_entry(lambda cancelled: f"cancelled: {cancelled.message}"),
    SkillCatalogOffered: _system_entry(lambda offer: "\n\n".join(filter(None, (skill_note(offer), offer.text)))),
    **dict.fromkeys((SkillInjected, SkillInjectionSkipped, SkillRouted, SkillUnloaded), _system_entry(skill_note)),
}
"""Renderers by payload type; other events are not part of the transcript."""
