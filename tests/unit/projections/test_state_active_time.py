"""How long a run has worked: the time in which it waits for somebody does not count."""

import pytest

from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    ContextRecoveryDecided,
    HumanRequest,
    HumanResponse,
    RunStarted,
    RunWaitingHuman,
    ToolCallFinished,
)
from skills_runtime.projections import RunState

STARTED = RunStarted(task="Go.")
PARKED = RunWaitingHuman(message="later")


def asks(call_id: str = "a") -> HumanRequest:
    return HumanRequest(call_id=call_id, question="Which?")


def hears(call_id: str = "a") -> HumanResponse:
    return HumanResponse(call_id=call_id, answer="blue")


def worked(*story: tuple[int, Payload] | tuple[int, Payload, int]) -> float:
    """The seconds a run has worked after payloads at these seconds, each perhaps in an epoch of its own."""
    state = RunState()
    for seq, (second, payload, *epoch) in enumerate(story):
        at = f"2026-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.000000Z"
        number = epoch[0] if epoch else 1
        kind = payload.event_type
        event = Event(seq=seq, type=kind, timestamp=at, run_id="run_1", payload=payload, epoch=number)
        state.apply(event)
    return state.worked_sec


def test_the_time_between_a_question_and_its_answer_is_no_work() -> None:
    assert worked((0, STARTED), (10, asks()), (610, hears()), (615, PARKED)) == 15


def test_the_time_between_a_request_and_its_decision_is_no_work() -> None:
    requested = ApprovalRequested(approval_key="k", tool="do", call_id="a")
    decision = ApprovalDecided(approval_key="k", decision="approved", call_id="a")
    assert worked((0, STARTED), (10, requested), (610, decision), (615, PARKED)) == 15


def test_several_questions_at_the_same_time_are_waited_for_once() -> None:
    story = [(10, asks("a")), (20, asks("b")), (110, hears("a")), (210, hears("b"))]
    assert worked((0, STARTED), *story, (220, PARKED)) == 20


def test_questions_one_after_another_are_each_no_work() -> None:
    story = [(10, asks("a")), (110, hears("a")), (120, asks("a#2")), (220, hears("a#2"))]
    assert worked((0, STARTED), *story, (230, PARKED)) == 30


def test_an_unanswered_question_counts_as_waiting_until_its_call_ends() -> None:
    finished = ToolCallFinished(call_id="a", tool="ask_human", result={"ok": False})
    assert worked((0, STARTED), (10, asks("a#2")), (110, finished), (130, PARKED)) == 30


def test_a_question_about_the_context_is_waited_for_until_it_is_decided() -> None:
    decision = ContextRecoveryDecided(mode="ask_first", decision="terminate")
    assert worked((0, STARTED), (10, asks("context-recovery#1")), (110, decision), (130, PARKED)) == 30


def test_a_run_that_is_stopped_while_an_answer_is_pending_has_not_worked_meanwhile() -> None:
    assert worked((0, STARTED), (10, asks()), (610, PARKED)) == 10


def test_a_process_that_dies_while_an_answer_is_pending_has_not_worked_meanwhile() -> None:
    assert worked((0, STARTED), (10, asks()), (3000, STARTED, 2), (3005, PARKED, 2)) == 15


def test_what_is_asked_again_later_is_no_work_then_either() -> None:
    first = [(0, STARTED), (10, asks()), (10, PARKED)]
    assert worked(*first, (5000, STARTED, 2), (5001, asks(), 2), (6001, hears(), 2), (6002, PARKED, 2)) == 12


def test_an_answer_to_something_that_an_earlier_segment_asked_changes_nothing() -> None:
    assert worked((0, STARTED), (10, asks()), (10, PARKED), (50, STARTED, 2), (60, hears(), 2), (70, PARKED, 2)) == 30


@pytest.mark.parametrize("late", [hears("other"), ToolCallFinished(call_id="other", tool="x", result={})])
def test_what_others_are_told_does_not_end_the_waiting(late: Payload) -> None:
    assert worked((0, STARTED), (10, asks()), (50, late), (110, hears()), (120, PARKED)) == 20
