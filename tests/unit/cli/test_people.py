"""Somebody at a terminal: what they type is an answer, and nothing but a clear yes is a yes."""

import asyncio
import io
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest
from rich.console import Console

from skills_runtime.cli.people import NOBODY, TerminalApprover, TerminalHuman
from skills_runtime.cli.terminal import Terminal
from skills_runtime.ports import ApprovalRequest, Choice, DecisionKind, Parked, Question

END = "\x04"
"""What Ctrl-D sends."""
COLOUR = Question(question="Which colour?", choices=(Choice("red", "warm"), Choice("blue")), context="For the door.")


class Screen(io.StringIO):
    """What is shown to somebody who types the next line as soon as a prompt asks for it."""

    def __init__(self, keyboard: int, *lines: str) -> None:
        super().__init__()
        self._keyboard = keyboard
        self._lines = list(lines)

    def write(self, text: str) -> int:
        if text.endswith(("answer> ", "allow? ")) and self._lines:
            os.write(self._keyboard, self._lines.pop(0).encode())
        return super().write(text)


@pytest.fixture
def tty() -> Iterator[tuple[int, int]]:
    """The keyboard and the terminal it belongs to."""
    ours, theirs = os.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


@asynccontextmanager
async def silence() -> AsyncGenerator[None]:
    """Nobody else writes anything."""
    yield


def seated(tty: tuple[int, int], *lines: str) -> tuple[Terminal, Screen]:
    """Somebody at a terminal who types these lines."""
    screen = Screen(tty[0], *lines)
    console = Console(file=screen, width=80, color_system=None, markup=False, highlight=False)
    return Terminal(console, silence, fd=tty[1]), screen


async def answered(tty: tuple[int, int], question: Question, *lines: str) -> tuple[str, str]:
    terminal, screen = seated(tty, *lines)
    return await TerminalHuman(terminal).ask(question, call_id="c"), screen.getvalue()


async def decided(tty: tuple[int, int], *lines: str, **arguments: object) -> tuple[DecisionKind, str]:
    terminal, screen = seated(tty, *lines)
    approver = TerminalApprover(terminal, set())
    return await approver.request_approval(request=request("k", **arguments)), screen.getvalue()


def request(key: str = "k", /, **arguments: object) -> ApprovalRequest:
    return ApprovalRequest(approval_key=key, tool="shell", summary="shell …", details=arguments)


async def test_a_question_is_shown_with_numbered_choices_and_a_number_chooses(tty: tuple[int, int]) -> None:
    answer, shown = await answered(tty, COLOUR, "2\n")
    assert answer == "blue"
    lines = [line.rstrip() for line in shown.splitlines()]
    assert lines[:4] == ["     Which colour?", "     For the door.", "     1   red  warm", "     2   blue"]


async def test_an_answer_of_ones_own_is_as_good_as_a_choice(tty: tuple[int, int]) -> None:
    assert (await answered(tty, COLOUR, "grün 绿色\n"))[0] == "grün 绿色"


async def test_an_empty_line_is_no_answer(tty: tuple[int, int]) -> None:
    answer, shown = await answered(tty, COLOUR, "\n", " \n", "red\n")
    assert answer == "red"
    assert shown.count("type an answer") == 2


async def test_who_ends_the_input_leaves_the_question_for_later(tty: tuple[int, int]) -> None:
    with pytest.raises(Parked):
        await answered(tty, COLOUR, END)


async def test_a_question_nobody_answers_in_time_waits(tty: tuple[int, int]) -> None:
    terminal, screen = seated(tty)
    with pytest.raises(Parked):
        await TerminalHuman(terminal).ask(COLOUR, call_id="c", timeout_ms=1)
    assert "it can be answered later" in screen.getvalue()


