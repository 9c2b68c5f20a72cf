"""A run in words: its events, its steps, what it waits for and the commands that let it go on."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, cast

import msgspec
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.output import count, cut, duration, labelled, money, plural, short_approval, spread
from skills_runtime.errors import EXIT_CODES
from skills_runtime.events import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    Event,
    HumanRequest,
    HumanResponse,
    RunStatus,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    Unknown,
    data_of,
)
from skills_runtime.projections import Pending, PendingQuestion, RunState, parse_number
from skills_runtime.render import skill_note
from skills_runtime.text import readable_line

Data = Mapping[str, Any]

_TELLING = (
    "message", "failure_reason", "final_output", "task", "text", "question", "answer", "summary", "decision",
    "model", "finish_reason", "name", "tool", "path", "to", "workspace_mode", "profile_id", "skill_name", "reason",
)  # fmt: skip
"""Fields of payloads in the order of how much they tell."""
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
_EXIT_CODES: Mapping[RunStatus, int] = MappingProxyType(
    {
        RunStatus.COMPLETED: 0,
        RunStatus.CANCELLED: EXIT_CODES["cancelled"],
        RunStatus.WAITING_FOR_TOOL: EXIT_CODES["human_required"],
        RunStatus.WAITING_FOR_USER: EXIT_CODES["human_required"],
        RunStatus.REVIEW_REQUIRED: EXIT_CODES["human_required"],
        RunStatus.REVISION_REQUIRED: EXIT_CODES["human_required"],
    }
)
THEN = "then"
"""The label of a command that follows the one before it."""
_SETTING = re.compile(r"`(run\.\w+)`")


def told(event: Event) -> str:
    """The one thing worth knowing about an event, on one line."""
    known = not isinstance(event.payload, Unknown)  # a type of ours in a shape of another version is not interpreted
    word = _WORDS.get(event.type, _most_telling) if known else _most_telling
    words = skill_note(event.payload) or word(data_of(event.payload))
    return cut(readable_line(words[:_TEXT_CHARS]), _CELLS)


def note_of(event: Event) -> str | None:
    """The line an event is worth while a run works, if any; steps, ends and decisions have lines of their own."""
    label, data = "skill" if skill_note(event.payload) else _NOTED.get(event.type), data_of(event.payload)
    if label is None or (event.type == "run_state_changed" and data.get("to") not in _REVIEW):
        return None
    if event.type == "inbox_received" and data.get("kind") == "approve":
        return None
    return f"{label}  {told(event)}"


def _most_telling(data: Data) -> str:
    return str(next((data[name] for name in _TELLING if data.get(name)), ""))


def _result(data: Data) -> str:
    result: Data = data.get("result") or {}
    outcome = "ok" if result.get("ok") else str(result.get("error_kind") or "failed")
    took = result.get("duration_ms")
    return f"{data.get('tool')}  {outcome}  {duration(took if isinstance(took, int | float) else 0)}"


def _network(data: Data) -> str:
    host = f"{data.get('verdict')} {data.get('host')}:{data.get('port')}"
    if data.get("stage") == "ended":
        return f"{host}  {data.get('bytes_up', 0)} bytes out · {data.get('bytes_down', 0)} in"
    return f"{host}  {data.get('reason', '')}"


def _delta(data: Data) -> str:
    """Text as it is; reasoning and calls that are being written only by how long they are."""
    if data.get("delta_type") == "reasoning":
        return f"thinking  {count(len(data.get('text', '')))} characters"
    calls: Sequence[Data] = data.get("tool_calls") or ()
    if calls:
        return ", ".join(f"writing {call.get('name')}  {call.get('arguments_chars', 0)} characters" for call in calls)
    return str(data.get("text", ""))


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


def _request(data: Data) -> str:
    risk: Data = data.get("risk") or {}
    level = f"{risk['level']} risk: " if risk.get("level") in ("medium", "high") else ""
    return f"{level}{data.get('summary') or data.get('tool')}"


def _decision(data: Data) -> str:
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


def _refusal(data: Data) -> str:
    """Why a decision does not count; what changed is asked about anew."""
    if data.get("reason") == "changed" and data.get("call_id"):
        return "what was asked about has changed, so it is asked about again"
    return str(data.get("message") or data.get("reason"))


_WORDS: Mapping[str, Callable[[Data], str]] = MappingProxyType(
    {
        "approval_decided": _decision,
        "approval_refused": _refusal,
        "approval_requested": _request,
        "child_run_finished": lambda data: (
            f"{data.get('child_run_id')} is {data.get('status')} · "
            f"{count(int(data.get('input_tokens') or 0) + int(data.get('output_tokens') or 0))} tokens"
        ),
        "child_run_started": lambda data: f"{data.get('child_run_id')} begins: {data.get('message')}",
        "compaction_failed": lambda data: f"no summary, an excerpt takes its place: {data.get('error')}",
        "compaction_started": lambda data: f"compacting the conversation ({data.get('reason')})",
        "context_compacted": lambda data: f"compacted, {plural(int(data.get('kept_messages') or 0), 'message')} kept",
        "context_recovery_decided": lambda data: f"full: {data.get('decision')}",
        "file_operation": lambda data: (
            f"{data.get('op')} {data.get('path')}" + ("" if data.get("ok") else f"  {data.get('error')}")
        ),
        "history_loaded": lambda data: (
            f"{plural(len(data.get('messages') or ()), 'message')} of"
            f" {plural(len(data.get('runs') or ()), 'earlier run')}"
        ),
        "human_request": lambda data: (
            f"{data.get('question')}" + (f"  [{' | '.join(map(str, data['choices']))}]" if data.get("choices") else "")
        ),
        "human_response": _answer,
        "images_attached": lambda data: ", ".join(str(one.get("name", "")) for one in data.get("images") or ()),
        "inbox_received": _message,
        "llm_response_delta": _delta,
        "llm_retry_scheduled": lambda data: (
            f"{data.get('error_kind')}: again in {duration(data.get('delay_ms') or 0)}"
            f" ({data.get('attempt')} of {data.get('max_retries')})"
        ),
        "llm_usage": lambda data: (
            f"{data.get('input_tokens', 0)} tokens in · {data.get('output_tokens', 0)} out"
            + (f" · {money(data['cost_usd'])}" if data.get("cost_usd") else "")
        ),
        "network_decision": _network,
        "run_state_changed": lambda data: (
            f"{data.get('from')} → {data.get('to')}" + (f"  {data['reason']}" if data.get("reason") else "")
        ),
        "skill_catalog_offered": lambda data: f"{plural(int(data.get('offered') or 0), 'skill')} offered",
        "skill_routed": lambda data: (
            f"{data.get('decided_by', 'model')}  "
            + ", ".join(str(one.get("mention", "")) for one in data.get("choices") or ())
        ),
        "tool_call_finished": _result,
        "tool_call_requested": lambda data: " ".join(
            [str(data.get("name")), *(word for word in data.get("arguments", {}).values() if isinstance(word, str))]
        ),
    }
)
"""What each type of event says, where its most telling field is not enough."""


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

    def finish(self, result: Data) -> None:
        """Take in what came of it."""
        self.progress = "done" if result.get("ok") else "failed"
        took, code = result.get("duration_ms"), result.get("exit_code")
        self.milliseconds = float(took) if isinstance(took, int | float) else 0
        if self.progress == "failed":
            self.outcome = f"exit {code}" if code else readable_line(str(result.get("error_kind") or "failed"))
            first = str(result.get("stderr") or "").strip().partition("\n")[0]
            self.reason = readable_line(first)[:_SUBJECT_CHARS]


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
                self._by_call[call_id].finish(result)
            case _:
                pass

    def _add(self, event: Event, call_id: str, tool: str, subject: str = "") -> None:
        step = Step(number=parse_number(event.step_id) or len(self.all) + 1, tool=readable_line(tool), subject=subject)
        self.all.append(step)
        self._by_call[call_id] = step

    def of_call(self, call_id: str) -> Step | None:
        """The step of a call."""
        return self._by_call.get(call_id)


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


@dataclass(frozen=True, slots=True)
class CommandFor:
    """Command lines about the run in question, as people name it."""

    program: str
    reference: str

    def __call__(self, verb: str, subject: str | None = None) -> str:
        """The command line of a verb such as `runs resume`, for the run or for another subject."""
        return f"{self.program} {verb} {shlex.quote(subject or self.reference)}"


def exit_code_for(status: RunStatus) -> int:
    """What a process reports that leaves a run in this state."""
    return _EXIT_CODES.get(status, 1)


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is waited for: what it is, what may be answered, and how."""

    what: str
    choices: tuple[str, ...] = ()
    parts: Mapping[str, str] = {}
    """Several questions at once, by the name of each."""
    commands: Mapping[str, str] = {}

    def in_words(self) -> str:
        """The commands in one sentence: one after the other, or one of them."""
        words = ""
        for label, line in self.commands.items():
            joint = "" if not words else ", then " if label == THEN else " or "
            words += f"{joint}`{line}`"
        return words


