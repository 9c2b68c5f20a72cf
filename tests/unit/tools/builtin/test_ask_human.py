"""ask_human and request_user_input: what a person is asked, and how the answers come back."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.ports import Choice, Question
from skills_runtime.ports.tools import Parked
from skills_runtime.testing import FrozenClock
from skills_runtime.tools.builtin import AskHuman, RequestUserInput
from skills_runtime.tools.invoke import invoke
from tests.support.tools import Workshop, data_of

TWO: dict[str, Any] = {
    "questions": [
        {"id": "color", "header": "Color", "question": "Which one?", "options": [{"label": "red"}]},
        {"id": "why", "question": "Why?"},
    ]
}


async def test_a_question_is_asked_and_answered(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, answers={"answer": "blue, please"})
    result = await workshop.call(AskHuman(), question="Which?", choices=["red", "blue"], context="For the door.")
    assert (result.ok, result.stdout, data_of(result)) == (True, "blue, please", {"answer": "blue, please"})
    assert workshop.asked == [
        Question(question="Which?", choices=(Choice("red"), Choice("blue")), context="For the door.")
    ]


async def test_a_question_may_stand_alone(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, answers={"answer": ""})
    assert data_of(await workshop.call(AskHuman(), question="Well?")) == {"answer": ""}
    assert workshop.asked == [Question(question="Well?")]


async def test_several_questions_are_asked_together_and_answered_in_order(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, answers={"why": "warm", "color": "red"})
    result = await workshop.call(RequestUserInput(), **TWO)
    assert data_of(result) == {"answers": [{"id": "color", "answer": "red"}, {"id": "why", "answer": "warm"}]}
    assert result.stdout == "color: red\nwhy: warm"
    assert workshop.asked == [
        Question(id="color", header="Color", question="Which one?", choices=(Choice("red"),)),
        Question(id="why", question="Why?"),
    ]


async def test_what_an_option_means_is_shown(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, answers={"a": "x"})
    options = [{"label": "x", "description": "the first"}]
    await workshop.call(RequestUserInput(), questions=[{"id": "a", "question": "?", "options": options}])
    assert workshop.asked[0].choices == (Choice("x", "the first"),)


@pytest.mark.parametrize(("tool", "arguments"), [(AskHuman(), {"question": "Well?"}), (RequestUserInput(), TWO)])
async def test_without_a_user_the_call_waits(tool: Any, arguments: dict[str, Any], workshop: Workshop) -> None:
    with pytest.raises(Parked):
        await invoke(tool, arguments, workshop, clock=FrozenClock())


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [{"id": "a", "question": ""}],
        [{"id": "", "question": "?"}],
        [{"question": "?"}],
        [{"id": "a", "question": "?"}, {"id": "a", "question": "!"}],
        [{"id": "a", "question": "?", "options": ["x"]}],
        [{"id": str(number), "question": "?"} for number in range(21)],
    ],
)
async def test_questions_that_cannot_be_asked_are_refused(questions: list[Any], workshop: Workshop) -> None:
    with pytest.raises(ToolError) as caught:
        await workshop.call(RequestUserInput(), questions=questions)
    assert caught.value.kind == "validation"
    assert workshop.asked == []


@pytest.mark.parametrize("tool", [AskHuman(), RequestUserInput()])
def test_asking_again_is_harmless(tool: AskHuman | RequestUserInput) -> None:
    assert (tool.spec.effect, tool.spec.recovery) == ("read", "retry")
