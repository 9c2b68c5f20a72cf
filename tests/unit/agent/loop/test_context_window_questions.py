"""`ask_first`: whoever decides about a full context may do so days later, from somewhere else."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.ports import HumanIO, Question
from skills_runtime.runs import RunPaths, read_view, runs_root
from skills_runtime.testing import says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import SUMMARY, Doing, Person, SmallWindow, calls, events_of, payloads_of, succeed

RUN_ID = "run_1"


class Nobody:
    """A person who does not answer in time."""

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Give up."""
        raise TimeoutError("nobody is there")


class Full:
    """A run whose model refuses its third request, worked on by one agent after another."""

    def __init__(self, directory: Path, *, steps: int = 40, **recovery: Any) -> None:
        self.model = SmallWindow([*(calls(("look", {"n": n})) for n in range(4)), says("done")], refusals=[2])
        self.inbox = InMemoryInbox()
        self.paths = RunPaths(runs_root(directory) / RUN_ID)
        self._place = directory
        rules = {"mode": "ask_first", "compaction_keep_last_messages": 2, **recovery}
        self._settings = {"safety": {"mode": "allow"}, "run": {"max_steps": steps, "context_recovery": rules}}

    def work(self, human: HumanIO | None = None) -> RunResult:
        """Go on until the run ends or waits."""
        agent = Agent(
            workspace_root=self._place,
            backend=self.model,
            session_settings=self._settings,
            inbox=self.inbox,
            human_io=human,
        )
        agent.register_tool(Doing(succeed, name="look", effect="read"))
        return agent.run("Write of the sea.", run_id=RUN_ID)

    def answer(self, text: str) -> None:
        """Somebody decides."""
        RunControl(self.inbox, log_ports()).answer(self.paths, text)

    def recorded(self, event_type: str) -> list[Any]:
        """The payloads of one type."""
        return payloads_of(str(self.paths.events), event_type)

    @property
    def open_questions(self) -> list[str]:
        """What the run has asked and nobody has answered."""
        return list(read_view(self.paths, log_ports()).pending.questions)


def test_a_run_waits_for_the_decision(tmp_path: Path) -> None:
    full = Full(tmp_path)
    parked = full.work()
    assert (parked.status, parked.error_kind) == ("waiting_human", "human_required")
    (payload,) = full.recorded("human_request")
    assert payload.choices == ["compact_continue", "increase_budget_continue", "handoff_new_run", "terminate"]
    assert full.open_questions == [payload.call_id]
    assert not full.recorded("context_recovery_decided")
    assert not full.model.compactions


@pytest.mark.parametrize(
    ("answer", "status", "output"),
    [
        ("compact_continue", "completed", "done"),
        ("increase_budget_continue", "completed", "done"),
        ("handoff_new_run", "completed", SUMMARY),
        ("terminate", "failed", "the conversation is too long for the model"),
        ("whatever", "failed", "the conversation is too long for the model"),
    ],
)
def test_a_later_decision_continues_the_run(tmp_path: Path, answer: str, status: str, output: str) -> None:
    full = Full(tmp_path)
    full.work()
    full.answer(answer)
    result = full.work()
    assert (result.status, result.final_output) == (status, output)
    (decided,) = full.recorded("context_recovery_decided")
    assert (decided.decision, decided.fallback_mode) == (answer if answer != "whatever" else "terminate", None)
    assert [payloads.answer for payloads in full.recorded("human_response")] == [answer]
    assert len(full.recorded("context_length_exceeded")) == 1


def test_the_model_is_not_asked_again_before_a_decision(tmp_path: Path) -> None:
    full = Full(tmp_path)
    for _ in range(3):
        assert full.work().status == "waiting_human"
    assert len(full.model.requests) == 3
    assert len(full.recorded("human_request")) == 1


def test_the_decision_can_be_made_when_the_run_is_resumed(tmp_path: Path) -> None:
    full, person = Full(tmp_path), Person("compact_continue")
    full.work()
    assert full.work(person).status == "completed"
    assert len(person.asked) == 1


def test_more_budget_is_given_once_and_used(tmp_path: Path) -> None:
    full = Full(tmp_path, steps=3, increase_budget_extra_steps=1)
    full.work()
    full.answer("increase_budget_continue")
    assert full.work().status == "completed", "four calls are made where three were allowed"
    (more,) = full.recorded("budget_increased")
    assert more.extra_steps == 1


@pytest.mark.parametrize("stop", ["human_response", "context_recovery_decided", "compaction_started"])
def test_a_decision_survives_a_process_that_dies(tmp_path: Path, stop: str) -> None:
    full = Full(tmp_path)
    full.work()
    full.answer("increase_budget_continue")
    _die_after(full, tmp_path, stop)
    assert full.work().status == "completed"
    assert len(full.recorded("human_request")) == len(full.recorded("budget_increased")) == 1
    assert len(full.recorded("context_recovery_decided")) == len(full.recorded("context_compacted")) == 1


def _die_after(full: Full, directory: Path, event_type: str) -> None:
    """Work until an event of this type is in the log, as if the process had been killed then."""

    class Killed(BaseException):
        pass

    def kill(event: Any) -> None:
        if event.type == event_type:
            raise Killed

    rules = {"mode": "ask_first", "compaction_keep_last_messages": 2}
    settings = {"safety": {"mode": "allow"}, "run": {"context_recovery": rules}}
    agent = Agent(
        workspace_root=directory, backend=full.model, session_settings=settings, inbox=full.inbox, event_hooks=[kill]
    )
    agent.register_tool(Doing(succeed, name="look", effect="read"))
    with pytest.raises(Killed):
        agent.run("", run_id=RUN_ID)


@pytest.mark.parametrize(("fallback", "status"), [("compact_first", "completed"), ("fail_fast", "failed")])
def test_without_an_answer_in_time_the_settings_decide(tmp_path: Path, fallback: str, status: str) -> None:
    full = Full(tmp_path, ask_first_fallback_mode=fallback)
    assert full.work(Nobody()).status == status
    (decided,) = full.recorded("context_recovery_decided")
    assert decided.fallback_mode == fallback
    assert full.open_questions == []


def test_a_run_that_waits_for_a_decision_can_be_cancelled(tmp_path: Path) -> None:
    full = Full(tmp_path)
    full.work()
    full.inbox.send(RUN_ID, "cancel", {"reason": "enough"})
    assert full.work().status == "cancelled"
    assert events_of(str(full.paths.events))[-1].type == "run_cancelled"
