"""Somebody at a terminal is asked: what they type is an answer, and silence is none."""

import asyncio
from collections.abc import Iterator

import pytest

from skills_runtime.cli.options import ViewOptions
from skills_runtime.cli.terminal import NO_PARTICIPANTS, InteractionOptions, TerminalHuman, resolve_interaction
from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import Choice, Parked, Question
from skills_runtime.safety import InboxApprovals
from tests.unit.cli.seat import END, Tty, open_tty, seated, silence

COLOUR = Question(question="Which colour?", choices=(Choice("red", "warm"), Choice("blue")), context="For the door.")


@pytest.fixture
def tty() -> Iterator[Tty]:
    with open_tty() as both:
        yield both


async def answered(tty: Tty, question: Question, *lines: str) -> tuple[str, str]:
    terminal, screen = seated(tty, *lines)
    return await TerminalHuman(terminal).ask(question, call_id="c"), screen.getvalue()


async def test_a_question_is_shown_with_numbered_choices_and_a_number_chooses(tty: Tty) -> None:
    answer, shown = await answered(tty, COLOUR, "2\n")
    assert answer == "blue"
    lines = [line.rstrip() for line in shown.splitlines()]
    assert lines[:4] == ["     Which colour?", "     For the door.", "     1   red  warm", "     2   blue"]


async def test_an_answer_of_ones_own_is_as_good_as_a_choice(tty: Tty) -> None:
    assert (await answered(tty, COLOUR, "grün 绿色\n"))[0] == "grün 绿色"


async def test_an_empty_line_is_no_answer(tty: Tty) -> None:
    answer, shown = await answered(tty, COLOUR, "\n", " \n", "red\n")
    assert answer == "red"
    assert shown.count("type an answer") == 2


async def test_end_of_input_leaves_the_question_for_later(tty: Tty) -> None:
    with pytest.raises(Parked):
        await answered(tty, COLOUR, END)


async def test_a_question_without_an_answer_in_time_waits(tty: Tty) -> None:
    terminal, screen = seated(tty)
    with pytest.raises(Parked):
        await TerminalHuman(terminal).ask(COLOUR, call_id="c", timeout_ms=1)
    assert "answer it later" in screen.getvalue()


async def test_questions_are_asked_one_after_the_other(tty: Tty) -> None:
    terminal, screen = seated(tty, "1\n", "2\n")
    human = TerminalHuman(terminal)
    asked = (Question(question="First?"), Question(question="Second?"))
    answers = await asyncio.gather(*(human.ask(one, call_id=one.question) for one in asked))
    assert answers == ["1", "2"]
    order = [screen.getvalue().index(word) for word in ("First?", "answer>", "Second?")]
    assert order == sorted(order)


def test_a_run_without_a_terminal_gets_no_answer() -> None:
    interaction = NO_PARTICIPANTS.build_interaction(silence, print)
    assert (interaction.human, interaction.approver) == (None, None)


def test_approvals_may_be_left_for_later_without_a_terminal() -> None:
    interaction = InteractionOptions(approvals="inbox").build_interaction(silence, print)
    assert interaction.human is None
    assert isinstance(interaction.approver, InboxApprovals)


@pytest.mark.parametrize("options", [ViewOptions(), ViewOptions(json=True), ViewOptions(quiet=True)])
def test_without_a_terminal_approvals_need_an_explicit_option(options: ViewOptions) -> None:
    assert resolve_interaction(options).approvals == "none"
    assert resolve_interaction(options, "inbox").approvals == "inbox"
    assert resolve_interaction(options, default="inbox").approvals == "inbox"
    assert resolve_interaction(options, "none", default="inbox").approvals == "none"


def test_a_terminal_that_is_not_there_cannot_be_asked_for_approvals() -> None:
    with pytest.raises(ValidationFailed, match="needs an interactive terminal"):
        resolve_interaction(ViewOptions(quiet=True), "terminal")
