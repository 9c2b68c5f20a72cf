"""`run.resume_strategy`: a run that goes on has its whole past before it, or a summary of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.loop import Control
from skills_runtime.testing import says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import SUMMARY, Doing, SmallWindow, calls, events_of, payloads_of, spoken_to, succeed
from tests.support.events import check_request

RUN_ID = "run_1"
TASK = "Write of the sea."
ASK = calls(("ask_human", {"question": "Which colour?"}))


class Story:
    """A run that looks at things, asks somebody, waits, and goes on."""

    def __init__(self, directory: Path, strategy: str | None, *, looks: int = 4, **recovery: Any) -> None:
        before = [calls(("look", {"n": n})) for n in range(looks)]
        self.model = SmallWindow([*before, ASK, calls(("look", {"n": 9})), says("done")])
        self.inbox = InMemoryInbox()
        rules = {"compaction_keep_last_messages": 2, **recovery}
        chosen = {"resume_strategy": strategy} if strategy else {}
        self._settings = {"safety": {"mode": "allow"}, "run": {**chosen, "context_recovery": rules}}
        self._place = directory

    def agent(self) -> Agent:
        """Somebody who works on it."""
        agent = Agent(workspace_root=self._place, backend=self.model, session_settings=self._settings, inbox=self.inbox)
        agent.register_tool(Doing(succeed, name="look", effect="read"))
        return agent

    def run(self) -> RunResult:
        """Run it until it waits, answer, and go on to the end."""
        parked = self.agent().run(TASK, run_id=RUN_ID)
        assert parked.status == "waiting_human"
        self.inbox.send(RUN_ID, "answer", {"answer": "blue"})
        result = self.agent().run("", run_id=RUN_ID)
        for request in self.model.requests:
            check_request(request)
        return result


def _results_in(request: Any) -> int:
    return sum(message["role"] == "tool" for message in request.messages)


@pytest.mark.parametrize("strategy", [None, "replay"])
def test_a_resumed_run_has_its_whole_past_before_it(tmp_path: Path, strategy: str | None) -> None:
    story = Story(tmp_path, strategy)
    result = story.run()
    assert (result.status, result.final_output) == ("completed", "done")
    assert not story.model.compactions
    assert [_results_in(request) for request in story.model.requests] == [0, 1, 2, 3, 4, 5, 6]


def test_a_resumed_run_continues_from_a_summary(tmp_path: Path) -> None:
    story = Story(tmp_path, "summary")
    result = story.run()
    assert (result.status, result.final_output) == ("completed", "done")
    after = story.model.requests[5]
    assert spoken_to(after)[0] == TASK
    assert SUMMARY in spoken_to(after)[1]
    assert _results_in(after) == 1, "what the newest answer asked for is not summed up before the model has seen it"
    assert "blue" in str(after.messages[-1])


def test_what_a_resumed_run_continues_from_is_recorded(tmp_path: Path) -> None:
    result = Story(tmp_path, "summary").run()
    begun, resumed = payloads_of(result.wal_locator, "run_started")
    assert (begun.resume["enabled"], resumed.resume["enabled"]) == (False, True)
    assert resumed.resume["strategy"] == "summary"
    (started,), (compacted,) = (
        payloads_of(result.wal_locator, name) for name in ("compaction_started", "context_compacted")
    )
    assert started.reason == compacted.reason == "resume"
    assert (Path(result.wal_locator).parent / compacted.artifact_path).read_text() == SUMMARY


def test_a_run_that_is_not_resumed_is_not_summarized(tmp_path: Path) -> None:
    story = Story(tmp_path, "summary")
    assert story.agent().run(TASK).status == "waiting_human"
    assert not story.model.compactions


def test_a_short_past_is_left_as_it_is(tmp_path: Path) -> None:
    story = Story(tmp_path, "summary", looks=0)
    assert story.run().status == "completed"
    assert not story.model.compactions


def test_a_run_that_may_not_compact_any_more_continues_with_everything(tmp_path: Path) -> None:
    story = Story(tmp_path, "summary", window_tokens=1, compact_at=0.001, max_compactions_per_run=1)
    assert story.run().status == "completed"
    assert len(story.model.compactions) == 1


def test_without_a_summary_an_excerpt_takes_its_place(tmp_path: Path) -> None:
    story = Story(tmp_path, "summary")
    story.model = SmallWindow([*(calls(("look", {"n": n})) for n in range(4)), ASK, says("done")], summaries=[None])
    result = story.run()
    assert result.status == "completed"
    (compacted,) = payloads_of(result.wal_locator, "context_compacted")
    assert "call_look_0" in compacted.summary


def test_a_run_that_was_resumed_and_died_before_its_summary_gets_one_the_next_time(tmp_path: Path) -> None:
    story = Story(tmp_path, "summary")
    story.agent().run(TASK, run_id=RUN_ID)
    story.inbox.send(RUN_ID, "answer", {"answer": "blue"})
    agent = story.agent()
    root = agent.workspace_root / ".skills_runtime_sdk" / "runs" / RUN_ID
    left = Control()
    left.yielding = True
    asyncio.run(agent.execute(agent.resume(root), control=left))
    assert not story.model.compactions
    assert story.agent().run("", run_id=RUN_ID).status == "completed"
    assert len(story.model.compactions) == 1


def test_each_time_a_run_continues_it_is_summarized_once(tmp_path: Path) -> None:
    story = Story(tmp_path, "summary")
    again = [calls(("look", {"n": n})) for n in range(3)]
    story.model = SmallWindow([*again, ASK, *again, ASK, says("done")])
    assert story.run().status == "waiting_human"
    story.inbox.send(RUN_ID, "answer", {"answer": "green"})
    result = story.agent().run("", run_id=RUN_ID)
    assert result.status == "completed"
    assert [payload.reason for payload in payloads_of(result.wal_locator, "context_compacted")] == ["resume", "resume"]


def test_a_fork_has_the_whole_past_before_it(tmp_path: Path) -> None:
    story = Story(tmp_path, "summary")
    result = story.run()
    agent = story.agent()
    messages = [event.seq for event in events_of(result.wal_locator) if event.type == "human_response"]
    fork = agent.fork(Path(result.wal_locator).parent, messages[-1], run_id="run_2")
    assert asyncio.run(agent.execute(fork)).status == "completed"
    assert len(story.model.compactions) == 1
    assert _results_in(story.model.requests[-1]) == 6
