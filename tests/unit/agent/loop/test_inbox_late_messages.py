"""Messages to a run that nobody works on any more when it ends: the log tells of each, and the inbox keeps none."""

from pathlib import Path

import pytest

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.engine.replay import replay
from skills_runtime.runs import RunPaths, verify_run
from skills_runtime.testing import says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import agent_in, events_of, payloads_of

RUN_ID = "run_1"


@pytest.mark.parametrize(("decision", "end"), [("approve", "run_completed"), ("cancel", "run_cancelled")])
async def test_a_message_that_came_too_late_is_recorded_in_the_log(tmp_path: Path, decision: str, end: str) -> None:
    inbox = InMemoryInbox()
    desk = RunControl(inbox, log_ports())
    agent = agent_in(tmp_path, [says("a draft")], settings={"run": {"review": "required"}}, inbox=inbox)
    result = await agent.run_async("Go.", run_id=RUN_ID)
    paths = RunPaths(Path(result.wal_locator).parent)
    desk.send(paths, "wait, shorter please")
    desk.approve(paths) if decision == "approve" else desk.cancel(paths)
    (received,) = payloads_of(result.wal_locator, "inbox_received")
    assert received.body == {"text": "wait, shorter please"}
    assert events_of(result.wal_locator)[-1].type == end
    assert list(inbox.pending(RUN_ID)) == []
    assert verify_run(paths.root, log_ports().keys).findings == []
    assert await replay(paths.root, agent.resolved) is None


async def test_what_was_approved_is_the_answer_and_not_the_message_after_it(tmp_path: Path) -> None:
    inbox = InMemoryInbox()
    agent = agent_in(tmp_path, [says("a draft")], settings={"run": {"review": "required"}}, inbox=inbox)
    result = await agent.run_async("Go.", run_id=RUN_ID)
    paths = RunPaths(Path(result.wal_locator).parent)
    desk = RunControl(inbox, log_ports())
    desk.send(paths, "wait, shorter please")
    desk.approve(paths)
    (completed,) = payloads_of(result.wal_locator, "run_completed")
    assert completed.final_output == "a draft"
