"""Arguments that an approver changed: exactly these run, once, and the log does not tell what a tool hides."""

import asyncio
from pathlib import Path

import pytest

from skills_runtime.ports import Decision
from skills_runtime.runs import read_events
from skills_runtime.testing import says
from tests.support.agents import Answering, calls, writes
from tests.unit.safety.approvals.stage import Stage, Yes

EDITED = {"path": "b.txt", "content": "two"}


def stage_in(directory: Path, times: int = 1, **more: str) -> Stage:
    return Stage(directory, [*[calls(writes("a.txt", "one"))] * times, says("done")], variables=more or None)


def approved_as_changed(directory: Path) -> Stage:
    """A run whose only call somebody changed; it is completed."""
    stage = stage_in(directory)
    stage.work()
    stage.decide(arguments=EDITED)
    assert stage.work().status == "completed"
    assert stage.files() == ["b.txt"]
    return stage


@pytest.mark.parametrize("event", ["inbox_received", "approval_decided"])
def test_a_run_killed_behind_a_changed_approval_never_runs_the_original(tmp_path: Path, event: str) -> None:
    stage = approved_as_changed(tmp_path)
    stage.kill_after(event)
    (tmp_path / "b.txt").unlink()
    approver = Yes()
    assert stage.work(approver).status == "completed"
    assert stage.files() == ["b.txt"]
    assert approver.asked == [], "what was decided is not asked again"


def test_a_run_killed_when_the_changed_call_had_started_runs_the_change(tmp_path: Path) -> None:
    stage = approved_as_changed(tmp_path)
    stage.kill_after("tool_call_started")
    (tmp_path / "b.txt").unlink()
    assert stage.work().status == "completed"
    assert stage.files() == ["b.txt"]


def test_a_change_approved_for_the_session_does_not_approve_the_original(tmp_path: Path) -> None:
    stage = stage_in(tmp_path, times=2)
    stage.work()
    stage.decide("approved_for_session", arguments=EDITED)
    assert stage.work().status == "waiting_human"
    assert stage.files() == ["b.txt"]


def test_a_change_approved_for_the_session_does_not_approve_the_original_in_other_runs(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    approver = Answering(Decision(decision="approved_for_session", arguments=EDITED), "denied")
    agent = stage.agent(approver)
    agent.run("Go.")
    agent.run("Again.")
    assert len(approver.asked) == 2
    assert stage.files() == ["b.txt"]


def test_a_fork_behind_the_start_of_a_changed_call_never_runs_the_original(tmp_path: Path) -> None:
    stage = approved_as_changed(tmp_path)
    (tmp_path / "b.txt").unlink()
    seq = next(event.seq for event in read_events(stage.paths) if event.type == "tool_call_started")
    agent = stage.agent(Answering("denied"))
    asyncio.run(agent.execute(agent.fork(stage.paths.root, seq)))
    assert "a.txt" not in stage.files()


def test_a_fork_before_the_start_of_a_call_asks_anew(tmp_path: Path) -> None:
    stage = approved_as_changed(tmp_path)
    seq = next(event.seq for event in read_events(stage.paths) if event.type == "approval_decided")
    approver = Answering("denied")
    agent = stage.agent(approver)
    asyncio.run(agent.execute(agent.fork(stage.paths.root, seq)))
    assert [request.details["path"] for request in approver.asked] == ["a.txt"]
    assert "a.txt" not in stage.files()


def test_the_log_does_not_keep_what_the_tool_hides_of_changed_arguments(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    stage.work()
    stage.decide(arguments={"path": "b.txt", "content": "a private letter"})
    assert stage.work().status == "completed"
    assert "a private letter" not in stage.paths.events.read_text()


def test_a_change_that_holds_a_secret_runs_as_it_was_approved(tmp_path: Path) -> None:
    stage = stage_in(tmp_path, MY_API_TOKEN="kV7-my-secret-Q9Z")
    stage.work()
    stage.decide(arguments={"path": "b.txt", "content": "key=kV7-my-secret-Q9Z"})
    assert stage.work().status == "completed"
    assert (tmp_path / "b.txt").read_text() == "key=kV7-my-secret-Q9Z"


def test_an_edit_that_is_no_valid_arguments_runs_nothing(tmp_path: Path) -> None:
    stage = stage_in(tmp_path)
    assert stage.work(Answering(Decision(decision="approved", arguments={}))).status == "completed"
    assert stage.files() == []


def test_a_rule_that_comes_with_a_denial_is_not_added(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), calls(writes("b.txt", "two")), says("done")])
    rule = {"scope": "run", "text": "rules:\n- name: x\n  effect: allow\n  tool: file_write\n"}
    approver = Answering(Decision(decision="denied", rule=rule), "denied")
    stage.work(approver)
    assert len(approver.asked) == 2
    assert stage.files() == []


def test_a_rule_that_cannot_be_read_does_not_stop_the_run_from_working(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), calls(("list_dir", {"dir_path": "."})), says("done")])
    stage.work(Answering(Decision(decision="approved", rule={"scope": "run", "text": "nonsense: ["})))
    assert [payload.result["ok"] for payload in stage.all("tool_call_finished")][-1]
