"""Events in words: one line each, whatever they hold."""

from typing import Any

import pytest
from hypothesis import given

from skills_runtime.cli.run_text import describe_event, describe_progress
from skills_runtime.events import PAYLOAD_TYPES, Event, Payload, Unknown
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    ChildRunFinished,
    ChildRunStarted,
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    ContextRecoveryDecided,
    HistoryLoaded,
    HumanRequest,
    HumanResponse,
    ImagesAttached,
    InboxReceived,
    LlmResponseDelta,
    LlmRetryScheduled,
    LlmUsage,
    RunStateChanged,
    RunWaitingHuman,
)
from tests.support.events import events, numbered


def event(payload: Payload) -> Event:
    return numbered([payload])[0]


def received(kind: str, **body: Any) -> InboxReceived:
    return InboxReceived(message_id="m", position=1, kind=kind, body=body)


WORDS: list[tuple[Payload, str]] = [
    (HumanRequest(call_id="c", question="Which?", choices=["a", "b"]), "Which? [a | b]"),
    (HumanRequest(call_id="c", question="How?"), "How?"),
    (HumanResponse(call_id="c", answer="a", answers={"answer": "a"}), "a"),
    (HumanResponse(call_id="c", answer="1", answers={"x": "1", "y": "2"}), "x: 1, y: 2"),
    (received("steer", text="shorter\nplease"), "steer shorter please"),
    (received("answer", call_id="c", answer="blue"), "answer blue"),
    (received("answer", call_id="c", answers={"x": "1", "y": "2"}), "answer x: 1, y: 2"),
    (received("answer", call_id="c", answers="odd"), "answer"),
    (received("cancel", reason="no need"), "cancel no need"),
    (RunWaitingHuman(message="`ask_human` waits for an answer"), "`ask_human` waits for an answer"),
    (RunStateChanged(before="running", after="review_required", reason="asked"), "running → review_required asked"),
    (CompactionStarted(reason="threshold"), "compacting the conversation (threshold)"),
    (CompactionFailed(reason="resume", error="busy"), "no summary, using an excerpt: busy"),
    (ContextCompacted(summary="s", kept_messages=1), "compacted, 1 message kept"),
    (ContextRecoveryDecided(mode="ask_first", decision="compact"), "full: compact"),
    (ChildRunStarted(call_id="c", child_run_id="r-1", root="/r", message="Count"), "r-1 begins: Count"),
    (
        ChildRunFinished(child_run_id="r-1", status="completed", input_tokens=900, output_tokens=200),
        "r-1 is completed · 1.1k tokens",
    ),
    (LlmResponseDelta(delta_type="reasoning", text="secret thoughts"), "thinking 15 characters"),
    (LlmResponseDelta(delta_type="text", text="Hello"), "Hello"),
    (
        LlmResponseDelta(delta_type="tool_calls", tool_calls=[{"name": "shell", "arguments_chars": 12}]),
        "writing shell 12 characters",
    ),
    (LlmUsage(model="m", input_tokens=3, output_tokens=4), "3 tokens in · 4 out"),
    (LlmUsage(model="m", input_tokens=3, output_tokens=4, cost_usd=0.25), "3 tokens in · 4 out · $0.25"),
    (
        LlmRetryScheduled(error_kind="rate_limited", attempt=1, max_retries=3, delay_ms=500),
        "rate_limited: again in 500 ms (1 of 3)",
    ),
    (ApprovalRequested(approval_key="k", tool="shell", summary="shell ls"), "shell ls"),
    (ApprovalRequested(approval_key="k", tool="shell", risk={"level": "high"}), "high risk: shell"),
    (ApprovalDecided(approval_key="k", decision="denied", reason="timeout"), "denied (timeout)"),
    (
        ApprovalDecided(approval_key="k", decision="denied", reason="inbox", decided_by="ada", note="not now"),
        "denied by ada: not now",
    ),
    (
        ApprovalDecided(approval_key="k", decision="approved_for_session", reason="session", decided_by="ada"),
        "approved for session by ada (session)",
    ),
    (
        ApprovalDecided(
            approval_key="k", decision="approved", decided_by="ada", rule={"scope": "run"}, arguments_blob="b"
        ),
        "approved by ada; with other arguments; a rule was added (run)",
    ),
    (ApprovalRefused(reason="expired", message="it came too late"), "it came too late"),
    (
        ApprovalRefused(reason="changed", call_id="c", message="changed"),
        "the call has changed, so approval is requested again",
    ),
    (HistoryLoaded(messages=[{"role": "user"}, {"role": "assistant"}], runs=["a"]), "2 messages of 1 earlier run"),
    (ImagesAttached(images=[{"name": "a.png"}, {"name": "b.png"}]), "a.png, b.png"),
]


@pytest.mark.parametrize(("payload", "words"), WORDS, ids=[f"{one.event_type}-{words}" for one, words in WORDS])
def test_an_event_is_reported_by_what_is_worth_knowing(payload: Payload, words: str) -> None:
    assert describe_event(event(payload)) == words


@given(events())
def test_every_event_is_reported_on_one_line(one: Event) -> None:
    assert len(describe_event(one).splitlines()) <= 1
    assert len((describe_progress(one) or "").splitlines()) <= 1


@pytest.mark.parametrize("name", sorted(PAYLOAD_TYPES))
def test_a_shape_of_another_version_is_reported_too(name: str) -> None:
    odd = Event(0, name, "2026-01-01T00:00:00Z", "r", Unknown(data={"message": "m", "arguments": [], "result": 1}))
    assert describe_event(odd) == "m"


NOTES: list[tuple[Payload, str | None]] = [
    (HumanRequest(call_id="c", question="Which?"), "asks  Which?"),
    (HumanResponse(call_id="c", answer="a"), "answered  a"),
    (received("steer", text="shorter"), "received  steer shorter"),
    (received("approve", decision="approved"), None),
    (ApprovalRequested(approval_key="k", tool="do"), "asks  do"),
    (ApprovalDecided(approval_key="k", decision="approved", decided_by="ada"), "decided  approved by ada"),
    (ApprovalRefused(reason="unknown", message="nobody asked"), "void  nobody asked"),
    (RunStateChanged(before="running", after="review_required"), "review  running → review_required"),
    (RunStateChanged(before="pending", after="running"), None),
    (ContextCompacted(summary="s", kept_messages=6), "context  compacted, 6 messages kept"),
    (ChildRunStarted(call_id="c", child_run_id="r-1", root="/r", message="Count"), "agent  r-1 begins: Count"),
    (LlmUsage(model="m"), None),
]


@pytest.mark.parametrize(("payload", "note"), NOTES, ids=[one.event_type for one, _ in NOTES])
def test_only_what_a_person_would_want_to_see_is_noted_while_a_run_works(payload: Payload, note: str | None) -> None:
    assert describe_progress(event(payload)) == note
