"""People in the loop: questions of tools, and what becomes of calls that were under way when the process died."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.errors import NotFound
from skills_runtime.ports import Choice, HumanIO, Question, Recovery, ToolContext, ToolResult, ToolSpec
from skills_runtime.runs import RunPaths, read_view, runs_root
from skills_runtime.testing import FakeModel, says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import Doing, Person, calls, events_of, payloads_of
from tests.support.events import check_request

RUN_ID = "run_1"
HAPPENED, AGAIN = "it happened", "it did not happen: do it again"


class Nobody:
    """A person who does not answer in time."""

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Give up."""
        raise TimeoutError("nobody is there")


def agent_for(directory: Path, watched: FakeModel, *tools: Any, human: HumanIO | None = None, **more: Any) -> Agent:
    agent = Agent(
        workspace_root=directory,
        backend=watched,
        session_settings={"safety": {"mode": "allow"}},
        human_io=human,
        **more,
    )
    for tool in tools:
        agent.register_tool(tool)
    return agent


def told_to(watched: FakeModel) -> list[dict[str, Any]]:
    """The results the model was told last."""
    check_request(watched.requests[-1])
    return [json.loads(message["content"]) for message in watched.requests[-1].messages if message["role"] == "tool"]


def test_an_attending_user_answers_at_once(tmp_path: Path) -> None:
    person, watched = (
        Person("blue"),
        FakeModel([calls(("ask_human", {"question": "Which?", "choices": ["blue"]})), says("x")]),
    )
    result = agent_for(tmp_path, watched, human=person).run("Go.")
    assert result.status == "completed"
    assert told_to(watched)[0]["stdout"] == "blue"
    assert [(question.question, question.choices) for question in person.asked] == [("Which?", (Choice("blue"),))]
    (payloads,), (answered,) = (payloads_of(result.wal_locator, name) for name in ("human_request", "human_response"))
    assert (payloads.question, payloads.choices, answered.answer) == ("Which?", ["blue"], "blue")


def test_the_question_is_durable_before_asking(tmp_path: Path) -> None:
    seen: list[str] = []

    class Looking(Person):
        async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
            seen.append(events_of(str(runs_root(tmp_path) / RUN_ID / "events.jsonl"))[-1].type)
            return await super().ask(question, call_id=call_id, timeout_ms=timeout_ms)

    watched = FakeModel([calls(("ask_human", {"question": "?"})), says("x")])
    agent_for(tmp_path, watched, human=Looking("yes")).run("Go.", run_id=RUN_ID)
    assert seen == ["human_request"]