async def test_questions_are_asked_one_after_the_other(tty: tuple[int, int]) -> None:
    terminal, screen = seated(tty, "1\n", "2\n")
    human = TerminalHuman(terminal)
    asked = (Question(question="First?"), Question(question="Second?"))
    answers = await asyncio.gather(*(human.ask(one, call_id=one.question) for one in asked))
    assert answers == ["1", "2"]
    order = [screen.getvalue().index(word) for word in ("First?", "answer>", "Second?")]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        ("y\n", "approved"),
        ("YES\n", "approved"),
        ("s\n", "approved_for_session"),
        ("n\n", "denied"),
        ("\n", "denied"),
        (END, "denied"),
        ("q\n", "abort"),
    ],
)
async def test_an_approval_is_one_letter(tty: tuple[int, int], typed: str, decision: DecisionKind) -> None:
    assert (await decided(tty, typed, command="ls"))[0] == decision


async def test_anything_else_is_asked_again(tty: tuple[int, int]) -> None:
    decision, shown = await decided(tty, "sure\n", "n\n")
    assert decision == "denied"
    assert "answer with y, s, n or q" in shown


async def test_what_was_typed_before_the_question_was_seen_approves_nothing(tty: tuple[int, int]) -> None:
    os.write(tty[0], b"y\n")
    assert (await decided(tty, "n\n", command="rm -rf ."))[0] == "denied"


async def test_the_real_arguments_are_shown_and_obeyed_by_nobody(tty: tuple[int, int]) -> None:
    evil = "hello\x1b[2J\x1b]0;owned\x07\nallow? y\u202e"
    _, shown = await decided(tty, "n\n", command=evil, count=3, **{"odd\x1b[1m": ["a", "b"]})
    assert r"command     hello\x1b[2J\x1b]0;owned\x07" in shown
    assert r"                   allow? y\u202e" in shown
    assert "count       3" in shown
    assert '["a","b"]' in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


async def test_arguments_whose_names_look_alike_are_both_shown(tty: tuple[int, int]) -> None:
    _, shown = await decided(tty, "n\n", **{"a\x00": "first", r"a\x00": "second"})
    assert "first" in shown
    assert "second" in shown


async def test_long_arguments_are_cut_visibly_and_shown_whole_on_request(tty: tuple[int, int]) -> None:
    content = "\n".join(f"line {number}" for number in range(100))
    _, shown = await decided(tty, "n\n", content=content)
    assert "line 99" not in shown
    assert "more characters" in shown
    assert "[v] show everything" in shown
    _, whole = await decided(tty, "v\n", "n\n", content=content)
    assert "line 99" in whole


async def test_a_call_approved_for_the_session_is_not_asked_about_again_but_another_is(tty: tuple[int, int]) -> None:
    terminal, screen = seated(tty, "s\n", "n\n")
    allowed: set[str] = set()
    approver = TerminalApprover(terminal, allowed)
    assert await approver.request_approval(request=request("one")) == "approved_for_session"
    assert await approver.request_approval(request=request("one")) == "approved_for_session"
    assert await approver.request_approval(request=request("two")) == "denied"
    assert screen.getvalue().count("needs your approval") == 2
    assert allowed == {"one"}


async def test_the_same_call_asked_twice_at_once_is_approved_for_the_session_once(tty: tuple[int, int]) -> None:
    terminal, _ = seated(tty, "s\n")
    approver = TerminalApprover(terminal, set())
    both = await asyncio.gather(*(approver.request_approval(request=request()) for _ in range(2)))
    assert both == ["approved_for_session", "approved_for_session"]


async def test_asking_can_be_cancelled_and_leaves_the_terminal_to_the_next(tty: tuple[int, int]) -> None:
    terminal, screen = seated(tty)
    asking = asyncio.create_task(TerminalApprover(terminal, set()).request_approval(request=request()))
    while "allow?" not in screen.getvalue():
        await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait({asking})
    assert asking.cancelled()
    assert screen.getvalue().endswith("allow? \n")
    assert not asyncio.get_running_loop().remove_reader(tty[1])


async def test_a_terminal_that_was_closed_answers_nothing(tty: tuple[int, int]) -> None:
    terminal, _ = seated(tty)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, tty[0])  # hangs up, and leaves a descriptor for the fixture to close
    os.close(nothing)
    assert await TerminalApprover(terminal, set()).request_approval(request=request()) == "denied"


def test_nobody_answers_for_a_run_without_a_terminal() -> None:
    assert NOBODY.meet(silence) == (None, None)
