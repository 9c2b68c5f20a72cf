"""The words of the model and the output of tools, as they arrive."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from skills_runtime.cli.run_view import ChatView, Heading, HumanView, RunOutcome
from skills_runtime.events.payloads import (
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunWaitingHuman,
    ToolCallStarted,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import Call, RunView, fold
from skills_runtime.projections.conversation import Content
from skills_runtime.testing import FrozenClock
from tests.unit.cli.showing import asked, ending, events, finished, shown

DONE = ending(RunStatus.COMPLETED)
FIRST = [LlmRequestStarted(model="m"), LlmResponseDelta(delta_type="text", text="I look "),
         LlmResponseDelta(delta_type="text", text="first.")]  # fmt: skip
CALLS = LlmResponseFinished(finish_reason="tool_calls", calls=["c"])
LAST = [LlmRequestStarted(model="m"), LlmResponseDelta(delta_type="text", text="All\nis well."),
        LlmResponseFinished(finish_reason="stop")]  # fmt: skip


def lines_of(text: str) -> list[str]:
    """The lines that stay on the screen."""
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).splitlines()
    return [line.rpartition("\r")[2].rstrip() for line in lines if "…  " not in line]


def test_words_are_shown_in_order_with_the_steps() -> None:
    payloads = [*FIRST, CALLS, asked(command="ls"), finished(ok=True, stdout="a\nb\n", exit_code=0), *LAST]
    lines = lines_of(shown(*payloads, end=DONE, width=60))
    assert lines[1] == "I look first."
    assert re.fullmatch(r"  1  shell ls +exit 0 +0 ms", lines[2])
    assert lines[3:7] == ["     a", "     b", "All", "is well."]


def test_an_answer_that_stdout_gets_is_not_shown_here_too() -> None:
    lines = lines_of(shown(*FIRST, CALLS, asked(command="ls"), *LAST, end=DONE, width=60, with_answer=False))
    assert "I look first." in lines
    assert "is well." not in lines


def test_a_file_gets_no_words_and_no_output() -> None:
    text = shown(*FIRST, CALLS, asked(command="ls"), finished(ok=True, stdout="a\nb\n"), *LAST, end=DONE)
    assert [line.split()[0] for line in text.splitlines()] == ["run", "1", "done", "files", "show"]


def view_on_terminal(file: io.StringIO, view: type[HumanView] = HumanView) -> HumanView:
    console = Console(file=file, width=60, force_terminal=True, color_system=None)
    heading = Heading("A", "m", "shared")
    return view(console, heading, program="kgent", clock=FrozenClock(), is_interactive=True, shows_answer=True)


@pytest.mark.parametrize(("answer", "is_shown"), [("All\nis well.\n", True), ("Something else", False), ("", False)])
def test_only_the_answer_that_was_streamed_counts_as_shown(answer: str, is_shown: bool) -> None:
    view = view_on_terminal(io.StringIO())
    for event in events(*FIRST, CALLS, *LAST):
        view.show_event(event)
    assert view.has_shown(answer) is is_shown


def test_an_answer_that_is_cut_off_is_shown_as_far_as_it_came() -> None:
    file = io.StringIO()
    view = view_on_terminal(file)
    for event in events(*FIRST):
        view.show_event(event)
    view.show_stopping()
    assert lines_of(file.getvalue())[:2] == ["I look first.", "     stopping; press Ctrl-C again to exit at once"]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(6, ["1", "2", "3", "4", "5", "6"]), (7, ["1", "2", "3", "4", "5", "… 2 more lines"])],
)
def test_long_output_is_cut_after_five_lines(count: int, expected: list[str]) -> None:
    output = "".join(f"{number}\n" for number in range(1, count + 1))
    lines = lines_of(shown(asked(command="seq"), finished(ok=True, stdout=output), end=DONE, width=60))
    assert [line.strip() for line in lines[2 : 2 + len(expected)]] == expected


def test_errors_are_shown_before_other_output_of_a_command_that_failed() -> None:
    result = finished(ok=False, exit_code=2, stdout="half\n", stderr="no such file\n")
    lines = lines_of(shown(asked(command="ls"), result, end=DONE, width=60))
    assert lines[1].split()[:4] == ["1", "shell", "ls", "exit"]
    assert lines[2:4] == ["     no such file", "     half"]


def test_output_cannot_control_the_terminal() -> None:
    text = shown(asked(command="ls"), finished(ok=True, stdout="\x1b]0;owned\x07"), end=DONE, width=60)
    assert "\x1b]0" not in text
    assert r"\x1b]0;owned\x07" in text


def test_a_resumed_step_has_its_argument_and_number() -> None:
    file = io.StringIO()
    view = view_on_terminal(file)
    arguments = Content(data={"path": "notes.md"})
    view.add_open_calls([Call(id="c", tool="file_write", arguments=arguments, step_id="step_3")])
    for event in events(ToolCallStarted(call_id="c", tool="file_write"), finished(ok=True)):
        view.show_event(event)
    assert "  3  file_write notes.md " in file.getvalue()


def test_a_turn_of_a_chat_that_completes_has_no_line_but_its_answer() -> None:
    file = io.StringIO()
    view = view_on_terminal(file, ChatView)
    view.start(Path("/runs/r"), "r")
    for event in events(*LAST):
        view.show_event(event)
    view.finish(DONE)
    assert [line for line in lines_of(file.getvalue()) if line] == ["All", "is well."]


def test_a_turn_of_a_chat_that_waits_says_what_for() -> None:
    file = io.StringIO()
    view = view_on_terminal(file, ChatView)
    state = fold(events(RunWaitingHuman(message="out of tokens", error_kind="budget_exceeded")), RunView()).state
    state.run_id = "r"
    view.finish(RunOutcome(Path("/runs/r"), state))
    assert " limit reached  out of tokens" in file.getvalue()
