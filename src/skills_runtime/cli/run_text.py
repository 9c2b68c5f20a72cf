"""Text for people about a run: its events, its steps, what it waits for and the commands to continue."""

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

from skills_runtime.cli.language import translate, translate_label, translate_phrase, translate_status
from skills_runtime.cli.output import (
    counted,
    format_cost,
    format_count,
    format_duration,
    justify_line,
    labeled_table,
    short_approval_id,
    truncate,
)
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
from skills_runtime.projections import Call, Pending, PendingQuestion, RunState, parse_number
from skills_runtime.render import skill_note
from skills_runtime.text import readable, readable_line

Data = Mapping[str, Any]

_MAIN_FIELDS = (
    "message", "failure_reason", "final_output", "task", "text", "question", "answer", "summary", "decision",
    "model", "finish_reason", "name", "tool", "path", "to", "workspace_mode", "profile_id", "skill_name", "reason",
)  # fmt: skip
"""Payload fields, most informative first."""
_PERSON_REASONS = ("provider", "inbox")
_MAX_TEXT_CHARS = 2000
_MAX_CELLS = 200
_REVIEW = ("review_required", "revision_required")
_PROGRESS_LABELS: Mapping[str, str] = MappingProxyType(
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
DECISIONS: Mapping[str, str] = MappingProxyType(
    {
        "approved": "approved",
        "approved_for_session": "approved for session",
        "denied": "denied",
        "abort": "abort",
    }
)
"""Decisions on a call."""
Progress = Literal["running", "waiting", "done", "failed"]
_MAX_SUBJECT_CHARS = 200
_MAX_OUTPUT_LINES = 5
_DETAIL_INDENT = 5
_TERSE_TOOLS = frozenset({"ask_human", "file_delete", "file_write", "request_user_input"})
"""Tools whose results only repeat their arguments, or what was typed at the terminal."""
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
"""The label of a command that follows the previous one."""
_SETTING = re.compile(r"`(run\.\w+)`")


def describe_event(event: Event) -> str:
    """Describe an event on one line."""
    is_known = not isinstance(event.payload, Unknown)  # the payload may be from another version
    describe = _DESCRIPTIONS.get(event.type, _pick_main_field) if is_known else _pick_main_field
    text = translate_phrase(skill_note(event.payload)) or describe(data_of(event.payload))
    return truncate(readable_line(text[:_MAX_TEXT_CHARS]), _MAX_CELLS)


def describe_progress(event: Event) -> str | None:
    """Describe an event for the live view; None for events that are not shown or have their own lines."""
    label, data = "skill" if skill_note(event.payload) else _PROGRESS_LABELS.get(event.type), data_of(event.payload)
    if label is None or (event.type == "run_state_changed" and data.get("to") not in _REVIEW):
        return None
    if event.type == "inbox_received" and data.get("kind") == "approve":
        return None
    return f"{translate_label(label)}  {describe_event(event)}"


def _pick_main_field(data: Data) -> str:
    return str(next((data[name] for name in _MAIN_FIELDS if data.get(name)), ""))


def _describe_result(data: Data) -> str:
    result: Data = data.get("result") or {}
    failed = translate("step.failed", "failed")
    outcome = translate("step.ok", "ok") if result.get("ok") else str(result.get("error_kind") or failed)
    took = result.get("duration_ms")
    return f"{data.get('tool')}  {outcome}  {format_duration(took if isinstance(took, int | float) else 0)}"


def _describe_network(data: Data) -> str:
    host = f"{data.get('verdict')} {data.get('host')}:{data.get('port')}"
    if data.get("stage") == "ended":
        up, down = str(data.get("bytes_up", 0)), str(data.get("bytes_down", 0))
        return f"{host}  {translate('network.bytes', '{up} bytes out · {down} in', up=up, down=down)}"
    return f"{host}  {data.get('reason', '')}"


def _describe_delta(data: Data) -> str:
    """Return text as it is, and only the length of reasoning and of calls."""
    if data.get("delta_type") == "reasoning":
        count = format_count(len(data.get("text", "")))
        return translate("delta.thinking", "thinking  {count} characters", count=count)
    calls: Sequence[Data] = data.get("tool_calls") or ()
    if calls:
        return ", ".join(map(_describe_partial_call, calls))
    return str(data.get("text", ""))


def _describe_partial_call(call: Data) -> str:
    name, count = str(call.get("name")), str(call.get("arguments_chars", 0))
    return translate("delta.writing", "writing {name}  {count} characters", name=name, count=count)


def _describe_answer(data: Data) -> str:
    raw_answers: Any = data.get("answers")
    answers = cast("dict[str, Any]", raw_answers) if isinstance(raw_answers, dict) else {}
    if len(answers) > 1:
        return ", ".join(f"{name}: {text}" for name, text in answers.items())
    return str(data.get("answer") or next(iter(answers.values()), ""))


def _describe_message(data: Data) -> str:
    body: Data = data.get("body") or {}
    texts = {
        "steer": body.get("text"),
        "answer": _describe_answer(body),
        "cancel": body.get("reason"),
        "approve": body.get("decision"),
    }
    return f"{data.get('kind')}  {texts.get(str(data.get('kind'))) or ''}"


def _describe_request(data: Data) -> str:
    risk: Data = data.get("risk") or {}
    level = risk.get("level") if risk.get("level") in ("medium", "high") else "low"
    prefix = "{level, select, low {} medium {medium risk: } other {high risk: }}"
    return f"{translate('request.risk', prefix, level=level)}{data.get('summary') or data.get('tool')}"


def _describe_decision(data: Data) -> str:
    """Describe a decision: by whom, the note, edited arguments and an added rule."""
    decided_by, reason, rule = data.get("decided_by"), data.get("reason"), cast("Data", data.get("rule") or {})
    parts = [
        describe_decision(str(data.get("decision"))),
        translate("decision.by", " by {name}", name=str(decided_by)) if decided_by else "",
        f" ({reason})" if reason and not (decided_by and reason in _PERSON_REASONS) else "",
        translate("decision.note", ": {text}", text=str(data["note"])) if data.get("note") else "",
        translate("decision.edited", "; with other arguments") if data.get("arguments_blob") else "",
        translate("decision.rule", "; a rule was added ({scope})", scope=str(rule.get("scope"))) if rule else "",
    ]
    return "".join(parts)


def describe_decision(decision: str) -> str:
    """Describe a decision in a word or two."""
    english = DECISIONS.get(decision)
    return translate(f"decision.{decision}", english) if english else decision.replace("_", " ")


def _describe_refusal(data: Data) -> str:
    """Describe why a decision was rejected."""
    if data.get("reason") == "changed" and data.get("call_id"):
        return translate("refusal.changed", "the call has changed, so approval is requested again")
    return str(data.get("message") or data.get("reason"))


def _describe_child_end(data: Data) -> str:
    count = format_count(int(data.get("input_tokens") or 0) + int(data.get("output_tokens") or 0))
    run, status = str(data.get("child_run_id")), str(data.get("status"))
    text = "{run} is {status} · {count} tokens"
    return translate("child.ended", text, run=run, status=translate_status(status, status), count=count)


def _describe_retry(data: Data) -> str:
    return translate(
        "retry.when",
        "{kind}: again in {time} ({attempt} of {most})",
        kind=str(data.get("error_kind")),
        time=format_duration(data.get("delay_ms") or 0),
        attempt=str(data.get("attempt")),
        most=str(data.get("max_retries")),
    )


def _describe_usage(data: Data) -> str:
    read, written = str(data.get("input_tokens", 0)), str(data.get("output_tokens", 0))
    text = translate("usage.both", "{input} tokens in · {output} out", input=read, output=written)
    return text + (f" · {format_cost(data['cost_usd'])}" if data.get("cost_usd") else "")


def _describe_status_change(data: Data) -> str:
    before, after = (translate_status(status, status) for status in (str(data.get("from")), str(data.get("to"))))
    return f"{before} → {after}" + (f"  {data['reason']}" if data.get("reason") else "")


_DESCRIPTIONS: Mapping[str, Callable[[Data], str]] = MappingProxyType(
    {
        "approval_decided": _describe_decision,
        "approval_refused": _describe_refusal,
        "approval_requested": _describe_request,
        "child_run_finished": _describe_child_end,
        "child_run_started": lambda data: translate(
            "child.begins", "{run} begins: {text}", run=str(data.get("child_run_id")), text=str(data.get("message"))
        ),
        "compaction_failed": lambda data: translate(
            "compaction.failed", "no summary, using an excerpt: {reason}", reason=str(data.get("error"))
        ),
        "compaction_started": lambda data: translate(
            "compaction.started", "compacting the conversation ({reason})", reason=str(data.get("reason"))
        ),
        "context_compacted": lambda data: translate(
            "compaction.done",
            "compacted, {messages} kept",
            messages=counted(int(data.get("kept_messages") or 0), "message"),
        ),
        "context_recovery_decided": lambda data: translate(
            "compaction.decided", "full: {decision}", decision=str(data.get("decision"))
        ),
        "file_operation": lambda data: (
            f"{data.get('op')} {data.get('path')}" + ("" if data.get("ok") else f"  {data.get('error')}")
        ),
        "history_loaded": lambda data: translate(
            "history.loaded",
            "{messages} of {runs}",
            messages=counted(len(data.get("messages") or ()), "message"),
            runs=counted(len(data.get("runs") or ()), "earlier run"),
        ),
        "human_request": lambda data: (
            f"{data.get('question')}" + (f"  [{' | '.join(map(str, data['choices']))}]" if data.get("choices") else "")
        ),
        "human_response": _describe_answer,
        "images_attached": lambda data: ", ".join(str(image.get("name", "")) for image in data.get("images") or ()),
        "inbox_received": _describe_message,
        "llm_response_delta": _describe_delta,
        "llm_retry_scheduled": _describe_retry,
        "llm_usage": _describe_usage,
        "network_decision": _describe_network,
        "run_state_changed": _describe_status_change,
        "skill_catalog_offered": lambda data: translate(
            "skills.offered", "{skills} offered", skills=counted(int(data.get("offered") or 0), "skill")
        ),
        "skill_routed": lambda data: (
            f"{data.get('decided_by', 'model')}  "
            + ", ".join(str(choice.get("mention", "")) for choice in data.get("choices") or ())
        ),
        "tool_call_finished": _describe_result,
        "tool_call_requested": lambda data: " ".join(
            [str(data.get("name")), *(value for value in data.get("arguments", {}).values() if isinstance(value, str))]
        ),
    }
)
"""Descriptions of event types for which the main field is not enough."""


class Step(msgspec.Struct, kw_only=True):
    """One tool call and its result."""

    number: int
    tool: str
    subject: str
    progress: Progress = "running"
    outcome: str = ""
    """The exit code or the kind of error of a call that failed."""
    reason: str = ""
    milliseconds: float | None = None
    output: tuple[str, ...] = ()
    """The first lines that the tool printed."""
    more_lines: int = 0
    """The number of lines after them."""

    def finish(self, result: Data) -> None:
        """Record the result."""
        self.progress = "done" if result.get("ok") else "failed"
        took, code = result.get("duration_ms"), result.get("exit_code")
        self.milliseconds = float(took) if isinstance(took, int | float) else 0
        self.output, self.more_lines = _first_lines(result) if self.tool not in _TERSE_TOOLS else ((), 0)
        if self.progress == "done":
            self.outcome = _describe_exit(0) if code == 0 else ""
        else:
            kind = str(result.get("error_kind") or translate("step.failed", "failed"))
            self.outcome = _describe_exit(code) if code else readable_line(kind)
            first = str(result.get("stderr") or "").strip().partition("\n")[0]
            self.reason = readable_line(first)[:_MAX_SUBJECT_CHARS]


class Steps(msgspec.Struct):
    """All steps in order."""

    all: list[Step] = []
    _by_call: dict[str, Step] = {}

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        match event.payload:
            case ToolCallRequested(call_id=call_id, name=name, arguments=arguments) if call_id not in self._by_call:
                self._add(_number(event.step_id, self.all), call_id, name, _find_subject(arguments))
            case ToolCallStarted(call_id=call_id, tool=tool) if call_id not in self._by_call:
                self._add(_number(event.step_id, self.all), call_id, tool)
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

    def add_open_call(self, call: Call) -> None:
        """Add a call that was requested before the run was resumed, with its arguments."""
        arguments = call.arguments.data
        subject = _find_subject(cast("Data", arguments)) if isinstance(arguments, dict) else ""
        self._add(_number(call.step_id, self.all), call.id, call.tool, subject)

    def _add(self, number: int, call_id: str, tool: str, subject: str = "") -> None:
        step = Step(number=number, tool=readable_line(tool), subject=subject)
        self.all.append(step)
        self._by_call[call_id] = step

    def find(self, call_id: str) -> Step | None:
        """Return the step of a call."""
        return self._by_call.get(call_id)


def _number(step_id: str | None, earlier: Sequence[Step]) -> int:
    return parse_number(step_id) or len(earlier) + 1


def _find_subject(arguments: Mapping[str, Any]) -> str:
    """Return the question of a call, or its first argument that is text or a command line."""
    for value in (arguments.get("question"), *arguments.values()):
        items = cast(list[object], value) if isinstance(value, list) else [value]
        if items and all(isinstance(item, str) for item in items):
            return readable_line(" ".join(map(str, items)))[:_MAX_SUBJECT_CHARS]
    return ""


def _describe_exit(code: object) -> str:
    return translate("step.exit", "exit {code}", code=str(code))


def _first_lines(result: Data) -> tuple[tuple[str, ...], int]:
    """Return the first lines that a tool printed, errors first if it failed, and the number of the others."""
    names = ("stdout", "stderr") if result.get("ok") else ("stderr", "stdout")
    text = "\n".join(value for name in names if isinstance(value := result.get(name), str) and value.strip())
    lines = [line for line in readable(text).expandtabs(4).splitlines() if line.strip()]
    # The last line is shown instead of saying that there is one more.
    count = _MAX_OUTPUT_LINES if len(lines) > _MAX_OUTPUT_LINES + 1 else _MAX_OUTPUT_LINES + 1
    return tuple(line[:_MAX_SUBJECT_CHARS] for line in lines[:count]), max(len(lines) - count, 0)


def step_lines(console: Console, step: Step, *, running_text: str = "", with_output: bool = False) -> list[Text]:
    """Render a step, and what it printed or the reason of a failure; `running_text` marks a step without a result."""
    states = {
        "waiting": translate("step.waiting", "waiting for you"),
        "running": running_text or translate("step.running", "running"),
    }
    description = Text.assemble((f"{step.number:>3}  ", "dim"), step.tool, f" {step.subject}")
    waiting = states.get(step.progress, "")
    right = Text.assemble(
        (step.outcome, "red" if step.progress == "failed" else "dim"),
        (waiting, "cyan"),
        (f"{format_duration(step.milliseconds):>9}" if not waiting else "", "dim"),
    )
    details = [step.reason] if step.reason else []
    if with_output and step.output:
        details = [*step.output, *([f"… {counted(step.more_lines, 'more line')}"] if step.more_lines else [])]
    width = console.width - _DETAIL_INDENT if console.is_terminal else _MAX_SUBJECT_CHARS * 2
    lines = (Text(f"{'':{_DETAIL_INDENT}}{truncate(detail, width)}", style="dim") for detail in details)
    return [justify_line(console, description, right), *lines]


@dataclass(frozen=True, slots=True)
class CommandFor:
    """Build command lines for one run."""

    program: str
    reference: str

    def __call__(self, verb: str, subject: str | None = None) -> str:
        """Return the command line of a verb such as `runs resume`, for the run or another subject."""
        return f"{self.program} {verb} {shlex.quote(subject or self.reference)}"


def exit_code_for(status: RunStatus) -> int:
    """Return the exit code of a process that leaves a run in this state."""
    return _EXIT_CODES.get(status, 1)


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a run waits for, with the choices and the commands."""

    description: str
    choices: tuple[str, ...] = ()
    parts: Mapping[str, str] = {}
    """Several questions at once, by id."""
    commands: Mapping[str, str] = {}

    def join_commands(self) -> str:
        """Join the commands into one sentence."""
        text = ""
        for label, line in self.commands.items():
            joint = translate("wait.then", ", then ") if label == THEN else translate("wait.or", " or ")
            text += f"{joint if text else ''}`{line}`"
        return text


def list_waits(
    state: RunState, pending: Pending, command: CommandFor, requests: Mapping[str, HumanRequest] | None = None
) -> list[Wait]:
    """List everything a run waits for; `requests` has the full questions where the log was read."""
    resume = {"go on": command("runs resume")}
    match state.status:
        case RunStatus.REVIEW_REQUIRED:
            revise = f"{command('runs review revise')} --note TEXT"
            return [
                Wait(
                    description=translate("wait.review", "a review"),
                    commands={"accept": command("runs review approve"), "send back": revise},
                )
            ]
        case RunStatus.REVISION_REQUIRED:
            note = translate("wait.revision", "resume to continue with the review note")
            return [Wait(description=note, commands=resume)]
        case RunStatus.WAITING_FOR_USER | RunStatus.RUNNING:
            several, full_requests = len(pending.questions) > 1, requests or {}
            waits = [
                *(
                    _build_question_wait(question, command, full_requests.get(question.call_id), with_call_id=several)
                    for question in pending.questions.values()
                ),
            ]
            for approval in pending.approvals.open.values():
                call = approval.summary or approval.tool
                description = translate("wait.approval", "an approval of {call}", call=call)
                if pending.approvals.find_decision(approval.approval_id) is not None:
                    decided = translate("wait.decided", "{what} (already decided)", what=description)
                    waits.append(Wait(description=decided, commands=resume))
                else:
                    waits.append(
                        Wait(description=description, commands=build_decision_commands(approval.approval_id, command))
                    )
            if state.waiting_kind == "stopped":
                stopped = translate("wait.stopped", "resume: the run was stopped")
                waits.append(Wait(description=stopped, commands=resume))
            if state.waiting_kind == "budget_exceeded":
                setting = _SETTING.search(state.waiting_message)
                more = resume["go on"] + (f" --set {setting[1]}=MORE" if setting else "")
                waits.append(Wait(description=state.waiting_message, commands={"go on": more}))
            return waits
        case _:
            return []


def _build_question_wait(
    question: PendingQuestion, command: CommandFor, request: HumanRequest | None, *, with_call_id: bool
) -> Wait:
    parts: dict[str, str] = {}
    for item in request.questions if request is not None else ():
        labels = [str(choice.get("label", "")) for choice in item.get("choices") or ()]
        choices = f"  [{' | '.join(labels)}]" if labels else ""
        parts[str(item.get("id", ""))] = f"{item.get('question', '')}{choices}"
    call = f" --call {shlex.quote(question.call_id)}" if with_call_id else ""
    sets = " ".join(f"--set {shlex.quote(name)}=TEXT" for name in question.ids)
    answer = sets or ("NUMBER" if question.choices else "TEXT")
    several = translate("wait.questions", "answers to {count} questions", count=str(len(parts)))
    return Wait(
        description=several if parts else question.question,
        choices=tuple(question.choices),
        parts=parts,
        commands={"answer": f"{command('runs answer')} {answer}{call}", THEN: command("runs resume")},
    )


def build_decision_commands(approval_id: str, command: CommandFor) -> dict[str, str]:
    """Build the commands that show and decide a request."""
    name = short_approval_id(approval_id)
    return {
        "look": command("approvals show", name),
        "approve": command("approvals approve", name),
        "deny": f"{command('approvals deny', name)} --reason TEXT",
    }


def label_commands(commands: Mapping[str, str]) -> dict[str, str]:
    """Return commands with their labels in the language in use."""
    return {translate_label(label): command for label, command in commands.items()}


def wait_lines(wait: Wait, *, indent: int, width: int, with_title: bool = True) -> Iterator[RenderableType]:
    """Render one thing a run waits for, optionally with its title."""
    if with_title:
        yield Padding(Text(readable_line(wait.description)), (0, 0, 0, indent), expand=False)
    options = {str(number): readable_line(choice) for number, choice in enumerate(wait.choices, start=1)}
    options |= {readable_line(name): readable_line(text) for name, text in wait.parts.items()}
    for facts in (options, label_commands(wait.commands)):
        if facts:
            yield labeled_table(facts, indent=indent, width=width)
