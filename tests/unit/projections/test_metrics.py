"""Timeline, usage, open questions and metrics: what the screens show, from the same events."""

import pytest

from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    HumanRequest,
    HumanResponse,
    LlmRequestStarted,
    LlmResponseFinished,
    LlmUsage,
    RunCancelled,
    RunCompleted,
    RunFailed,
    ToolCallFinished,
    ToolCallStarted,
)
from skills_runtime.projections import Metrics, Pending, Timeline, UsageTotals, fold
from tests.support.events import numbered
from tests.support.runs import sample_events

ENDS = [RunCompleted(final_output=""), RunFailed(error_kind="k", message="m"), RunCancelled(message="m")]


def _timeline(*payloads: Payload) -> Timeline:
    return fold(numbered(payloads), Timeline())


def test_each_answer_call_and_wait_is_one_bar() -> None:
    spans = _timeline(*sample_events(end=True)).spans
    assert [(span.kind, span.label, span.first_seq, span.last_seq) for span in spans] == [
        ("model", "scripted", 1, 4),
        ("waiting", "write", 6, 7),
        ("tool", "write", 8, 9),
        ("waiting", "question", 10, 11),
    ]
    assert all(span.ok for span in spans)


def test_a_call_that_failed_and_a_request_that_was_denied_are_marked() -> None:
    failed = _timeline(
        ToolCallStarted(call_id="c", tool="t"),
        ToolCallFinished(call_id="c", tool="t", result={"ok": False}),
        ApprovalRequested(approval_key="k", tool="t"),
        ApprovalDecided(approval_key="k", decision="denied"),
    )
    assert [span.ok for span in failed.spans] == [False, False]


def test_waiting_for_an_approval_lasts_until_this_very_request_is_decided_or_void() -> None:
    def request_started(name: str) -> ApprovalRequested:
        return ApprovalRequested(approval_id=name, approval_key="same", tool="t", call_id="c")

    spans = _timeline(
        request_started("a1"),
        ApprovalRefused(reason="unknown", approval_id="a1", message_id="m"),
        ApprovalRefused(reason="changed", approval_id="a1", call_id="c"),
        request_started("a2"),
        ApprovalDecided(approval_id="a2", approval_key="same", decision="approved"),
    ).spans
    assert [(span.first_seq, span.last_seq, span.ok) for span in spans] == [(0, 2, False), (3, 4, True)]


def test_an_answer_that_broke_off_ends_when_the_model_is_asked_again() -> None:
    request_started = LlmRequestStarted(model="m")
    first, second = _timeline(request_started, request_started, LlmResponseFinished(finish_reason="stop")).spans
    assert (first.last_seq, first.ok, second.last_seq, second.ok) == (1, False, 2, True)


@pytest.mark.parametrize("end", ENDS)
def test_no_bar_outlives_the_run(end: Payload) -> None:
    begun = (LlmRequestStarted(model="m"), ToolCallStarted(call_id="c", tool="t"), HumanRequest(call_id="q"))
    timeline = _timeline(*begun, end)
    assert [(span.ended_at, span.ok) for span in timeline.spans] == [("2026-01-01T00:00:03Z", False)] * 3
    assert not timeline.open


def test_usage_is_counted_for_each_model() -> None:
    usages = [LlmUsage(model=name, input_tokens=3, output_tokens=2, cached_tokens=1) for name in ("a", "b", "a")]
    totals = fold(numbered([LlmRequestStarted(model="a"), *usages]), UsageTotals()).models
    assert (totals["a"].requests, totals["a"].input_tokens, totals["a"].cached_tokens) == (1, 6, 2)
    assert (totals["b"].requests, totals["b"].output_tokens) == (0, 2)


def test_unanswered_requests_are_pending() -> None:
    request_started = [
        ApprovalRequested(approval_key="k", tool="t", call_id="c", summary="s"),
        HumanRequest(call_id="q"),
    ]
    pending = fold(numbered(request_started), Pending())
    assert (pending.approvals.open["k"].call_id, pending.approvals.open["k"].seq) == ("c", 0)
    assert pending.questions["q"].since == "2026-01-01T00:00:01Z"
    answered = [
        ApprovalDecided(approval_key="k", decision="approved"),
        HumanResponse(call_id="q"),
        ToolCallFinished(call_id="q", tool="ask_human", result={}),
    ]
    assert fold(numbered([*request_started, *answered]), Pending()) == Pending()


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_pending_once_the_run_has_ended(end: Payload) -> None:
    assert fold(numbered([ApprovalRequested(approval_key="k", tool="t"), end]), Pending()) == Pending()


def test_metrics_add_up_what_happened() -> None:
    summary = fold(numbered(sample_events(end=True)), Metrics()).summary()
    assert summary["status"] == "completed"
    assert summary["wall_time_ms"] == 13_000
    assert summary["counts"] == {
        "turns_total": 1,
        "llm_requests_total": 1,
        "tool_calls_total": 1,
        "approvals_requested_total": 1,
        "approvals_decided_total": 1,
        "human_requests_total": 1,
    }
    assert summary["llm"] == {"input_tokens_total": 10, "output_tokens_total": 5, "total_tokens_total": 15}
    assert summary["tools"]["by_name"]["write"] == {"calls": 1, "ok": 1, "failed": 0, "duration_ms_total": 4}
    assert summary["errors"] == []


def test_metrics_name_the_error_a_run_ended_with() -> None:
    summary = fold(numbered([RunFailed(error_kind="auth_error", message="no")]), Metrics()).summary()
    assert summary["errors"] == [{"error_kind": "auth_error", "message": "no"}]


def test_metrics_of_nothing_are_empty_and_no_error() -> None:
    assert Metrics().summary()["wall_time_ms"] is None
