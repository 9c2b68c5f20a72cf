"""Logs with what the projections make of them, which the web app's own fold has to make of them too.

`python -m tests.unit.studio.make_fixtures` writes tests/fixtures/studio/ anew.
"""

import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.events import Event, Payload
from skills_runtime.events import payloads as p
from skills_runtime.events.envelope import data_of
from skills_runtime.projections import Conversation, RunView, Timeline
from skills_runtime.projections.conversation import Call
from skills_runtime.runs import RunPaths
from skills_runtime.runs.log import read_events
from tests.replay.make_golden import GOLDEN
from tests.support.events import numbered

FIXTURES = Path(__file__).parents[2] / "fixtures" / "studio"
_LEFT_OUT = frozenset(
    {
        "config_fingerprint", "fork", "snapshots", "last_mac", "epoch", "children", "worked_sec", "segment_since",
        "waiting_calls", "waiting_since", "waited_sec", "extra_steps", "extra_wall_time_sec", "inbox_position",
        "inbox_seq", "manifest_sha256",
    }
)  # fmt: skip
"""What a page does not show, or shows in another way."""


def expected_of(events: Sequence[Event]) -> dict[str, Any]:
    """What the projections say about a log."""
    view, timeline, talk, decisions = RunView(), Timeline(), Conversation(), dict[str, str]()
    for event in events:
        view.apply(event)
        timeline.apply(event)
        if not isinstance(event.payload, p.ContextCompacted):  # what was left out of the context was said all the same
            talk.apply(event)
        if isinstance(event.payload, p.ApprovalDecided) and event.payload.call_id:
            decisions[event.payload.call_id] = event.payload.decision
    fork = view.state.fork
    return {
        "state": {name: value for name, value in msgspec.to_builtins(view.state).items() if name not in _LEFT_OUT}
        | {"fork": {"run_id": fork.run_id, "seq": fork.seq} if fork else None},
        "pending_approvals": list(view.pending.approvals.open),
        "questions": list(view.pending.questions),
        "answers": [message.text for message in talk.messages if message.role == "assistant" and message.text],
        "tool_calls": [
            {"call_id": call.id, "tool": call.tool, "state": _state(call, view, talk, decisions)}
            for message in talk.messages
            for call in message.calls
        ],
        "plan": view.conversation.plan,
        "skills": list(view.conversation.skills),
        "children": {name: child.status for name, child in view.state.children.items()},
        "spans": [msgspec.to_builtins(span) for span in timeline.spans],
    }


def _state(call: Call, view: RunView, talk: Conversation, decisions: dict[str, str]) -> str:
    """How far a call came, in one word."""
    result = next((message.result for message in talk.messages if message.call_id == call.id), None)
    if result is not None:
        if not decisions.get(call.id, "approved").startswith("approved"):
            return "denied"
        return "ok" if result.data.get("ok") else "failed"
    if not view.state.open:
        return "abandoned"
    current = talk.open_calls.get(call.id, call)
    asking = (approval.call_id.partition("#")[0] for approval in view.pending.approvals.open.values())
    if call.id in asking:
        return "waiting"
    if current.phase == "started":
        return "running"
    return "requested" if decisions.get(call.id, "approved").startswith("approved") else "denied"


def logs() -> dict[str, list[Event]]:
    """Every log by name: the golden ones, and some for what those do not have."""
    golden = {
        name: list(read_events(RunPaths(GOLDEN / name))) for name in ("agent", "complete") if (GOLDEN / name).exists()
    }
    return {**golden, **{f"v0-{name}": _old(name) for name in ("completed", "waiting")}, **_build_logs()}


def _old(name: str) -> list[Event]:
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "events.jsonl").write_bytes((GOLDEN.parent / "v0" / f"{name}.jsonl").read_bytes())
        return list(read_events(RunPaths(Path(directory))))


