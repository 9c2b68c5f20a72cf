"""The gate and what is left of a run: a call that starts again, a fork and a replay pass it like any other call."""

import asyncio
from pathlib import Path

import pytest

from skills_runtime.engine.replay import replay
from skills_runtime.ports import Decision, Question
from skills_runtime.runs import read_events
from skills_runtime.testing import says
from tests.support.agents import Answering, calls, writes
from tests.unit.safety.approvals.stage import Stage, Yes


class Again:
    """Somebody who says of every call under way that it shall be made again."""

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        return "it did not happen: do it again"


def approved(directory: Path) -> Stage:
    """A run with one approved call, killed when that had started and done nothing yet."""
    stage = Stage(directory, [calls(writes("a.txt", "one")), says("done")])
    stage.work()
    stage.decide()
    assert stage.work().status == "completed"
    stage.kill_after("tool_call_started")
    (directory / "a.txt").unlink()
    return stage


def test_a_call_that_had_started_is_made_again_as_it_was_approved(tmp_path: Path) -> None:
    stage = approved(tmp_path)
    assert stage.work().status == "completed"
    assert (tmp_path / "a.txt").read_text() == "one"
    assert len(stage.all("approval_requested")) == 1


def test_a_call_that_had_started_and_is_denied_by_now_is_not_made_again(tmp_path: Path) -> None:
    stage = approved(tmp_path)
    stage.work(mode="deny")
    assert stage.files() == []


def test_a_restarted_call_does_not_replace_an_unapproved_file(tmp_path: Path) -> None:
    stage = approved(tmp_path)
    (tmp_path / "a.txt").write_text("somebody's own, written since")
    stage.work()
    assert (tmp_path / "a.txt").read_text() == "somebody's own, written since"


def test_a_script_that_changed_since_its_start_needs_approval_before_it_runs_again(tmp_path: Path) -> None:
    script = tmp_path / "do.sh"
    script.write_text("touch one")
    stage = Stage(tmp_path, [calls(("shell_command", {"command": "sh ./do.sh"})), says("done")], human=Again())
    stage.work(Answering("approved"))
    stage.kill_after("tool_call_started")
    script.write_text("touch two")
    approver = Answering("denied")
    stage.work(approver)
    assert len(approver.asked) == 1
    assert "two" not in stage.files()


def test_a_fork_behind_the_start_of_a_call_asks_before_it_makes_the_call(tmp_path: Path) -> None:
    stage = approved(tmp_path)
    stage.work()
    (tmp_path / "a.txt").unlink()
    seq = next(event.seq for event in read_events(stage.paths) if event.type == "tool_call_started")
    approver = Answering("denied")
    agent = stage.agent(approver)
    asyncio.run(agent.execute(agent.fork(stage.paths.root, seq)))
    assert len(approver.asked) == 1
    assert stage.files() == []


def test_a_fork_behind_an_approval_asks_anew(tmp_path: Path) -> None:
    stage = approved(tmp_path)
    stage.work()
    (tmp_path / "a.txt").unlink()
    seq = next(event.seq for event in read_events(stage.paths) if event.type == "approval_decided")
    approver = Answering("denied")
    agent = stage.agent(approver)
    asyncio.run(agent.execute(agent.fork(stage.paths.root, seq)))
    assert len(approver.asked) == 1
    assert stage.files() == []


def test_a_fork_does_not_inherit_what_was_approved_for_the_session_of_another_process(tmp_path: Path) -> None:
    twice = [calls(writes("a.txt", "one")), calls(writes("a.txt", "one")), says("done")]
    stage = Stage(tmp_path, twice)
    stage.work(Answering("approved_for_session", "approved"))
    seq = next(event.seq for event in read_events(stage.paths) if event.type == "tool_call_finished")
    (tmp_path / "a.txt").unlink()
    approver = Answering("denied")
    agent = stage.agent(approver)
    asyncio.run(agent.execute(agent.fork(stage.paths.root, seq)))
    assert len(approver.asked) == 1


def test_a_run_with_an_approval_can_be_replayed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), says("done")])
    agent = stage.agent(Yes())
    result = agent.run("Go.")
    assert asyncio.run(replay(Path(result.wal_locator).parent, agent.resolved)) is None


@pytest.mark.parametrize("change", [{"run_id": "another"}, {"approval_key": "0" * 64}])
def test_a_run_killed_before_it_refused_a_decision_does_not_honour_it(tmp_path: Path, change: dict[str, str]) -> None:
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), says("done")])
    stage.work()
    stage.send(**change)
    assert stage.work().status == "waiting_human"
    stage.kill_after("inbox_received")
    assert stage.work(inbox=False).status == "waiting_human"
    assert stage.files() == []


@pytest.mark.parametrize("event", ["approval_requested", "run_waiting_human"])
def test_a_run_killed_while_it_asks_asks_the_same_again(tmp_path: Path, event: str) -> None:
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), says("done")])
    stage.work()
    first = stage.asked()
    stage.kill_after(event)
    assert stage.work().status == "waiting_human"
    assert stage.asked() == first


def test_a_run_killed_behind_a_session_approval_runs_each_call_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), says("done")])
    stage.work()
    stage.decide("approved_for_session")
    stage.work()
    stage.kill_after("approval_decided")
    (tmp_path / "a.txt").unlink()
    assert stage.work().status == "completed"
    assert stage.files() == ["a.txt"]
    assert len(stage.all("tool_call_started")) == 1


def test_rules_for_the_run_hold_after_a_kill_and_not_in_a_fork(tmp_path: Path) -> None:
    rule = {"scope": "run", "text": "rules:\n- name: x\n  effect: allow\n  tool: file_write\n  path: ./b.txt\n"}
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), calls(writes("b.txt", "two")), says("done")])
    stage.work(Answering(Decision(decision="approved", rule=rule)))
    stage.kill_after("tool_call_finished")
    (tmp_path / "b.txt").unlink()
    assert stage.work(Answering()).status == "completed"
    assert stage.files() == ["a.txt", "b.txt"]
    seq = next(event.seq for event in read_events(stage.paths) if event.type == "tool_call_finished")
    approver = Answering("denied")
    agent = stage.agent(approver)
    asyncio.run(agent.execute(agent.fork(stage.paths.root, seq)))
    assert len(approver.asked) == 1
