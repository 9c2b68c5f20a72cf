"""A run as one page that needs nothing else: no script, no network, everything it shows escaped.

Pure. Shows what events show: digests and sizes where contents are hidden, never the contents.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Literal, NamedTuple

from skills_runtime.events import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    ChildRunFinished,
    ChildRunStarted,
    ContextCompacted,
    Event,
    HumanRequest,
    HumanResponse,
    InboxReceived,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    OutputRejected,
    Payload,
    PlanUpdated,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    RunStateChanged,
    ToolCallFinished,
    ToolCallRequested,
)
from skills_runtime.projections import RunState
from skills_runtime.render.skill_notes import skill_note
from skills_runtime.text import readable


class Labels(NamedTuple):
    """Every heading and label of the page."""

    tag: str
    run: str
    status: str
    model: str
    start: str
    end: str
    calls: str
    tokens: str
    cost: str
    profile: str
    task: str
    result: str
    files: str
    log: str
    none: str
    footer: str
    answer: str
    call: str
    outcome: str
    failed: str
    approval_requested: str
    approval_decided: str
    approval_void: str
    question: str
    reply: str
    message: str
    skill: str
    plan: str
    state: str
    correction: str
    summary: str
    child: str
    statuses: Mapping[str, str]


LABELS: Mapping[str, Labels] = {
    "en": Labels(
        tag="en", run="Run", status="Status", model="Model", start="Began", end="Ended", calls="Tool calls",
        tokens="Tokens (in + out)", cost="Cost", profile="Profile", task="Task", result="Result",
        files="Deliverables", log="What happened", none="–",
        footer="Made by Skills Runtime from the log of the run. It shows what the log shows, and runs nothing.",
        answer="Model", call="Call", outcome="Result of", failed="Failed", approval_requested="Approval requested for",
        approval_decided="Approval decided", approval_void="Approval void", question="Question", reply="Answer",
        message="Message",
        skill="Skill", plan="Plan", state="State", correction="The model was corrected",
        summary="The conversation was summed up", child="Run of its own",
        statuses={
            "pending": "pending", "running": "running", "waiting_for_tool": "waiting for a tool",
            "waiting_for_user": "waiting for somebody", "review_required": "waiting for review",
            "revision_required": "to be revised", "completed": "completed", "failed": "failed",
            "cancelled": "cancelled",
        },
    ),
    "zh": Labels(
        tag="zh-CN", run="运行", status="状态", model="模型", start="开始", end="结束", calls="工具调用",
        tokens="令牌（输入 + 输出）", cost="费用", profile="配置档", task="任务", result="结果",
        files="交付物", log="经过", none="–",
        footer="由 Skills Runtime 根据运行日志生成。只显示日志中的内容，不执行任何代码。",
        answer="模型", call="调用", outcome="调用结果：", failed="失败", approval_requested="请求审批：",
        approval_decided="审批决定", approval_void="审批失效", question="提问", reply="回答", message="消息",
        skill="技能", plan="计划", state="状态", correction="要求模型更正",
        summary="对话已压缩", child="子运行",
        statuses={
            "pending": "等待中", "running": "运行中", "waiting_for_tool": "等待工具",
            "waiting_for_user": "等待人工", "review_required": "等待评审", "revision_required": "待修订",
            "completed": "已完成", "failed": "失败", "cancelled": "已取消",
        },
    ),
}  # fmt: skip


class Entry(NamedTuple):
    """One thing that happened."""

    kind: str
    seq: int
    time: str
    heading: str
    body: str | Mapping[str, Any]


def list_entries(events: Iterable[Event], labels: Labels) -> Iterator[Entry]:
    """The entries of a log, in order; an answer is one entry, however many pieces it came in."""
    answer_parts: list[str] = []
    for event in events:
        match event.payload:
            case LlmRequestStarted():
                answer_parts = []
            case LlmResponseDelta(delta_type="text", text=text):
                answer_parts.append(text)
            case LlmResponseFinished():
                if answer := "".join(answer_parts).strip():
                    yield _entry("answer", event, labels.answer, answer)
                answer_parts = []
            case payload:
                parts = _describe(payload, labels)
                if parts is not None:
                    kind, heading, body = parts
                    yield _entry(kind, event, heading, body)


def _entry(kind: str, event: Event, heading: str, body: str | Mapping[str, Any]) -> Entry:
    return Entry(kind, event.seq, event.timestamp, heading, body)


def _describe(payload: Payload, labels: Labels) -> tuple[str, str, str | Mapping[str, Any]] | None:
    match payload:
        case RunStarted(task=task, resume=resume) if not resume.get("enabled"):
            return "task", labels.task, task
        case ToolCallRequested(name=name, arguments=arguments):
            return "call", f"{labels.call} {name}", arguments
        case ToolCallFinished(tool=tool, result=result):
            return ("outcome" if result.get("ok") else "failed"), f"{labels.outcome} {tool}", result
        case PlanUpdated(plan=plan):
            return "plan", labels.plan, "\n".join(f"[{item.get('status', '')}] {item.get('step', '')}" for item in plan)
        case _:
            return _describe_interaction(payload, labels) or _describe_run(payload, labels)


def _describe_interaction(payload: Payload, labels: Labels) -> tuple[str, str, str | Mapping[str, Any]] | None:
    match payload:
        case ApprovalRequested(tool=tool, summary=summary, rule=rule, risk=risk):
            facts = [summary, rule, " · ".join(filter(None, risk.values()))]
            return "approval", f"{labels.approval_requested} {tool}", "\n".join(filter(None, facts))
        case ApprovalDecided(decision=decision, decided_by=who, note=note):
            return "approval", labels.approval_decided, "\n".join(filter(None, (decision, who, note)))
        case ApprovalRefused(reason=reason, message=message):
            return "approval", labels.approval_void, "\n".join(filter(None, (reason, message)))
        case HumanRequest(question=question):
            return "approval", labels.question, question
        case HumanResponse(answer=answer, answers=answers):
            return "approval", labels.reply, answer or answers
        case InboxReceived(kind="steer", body=body):
            return "task", labels.message, str(body.get("text", ""))
        case _:
            return None


def _describe_run(payload: Payload, labels: Labels) -> tuple[str, str, str] | None:
    match payload:
        case RunStateChanged(before=before, after=after, reason=reason):
            return "state", labels.state, f"{before} → {after}" + (f": {reason}" if reason else "")
        case RunFailed(error_kind=kind, message=message):
            return "failed", labels.failed, f"{kind}: {message}"
        case RunCancelled(message=message):
            return "failed", labels.statuses["cancelled"], message
        case RunCompleted(final_output=output):
            return "answer", labels.statuses["completed"], output
        case OutputRejected(message=message):
            return "state", labels.correction, message
        case ContextCompacted(summary=summary):
            return "state", labels.summary, summary
        case ChildRunStarted(child_run_id=child, message=message):
            return "call", f"{labels.child} {child}", message
        case ChildRunFinished(child_run_id=child, status=status):
            return "outcome", f"{labels.child} {child}", labels.statuses.get(status, status)
        case _:
            note = skill_note(payload)
            return ("skill", labels.skill, note) if note else None


Language = Literal["en", "zh"]

STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.55 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid #8886}"
    "table{border-collapse:collapse}th,td{text-align:start;vertical-align:top;padding:.15rem 1rem .15rem 0}"
    "th{font-weight:600}pre{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;margin:.3rem 0;"
    "font:13px/1.5 ui-monospace,monospace}"
    "article{border-inline-start:3px solid #8886;padding:.1rem .9rem;margin:1rem 0}"
    "article.answer{border-color:#3a7}article.task{border-color:#36c}article.approval{border-color:#c80}"
    "article.failed{border-color:#c33}.seq{color:#777;font-size:.8rem}footer{margin-top:3rem;color:#777}"
)
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"


class PageFile(NamedTuple):
    """A file that the run handed over."""

    name: str
    size: int
    digest: str


def render_page(
    state: RunState, events: Iterable[Event], files: Sequence[PageFile] = (), language: Language = "en"
) -> Iterator[str]:
    """The page of a run, piece by piece."""
    labels = LABELS[language]
    title = escape_html(next((line for line in state.task.splitlines() if line.strip()), state.run_id)[:120])
    yield (
        f'<!doctype html>\n<html lang="{labels.tag}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>\n<h1><bdi>{title}</bdi></h1>\n"
    )
    yield _table(_facts(state, labels))
    yield from _section(labels.task, _block(state.task))
    yield from _section(labels.result, _block(state.final_output or state.failure_reason or labels.none))
    yield from _section(
        labels.files,
        _table([(file.name, (f"{file.size:,} B · sha256:{file.digest}")) for file in files]) if files else labels.none,
    )
    yield f"<h2>{labels.log}</h2>\n"
    for entry in list_entries(events, labels):
        body = entry.body
        if not isinstance(body, str):
            body = json.dumps(body, ensure_ascii=False, indent=2, sort_keys=True)
        when = f'<span class="seq">#{entry.seq} · {escape_html(entry.time)}</span>'
        head = f"<strong>{escape_html(entry.heading)}</strong> {when}"
        yield (f'<article class="{entry.kind}"><div>{head}</div>{_block(body)}</article>\n')
    yield f"<footer>{labels.footer}</footer></body></html>\n"


def escape_html(text: str) -> str:
    """Text as it may stand in a page: escaped, and what cannot be seen written out."""
    return escape(readable(text))


def _facts(state: RunState, labels: Labels) -> list[tuple[str, str]]:
    tokens = f"{state.input_tokens:,} + {state.output_tokens:,}"
    facts = [
        (labels.run, state.run_id),
        (labels.status, labels.statuses.get(state.status.value, state.status.value)),
        (labels.model, state.model),
        (labels.start, state.started_at or state.created_at),
        (labels.end, state.completed_at or ""),
        (labels.calls, str(state.tool_calls)),
        (labels.tokens, tokens),
        (labels.cost, f"${state.cost_usd:.4f}" if state.cost_usd else ""),
        (labels.profile, state.profile_id),
    ]
    return [(name, value) for name, value in facts if value]


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = (f"<tr><th>{escape_html(name)}</th><td><bdi>{escape_html(value)}</bdi></td></tr>" for name, value in rows)
    return f"<table>{''.join(lines)}</table>\n"


def _section(heading: str, body: str) -> Iterator[str]:
    yield f"<h2>{heading}</h2>\n{body}\n"


def _block(text: str) -> str:
    return f"<pre>{escape_html(text.rstrip())}</pre>"