def waits_of(
    state: RunState, pending: Pending, command: CommandFor, asked: Mapping[str, HumanRequest] | None = None
) -> list[Wait]:
    """Everything a run waits for; `asked` has the whole questions where somebody has read the log."""
    resume = {"go on": command("runs resume")}
    match state.status:
        case RunStatus.REVIEW_REQUIRED:
            revise = f"{command('runs review revise')} --note TEXT"
            return [Wait(what="a review", commands={"accept": command("runs review approve"), "send back": revise})]
        case RunStatus.REVISION_REQUIRED:
            return [Wait(what="to go on with the note of its review", commands=resume)]
        case RunStatus.WAITING_FOR_USER | RunStatus.RUNNING:
            several, whole = len(pending.questions) > 1, asked or {}
            waits = [
                *(
                    _question(question, command, whole.get(question.call_id), named=several)
                    for question in pending.questions.values()
                ),
            ]
            for approval in pending.approvals.open.values():
                what = f"an approval of {approval.summary or approval.tool}"
                if pending.approvals.find_decision(approval.approval_id) is not None:
                    waits.append(Wait(what=f"{what}, which is decided", commands=resume))
                else:
                    waits.append(Wait(what=what, commands=decision_commands(approval.approval_id, command)))
            if state.waiting_kind == "stopped":
                waits.append(Wait(what="somebody who goes on with it: it was stopped", commands=resume))
            if state.waiting_kind == "budget_exceeded":
                setting = _SETTING.search(state.waiting_message)
                more = resume["go on"] + (f" --set {setting[1]}=MORE" if setting else "")
                waits.append(Wait(what=state.waiting_message, commands={"go on": more}))
            return waits
        case _:
            return []