def test_a_tool_that_asks_twice_in_one_call_gets_both_answers(tmp_path: Path) -> None:
    messages: list[Mapping[str, str]] = []

    async def work(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        messages.append(await context.ask(Question(id="colour", question="Which colour?")))
        messages.append(await context.ask(Question(id="size", question="Which size?")))
        return ToolResult(ok=True)

    person = Person("blue", "small")
    agent_for(tmp_path, FakeModel([calls(("do", {})), says("x")]), Doing(work), human=person).run("Go.")
    assert messages == [{"colour": "blue"}, {"size": "small"}]


@pytest.mark.parametrize("names", [("size",), ("size", "shape")])
def test_answers_from_elsewhere_have_the_names_of_their_questions(tmp_path: Path, names: tuple[str, ...]) -> None:
    expected = [{"id": name, "question": f"Which {name}?"} for name in names]
    watched = FakeModel([calls(("request_user_input", {"questions": expected})), says("x")])
    agent, paths = (
        agent_for(tmp_path, watched, inbox=(inbox := InMemoryInbox())),
        RunPaths(runs_root(tmp_path) / RUN_ID),
    )
    assert agent.run("Go.", run_id=RUN_ID).status == "waiting_human"
    RunControl(inbox, log_ports()).answer(paths, "big")
    assert agent.run("", run_id=RUN_ID).status == "completed"
    assert told_to(watched)[0]["data"]["answers"] == [{"id": name, "answer": "big"} for name in names]


def test_an_unanswered_question_is_not_open_any_more(tmp_path: Path) -> None:
    seen: list[Mapping[str, Any]] = []
    paths = RunPaths(runs_root(tmp_path) / RUN_ID)

    async def look(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        seen.append(read_view(paths, log_ports()).pending.questions)
        with suppress(NotFound):
            RunControl(InMemoryInbox(), log_ports()).answer(paths, "too late")
            raise RuntimeError("the answer was taken")
        return ToolResult(ok=True)

    watched = FakeModel([calls(("ask_human", {"question": "?"})), calls(("do", {})), says("x")])
    result = agent_for(tmp_path, watched, Doing(look), human=Nobody()).run("Go.", run_id=RUN_ID)
    assert result.status == "completed"
    assert told_to(watched)[0]["error_kind"] == "timeout"
    assert told_to(watched)[1]["ok"]
    assert seen == [{}]


class Killed(BaseException):
    """The process dies."""


class Effect:
    """Something that happens each time it is called; the first time the process dies around it."""

    def __init__(self, recovery: Recovery | None, *, before: bool) -> None:
        self.spec = ToolSpec(name="do", description="Does it.", parameters={"type": "object"}, recovery=recovery)
        self.happened = 0
        self._before = before
        self._dead = False

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Do it."""
        dies, self._dead = not self._dead, True
        if dies and self._before:
            raise Killed
        self.happened += 1
        if dies:
            raise Killed
        return ToolResult(ok=True, stdout="done")

    async def verify(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult | None:
        """Look."""
        return ToolResult(ok=True, stdout="seen") if self.happened else None


def killed_in(directory: Path, effect: Effect, human: HumanIO | None = None) -> tuple[Any, FakeModel]:
    """A run whose process dies in the call, and what a second process makes of it."""
    script = [calls(("do", {})), says("x")]
    with pytest.raises(Killed):
        agent_for(directory, FakeModel(script), effect, human=human).run("Go.", run_id=RUN_ID)
    watched = FakeModel(script)
    return agent_for(directory, watched, effect, human=human).run("", run_id=RUN_ID), watched


@pytest.mark.parametrize("before", [True, False])
def test_a_possible_effect_is_unknown_without_a_user_to_ask(tmp_path: Path, before: bool) -> None:
    effect = Effect(None, before=before)
    result, watched = killed_in(tmp_path, effect)
    assert (result.status, effect.happened) == ("completed", 0 if before else 1)
    (outcome,) = told_to(watched)
    assert (outcome["ok"], outcome["error_kind"]) == (False, "unknown")
    assert outcome["stderr"].startswith("outcome unknown")


@pytest.mark.parametrize(
    ("answer", "before", "happened", "text"),
    [(HAPPENED, False, 1, "it happened"), (AGAIN, True, 1, "done"), ("nobody knows", False, 1, "outcome unknown")],
)
def test_the_user_is_asked_whether_an_effect_happened(
    tmp_path: Path, answer: str, before: bool, happened: int, text: str
) -> None:
    person, effect = Person(answer), Effect(None, before=before)
    result, watched = killed_in(tmp_path, effect, person)
    assert (result.status, effect.happened, len(person.asked)) == ("completed", happened, 1)
    assert text in json.dumps(told_to(watched)[0])
    assert {choice.label for choice in person.asked[0].choices} >= {HAPPENED, AGAIN}


@pytest.mark.parametrize(("before", "text"), [(True, "done"), (False, "seen")])
def test_a_tool_that_can_look_is_asked_first(tmp_path: Path, before: bool, text: str) -> None:
    effect = Effect("verify", before=before)
    result, watched = killed_in(tmp_path, effect)
    assert (result.status, effect.happened) == ("completed", 1)
    assert told_to(watched)[0]["stdout"] == text


@pytest.mark.parametrize(("before", "happened"), [(True, 1), (False, 2)])
def test_a_tool_that_says_so_is_tried_again(tmp_path: Path, before: bool, happened: int) -> None:
    effect = Effect("retry", before=before)
    result, _ = killed_in(tmp_path, effect)
    assert (result.status, effect.happened) == ("completed", happened)


def test_a_tool_whose_effect_must_not_be_guessed_at_ends_the_run(tmp_path: Path) -> None:
    effect = Effect("fail", before=False)
    result, watched = killed_in(tmp_path, effect)
    assert (result.status, result.error_kind, effect.happened) == ("failed", "unknown", 1)
    assert "do" in result.final_output
    assert not watched.requests
