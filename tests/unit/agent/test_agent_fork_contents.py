"""What a fork keeps of its parent: what people said to it, and what they gave it."""

import asyncio
from pathlib import Path

from skills_runtime.testing import FakeModel, InMemoryInbox, says
from tests.support.agents import Doing, Person, SmallWindow, agent_in, calls, events_of, spoken_to, succeed

FIVE_CALLS = [*(calls(("look", {"n": n}), ids=[f"call_{n}"]) for n in range(5)), says("done")]


def test_another_task_before_the_first_answer_keeps_later_messages(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    inbox.send("parent", "steer", {"text": "Be brief."})
    parent = agent_in(tmp_path, [says("done")], inbox=inbox).run("Go.", run_id="parent")
    count = next(event.seq for event in events_of(parent.wal_locator) if event.type == "inbox_received")
    watched = FakeModel([says("done")])
    agent = agent_in(tmp_path, watched)
    asyncio.run(agent.execute(agent.fork(Path(parent.wal_locator).parent, count, prompt="Something else.")))
    assert spoken_to(watched.requests[0]) == ["Something else.", "Be brief."]


def test_a_fork_may_make_the_calls_that_its_parent_was_given(tmp_path: Path) -> None:
    recovery = {"mode": "ask_first", "increase_budget_extra_steps": 10}
    settings = {"run": {"max_steps": 3, "context_recovery": recovery}}
    person = Person("increase_budget_continue")
    agent = agent_in(tmp_path, SmallWindow(FIVE_CALLS, refusals=[2]), settings=settings, human=person)
    agent.register_tool(Doing(succeed, name="look", effect="read"))
    parent = agent.run("Go.")
    more = [*FIVE_CALLS, calls(("look", {}), ids=["another"]), says("still done")]
    agent = agent_in(tmp_path, more, settings=settings)
    agent.register_tool(Doing(succeed, name="look", effect="read"))
    end = events_of(parent.wal_locator)[-1].seq
    fork = agent.fork(Path(parent.wal_locator).parent, end, prompt="And now?")
    result = asyncio.run(agent.execute(fork))
    assert parent.status == "completed", "five calls where three were allowed"
    assert (result.status, result.final_output) == ("completed", "still done")