def _question(one: PendingQuestion, command: CommandFor, asked: HumanRequest | None, *, named: bool) -> Wait:
    parts: dict[str, str] = {}
    for each in asked.questions if asked is not None else ():
        labels = [str(choice.get("label", "")) for choice in each.get("choices") or ()]
        choices = f"  [{' | '.join(labels)}]" if labels else ""
        parts[str(each.get("id", ""))] = f"{each.get('question', '')}{choices}"
    call = f" --call {shlex.quote(one.call_id)}" if named else ""
    sets = " ".join(f"--set {shlex.quote(name)}=TEXT" for name in one.ids)
    answer = sets or ("NUMBER" if one.choices else "TEXT")
    return Wait(
        what=f"answers to {len(parts)} questions" if parts else one.question,
        choices=tuple(one.choices),
        parts=parts,
        commands={"answer": f"{command('runs answer')} {answer}{call}", THEN: command("runs resume")},
    )


def decision_commands(approval_id: str, command: CommandFor) -> dict[str, str]:
    """How a request is looked at and decided."""
    name = short_approval(approval_id)
    return {
        "look": command("approvals show", name),
        "approve": command("approvals approve", name),
        "deny": f"{command('approvals deny', name)} --reason TEXT",
    }


def wait_lines(wait: Wait, *, indent: int, width: int, titled: bool = True) -> Iterator[RenderableType]:
    """One thing that is waited for; without its title where that stands elsewhere."""
    if titled:
        yield Padding(Text(readable_line(wait.what)), (0, 0, 0, indent), expand=False)
    offered = {str(number): readable_line(choice) for number, choice in enumerate(wait.choices, start=1)}
    offered |= {readable_line(name): readable_line(text) for name, text in wait.parts.items()}
    for facts in (offered, dict(wait.commands)):
        if facts:
            yield labelled(facts, indent=indent, width=width)