def _build_logs() -> dict[str, list[Event]]:
    requested = [*_begin("Clean up."), *_answer("I look first.", ("c1", "shell_command")), _ask("a1", "c1")]
    allowed: list[Payload] = [
        p.ApprovalDecided(approval_key="k-a1", approval_id="a1", call_id="c1", decision="approved", decided_by="owner"),
        p.ToolCallStarted(call_id="c1", tool="shell_command"),
        p.NetworkDecision(
            call_id="c1", number=1, stage="decided", verdict="deny", host="example.org", port=443, protocol="connect"
        ),
    ]
    ended = [
        p.ToolCallFinished(call_id="c1", tool="shell_command", result={"ok": True, "stdout": "done", "duration_ms": 7})
    ]
    denied: list[Payload] = [
        *_answer("", ("c2", "file_write"), ("c3", "spawn_agent")),
        _ask("a2", "c2"),
        p.ApprovalDecided(approval_key="k-a2", approval_id="a2", call_id="c2", decision="denied", note="not there"),
        p.ToolCallFinished(call_id="c2", tool="file_write", result={"ok": False, "error_kind": "permission"}),
        p.ToolCallStarted(call_id="c3", tool="spawn_agent"),
        p.ChildRunStarted(call_id="c3", child_run_id="child", root="/r", message="help"),
        p.ChildRunFinished(child_run_id="child", status="completed", input_tokens=5, output_tokens=2, tool_calls=1),
    ]
    cut: list[Payload] = [
        p.LlmRequestStarted(model="m"),
        p.LlmResponseDelta(delta_type="text", text="I was cut"),
        p.ToolCallRequested(call_id="c9", tool="look", name="look"),
        p.LlmRetryScheduled(error_kind="server_error", attempt=1, max_retries=3, delay_ms=10),
        *_answer("Again.", ("c4", "look")),
    ]
    failed = [p.RunFailed(error_kind="budget_exceeded", message="no more steps")]
    return {
        "asking": numbered(requested),
        "deciding": numbered([*requested, *allowed, *ended, *denied]),
        "cut": numbered([*_begin("Look."), *cut, *failed]),
        "running": numbered([*requested, *allowed]),
        "refused": numbered(
            [
                *requested,
                p.ApprovalRefused(reason="expired", approval_id="a1", call_id="c1"),
                p.RunCancelled(message="stop"),
            ]
        ),
    }


def _begin(task: str) -> list[Payload]:
    return [
        p.RunCreated(
            schema=p.LOG_SCHEMA, key_id="k", session_id="s", task_id="t", profile_id="d", config_fingerprint="f"
        ),
        p.RunStarted(task=task),
        p.SkillInjected(skill_name="tidy", mention_text="$tidy", text_blob="b" * 64, size=3),
    ]


def _answer(text: str, *calls: tuple[str, str]) -> list[Payload]:
    deltas = [p.LlmResponseDelta(delta_type="text", text=text)] if text else []
    requests = [p.ToolCallRequested(call_id=call_id, tool=tool, name=tool) for call_id, tool in calls]
    usage = p.LlmUsage(model="m", input_tokens=100, output_tokens=10, cached_tokens=40, cost_usd=0.25)
    finished = p.LlmResponseFinished(finish_reason="tool_calls", calls=[call_id for call_id, _ in calls])
    return [p.LlmRequestStarted(model="m"), *deltas, *requests, usage, finished]


def _ask(approval_id: str, call_id: str) -> Payload:
    return p.ApprovalRequested(
        approval_key=f"k-{approval_id}", approval_id=approval_id, call_id=call_id, tool="shell_command", summary="rm"
    )


def fixture_text(events: Iterable[Event]) -> str:
    """One fixture as it is committed."""
    log = list(events)
    documents = [{**msgspec.structs.asdict(event), "payload": data_of(event.payload)} for event in log]
    return json.dumps({"events": documents, "expected": expected_of(log)}, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for log_name, log_events in logs().items():
        (FIXTURES / f"{log_name}.json").write_text(fixture_text(log_events), encoding="utf-8")
