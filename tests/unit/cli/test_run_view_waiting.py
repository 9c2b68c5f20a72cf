"""What people see of a run that asks, waits, thinks or was stopped."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from skills_runtime.cli.output import status_text
from skills_runtime.cli.run_text import Steps
from skills_runtime.cli.run_view import Heading, HumanView, QuietView, RunOutcome, format_usage
from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    ChildRunFinished,
    ChildRunStarted,
    HumanRequest,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    LlmUsage,
    RunWaitingHuman,
    ToolCallStarted,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState, RunView, fold
from skills_runtime.testing import FrozenClock
from tests.support.events import numbered
from tests.unit.cli.showing import asked, ending, events, finished, shown

DONE = ending(RunStatus.COMPLETED)


def waiting(kind: str, message: str, *payloads: Payload) -> RunOutcome:
    """A run that has asked, or was stopped, or came to a limit."""
    parked = RunWaitingHuman(message=message, error_kind=kind)
    view = fold(events(*payloads, parked), RunView())
    view.state.run_id = "r"
    return RunOutcome(Path("/runs/r"), view.state, pending=view.pending)


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_run_that_asks_ends_with_the_question_its_choices_and_the_command_that_answers_it() -> None:
    question = HumanRequest(call_id="c", question="Which?", choices=["red", "blue"])
    lines = lines_of(shown(question, end=waiting("human_required", "waits", question)))
    assert "asks Which? [red | blue]" in lines
    assert any(line.startswith("asks you Which? ") for line in lines)
    at = lines.index("1 red")
    assert lines[at + 1 : at + 4] == ["2 blue", "answer kgent runs answer r NUMBER", "then kgent runs resume r"]


def test_every_open_question_is_shown_with_its_own_command() -> None:
    both = (HumanRequest(call_id="c1", question="One?"), HumanRequest(call_id="c2", question="Two?"))
    lines = lines_of(shown(end=waiting("human_required", "waits", *both)))
    assert "answer kgent runs answer r TEXT --call c1" in lines
    assert lines.index("Two?") < lines.index("answer kgent runs answer r TEXT --call c2")


def test_a_run_at_its_limit_says_how_it_gets_more() -> None:
    text = shown(end=waiting("budget_exceeded", "the run has used 9 tokens; raise `run.max_tokens` to continue"))
    assert " limit reached  the run has used 9 tokens;" in text
    assert "go on  kgent runs resume r --set run.max_tokens=MORE" in text


def test_a_run_stopped_by_a_signal_says_how_it_goes_on() -> None:
    end = waiting("stopped", "stopped")
    text = shown(end=RunOutcome(end.root, end.state, signal=2))
    assert " stopped; resume with: kgent runs resume r" in text
    assert text.count("runs resume") == 1


def test_the_last_line_counts_steps_tokens_and_money_of_sub_agents_too() -> None:
    state = fold(
        events(
            LlmUsage(model="m", input_tokens=60, output_tokens=30, cost_usd=0.5),
            ChildRunStarted(call_id="c", child_run_id="r-1", root="/r"),
            ChildRunFinished(child_run_id="r-1", status="completed", input_tokens=10, cost_usd=0.25),
            asked(),
        ),
        RunState(),
    )
    assert format_usage(state) == "1 step · - · 100 tokens · $0.75"
    assert format_usage(RunState(cost_usd=0.0042, input_tokens=2)) == "0 steps · - · 2 tokens · $0.0042"
    assert format_usage(RunState()) == "0 steps · - · 0 tokens"


def test_reasoning_is_one_line_with_its_beginning() -> None:
    pieces = [LlmResponseDelta(delta_type="reasoning", text=text) for text in ("The sum\nis ", "four. " * 200)]
    answer = (LlmRequestStarted(model="m"), *pieces, LlmResponseFinished(finish_reason="stop"))
    text = shown(*answer, end=DONE, width=60).replace("\x1b[?25l", "")
    (line,) = [line for line in text.splitlines() if "thought" in line]
    assert line.startswith("     thought  The sum is four. four.")
    assert line.endswith("…")
    assert len(line) <= 60


def test_a_view_that_is_held_writes_nothing_until_it_is_released() -> None:
    file = io.StringIO()
    view = HumanView(Console(file=file, width=80), Heading("A", "m", "shared"), program="kgent", clock=FrozenClock())
    view.start(Path("/runs/r"), "r")
    before = file.getvalue()
    view.pause()
    for event in events(asked(), finished(ok=True)):
        view.show_event(event)
    view.show_stopping()
    assert file.getvalue() == before
    view.resume()
    rest = file.getvalue().removeprefix(before)
    assert [line.split()[0] for line in rest.splitlines()] == ["1", "stopping;"]


def test_a_question_asked_at_this_terminal_is_not_repeated() -> None:
    file = io.StringIO()
    heading, clock = Heading("A", "m", "shared"), FrozenClock()
    view = HumanView(Console(file=file, width=80), heading, program="kgent", clock=clock, is_interactive=True)
    view.show_event(events(HumanRequest(call_id="c", question="Which?"))[0])
    assert file.getvalue() == ""


def test_a_step_that_began_before_the_run_was_resumed_keeps_its_number() -> None:
    begun = ToolCallStarted(call_id="c", tool="shell")
    (step,) = fold(numbered([begun, finished(ok=True)], step_ids={0: "step_7"}), Steps()).all
    assert (step.number, step.tool, step.progress) == (7, "shell", "done")


def test_a_quiet_run_that_waits_says_what_for_and_how_to_answer(capsys: pytest.CaptureFixture[str]) -> None:
    question = HumanRequest(call_id="c", question="Which?")
    QuietView("kgent").finish(waiting("human_required", "waits", question))
    assert capsys.readouterr().err == (
        "error: the run `r` is waiting: Which?\n  kind: human_required\n"
        "  hint: `kgent runs answer r TEXT`, then `kgent runs resume r`\n"
    )


@pytest.mark.parametrize(
    ("status", "kind", "word"),
    [
        ("waiting_for_user", "stopped", "◇ stopped"),
        ("waiting_for_user", "budget_exceeded", "◆ limit reached"),
        ("waiting_for_user", "human_required", "◆ asks you"),
        ("waiting_for_user", "of_the_future", "◆ waiting for you"),
        ("review_required", None, "◆ review required"),
        ("completed", "stopped", "✓ completed"),
    ],
)
def test_a_run_that_waits_says_what_for_in_a_word(status: str, kind: str | None, word: str) -> None:
    assert status_text(status, kind).plain == word


APPROVAL = ApprovalRequested(
    approval_id="approval_0123abcd4567", approval_key="k", tool="shell", call_id="c", summary="shell x"
)


def test_a_waiting_run_shows_the_request_and_the_command_to_decide() -> None:
    lines = lines_of(shown(asked(command="x"), APPROVAL, end=waiting("human_required", "waits", APPROVAL)))
    assert "asks shell x" in lines
    assert any(line.startswith("asks you an approval of shell x") for line in lines)
    assert "approve kgent approvals approve 0123abcd" in lines


def test_decisions_are_shown_as_they_happen() -> None:
    decided = ApprovalDecided(approval_key="k", decision="denied", reason="inbox", decided_by="ada", note="not now")
    assert "     decided  denied by ada: not now\n" in shown(APPROVAL, decided, end=ending(RunStatus.COMPLETED))


def test_a_decision_that_no_longer_counts_is_reported_in_one_line_that_fits() -> None:
    refused = ApprovalRefused(reason="changed", approval_id="approval_0123abcd4567", call_id="c")
    text = shown(APPROVAL, refused, end=ending(RunStatus.COMPLETED), width=80)
    assert "     void  the call has changed, so approval is requested again\n" in text


def test_a_step_waits_until_its_approval_is_decided_or_void() -> None:
    for end in (
        ApprovalDecided(approval_key="k", decision="approved", call_id="c"),
        ApprovalRefused(reason="changed", call_id="c"),
    ):
        steps = fold(events(asked(), APPROVAL), Steps())
        assert steps.all[0].progress == "waiting"
        steps.apply(events(end)[0])
        assert steps.all[0].progress == "running"
