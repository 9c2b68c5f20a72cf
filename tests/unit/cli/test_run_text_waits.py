"""What a run waits for, and the commands that let it go on."""

from typing import Any

import pytest

from skills_runtime.cli.run_text import CommandFor, Wait, list_waits
from skills_runtime.engine.run_control import resolve_choice
from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ApprovalRequested,
    HumanRequest,
    InboxReceived,
    RunStateChanged,
    RunWaitingHuman,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState, RunView, fold
from tests.support.events import numbered

COMMAND = CommandFor("kgent", "r")
APPROVAL = ApprovalRequested(
    approval_id="approval_0123abcd4567", approval_key="k", tool="shell", call_id="c", summary="shell rm x"
)


def waits(*payloads: Payload, asked: dict[str, HumanRequest] | None = None) -> list[Wait]:
    view = fold(numbered(payloads), RunView())
    return list_waits(view.state, view.pending, COMMAND, asked)


def parked(kind: str = "human_required", message: str = "waits") -> RunWaitingHuman:
    return RunWaitingHuman(message=message, error_kind=kind)


def moved(status: RunStatus) -> RunStateChanged:
    return RunStateChanged(before="running", after=status.value)


def asks(call_id: str = "c1", **more: Any) -> HumanRequest:
    return HumanRequest(call_id=call_id, question="Which?", **more)


def test_a_question_is_answered_with_text_and_then_the_run_goes_on() -> None:
    (wait,) = waits(asks(), parked())
    assert wait.description == "Which?"
    assert wait.commands == {"answer": "kgent runs answer r TEXT", "then": "kgent runs resume r"}
    assert wait.join_commands() == "`kgent runs answer r TEXT`, then `kgent runs resume r`"


def test_a_question_with_choices_is_answered_with_a_number() -> None:
    (wait,) = waits(asks(choices=["red", "blue"]), parked())
    assert wait.choices == ("red", "blue")
    assert wait.commands["answer"] == "kgent runs answer r NUMBER"


def test_one_of_several_questions_is_named() -> None:
    first, second = waits(asks("c1"), asks("c 2"), parked())
    assert first.commands["answer"] == "kgent runs answer r TEXT --call c1"
    assert second.commands["answer"] == "kgent runs answer r TEXT --call 'c 2'"


def test_questions_asked_at_once_are_answered_by_their_names() -> None:
    parts: list[dict[str, Any]] = [
        {"id": "size", "question": "How big?"},
        {"id": "shape", "question": "Which shape?", "choices": [{"label": "round"}, {"label": "square"}]},
    ]
    asked = HumanRequest(call_id="c1", question="How big?; Which shape?", questions=parts)
    (wait,) = waits(asked, parked(), asked={"c1": asked})
    assert wait.commands["answer"] == "kgent runs answer r --set size=TEXT --set shape=TEXT"
    assert wait.parts == {"size": "How big?", "shape": "Which shape?  [round | square]"}
    assert wait.description == "answers to 2 questions"


def test_a_run_that_was_stopped_waits_to_be_resumed() -> None:
    (wait,) = waits(parked("stopped", "stopped"))
    assert wait.commands == {"go on": "kgent runs resume r"}


def test_a_run_at_its_limit_names_the_setting_that_gives_it_more() -> None:
    (wait,) = waits(parked("budget_exceeded", "the run has made 3 tool calls; raise `run.max_steps` to continue"))
    assert wait.commands == {"go on": "kgent runs resume r --set run.max_steps=MORE"}


def test_a_review_is_one_decision_or_the_other() -> None:
    (wait,) = waits(moved(RunStatus.REVIEW_REQUIRED))
    assert wait.join_commands() == "`kgent runs review approve r` or `kgent runs review revise r --note TEXT`"


def test_a_revision_waits_to_be_resumed() -> None:
    (wait,) = waits(moved(RunStatus.REVISION_REQUIRED))
    assert wait.commands == {"go on": "kgent runs resume r"}


def test_an_approval_is_looked_at_and_given_or_refused() -> None:
    (wait,) = waits(APPROVAL, parked())
    assert wait.description == "an approval of shell rm x"
    assert wait.commands == {
        "look": "kgent approvals show 0123abcd",
        "approve": "kgent approvals approve 0123abcd",
        "deny": "kgent approvals deny 0123abcd --reason TEXT",
    }


def test_an_approval_that_is_decided_waits_to_be_acted_on() -> None:
    body = {"approval_id": "approval_0123abcd4567", "decision": "approved"}
    (wait,) = waits(APPROVAL, InboxReceived(message_id="m", position=1, kind="approve", body=body), parked())
    assert wait.commands == {"go on": "kgent runs resume r"}


def test_a_run_that_was_stopped_while_it_asked_can_be_decided_on_or_resumed() -> None:
    first, second = waits(APPROVAL, parked("stopped", "stopped"))
    assert "approve" in first.commands
    assert second.commands == {"go on": "kgent runs resume r"}


@pytest.mark.parametrize("status", [RunStatus.PENDING, RunStatus.RUNNING, RunStatus.COMPLETED, RunStatus.FAILED])
def test_a_run_that_works_or_has_ended_waits_for_nothing(status: RunStatus) -> None:
    assert list_waits(RunState(status=status), RunView().pending, COMMAND) == []


def test_a_name_with_spaces_is_quoted() -> None:
    assert CommandFor("kgent", "my run")("runs resume") == "kgent runs resume 'my run'"


@pytest.mark.parametrize(
    ("text", "choices", "answer"),
    [
        ("2", ["red", "blue"], "blue"),
        (" blue ", ["red", "blue"], "blue"),
        ("3", ["red", "blue"], "3"),
        ("0", ["red", "blue"], "0"),
        ("green", ["red", "blue"], "green"),
        ("10", ["5", "10"], "10"),
        ("1", [], "1"),
        ("²", ["red", "blue"], "²"),
        ("9" * 5000, ["red"], "9" * 5000),
    ],
)
def test_a_number_stands_for_a_choice_unless_it_is_one(text: str, choices: list[str], answer: str) -> None:
    assert resolve_choice(text, choices) == answer
