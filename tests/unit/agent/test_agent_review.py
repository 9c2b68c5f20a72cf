"""Review: a run whose result somebody has to look at before it is completed."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.engine import RunControl
from skills_runtime.errors import IllegalTransition, SkillsRuntimeError, ValidationFailed
from skills_runtime.llm import FakeChatCall
from skills_runtime.runs import RunPaths, read_record, runs_root, verify_run
from skills_runtime.testing import FakeModel, says
from skills_runtime.testing.inbox import InMemoryInbox
from tests.support.agents import calls, payloads_of, writes
from tests.support.events import check_request

RUN_ID = "run_1"
SCRIPT = [calls(writes("deliverables/report.md", "# R")), says("first version"), says("second version")]


class Reviewed:
    """A run with review, its inbox and its desk."""

    def __init__(self, directory: Path, script: list[FakeChatCall], **run: Any) -> None:
        self.inbox = InMemoryInbox()
        self.watched = FakeModel(script)
        self.paths = RunPaths(runs_root(directory) / RUN_ID)
        self.desk = RunControl(self.inbox, log_ports())
        self.agent = Agent(
            workspace_root=directory,
            backend=self.watched,
            session_settings={"safety": {"mode": "allow"}, "run": {"review": "required", **run}},
            inbox=self.inbox,
        )

    def work(self) -> Any:
        """Work until the run stops."""
        return self.agent.run("Go.", run_id=RUN_ID)


@pytest.fixture
def reviewed(tmp_path: Path) -> Reviewed:
    return Reviewed(tmp_path, SCRIPT)


def test_a_run_that_is_done_waits_for_review(reviewed: Reviewed) -> None:
    result = reviewed.work()
    assert (result.status, result.final_output) == ("waiting_human", "first version")
    assert read_record(reviewed.paths.run_json).status == "review_required"


def test_an_approved_run_is_completed_with_its_deliverables(reviewed: Reviewed) -> None:
    reviewed.work()
    assert reviewed.desk.approve(reviewed.paths, "well done") == "completed"
    (completed,) = payloads_of(str(reviewed.paths.events), "run_completed")
    assert (completed.final_output, completed.artifacts) == ("first version", ["deliverables/report.md"])
    assert completed.metadata["review"] == {"decision": "approved", "note": "well done"}
    assert verify_run(reviewed.paths.root, log_ports().keys).findings == []


def test_the_note_of_a_revision_is_the_next_thing_the_model_reads(reviewed: Reviewed) -> None:
    reviewed.work()
    assert reviewed.desk.revise(reviewed.paths, "shorter, please") == "revision_required"
    assert read_record(reviewed.paths.run_json).status == "revision_required"
    result = reviewed.work()
    assert reviewed.watched.requests[-1].messages[-2:] == [
        {"role": "assistant", "content": "first version"},
        {"role": "user", "content": "shorter, please"},
    ]
    assert (result.status, result.final_output) == ("waiting_human", "second version")
    for request in reviewed.watched.requests:
        check_request(request)
    reviewed.desk.approve(reviewed.paths)
    assert read_record(reviewed.paths.run_json).status == "completed"


def test_structured_output_is_there_to_be_reviewed(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, [says('{"a": 1}')], output_schema={"type": "object"})
    assert reviewed.work().output == {"a": 1}


def test_a_run_that_waits_for_review_is_not_worked_on(reviewed: Reviewed) -> None:
    reviewed.work()
    before = reviewed.paths.events.read_bytes()
    with pytest.raises(IllegalTransition):
        reviewed.work()
    assert reviewed.paths.events.read_bytes() == before


def test_a_run_that_does_not_wait_for_review_is_not_reviewed(tmp_path: Path) -> None:
    asking = Reviewed(tmp_path, [calls(("ask_human", {"question": "?"})), says("x")])
    asking.work()
    before = asking.paths.events.read_bytes()
    for review in (lambda: asking.desk.approve(asking.paths), lambda: asking.desk.revise(asking.paths, "no")):
        with pytest.raises(IllegalTransition, match="waiting_for_user"):
            review()
    assert asking.paths.events.read_bytes() == before
    assert asking.inbox.unacknowledged_count(RUN_ID) == 0


def test_a_run_that_was_sent_back_is_not_reviewed_a_second_time(reviewed: Reviewed) -> None:
    reviewed.work()
    reviewed.desk.revise(reviewed.paths, "shorter")
    for review in (lambda: reviewed.desk.approve(reviewed.paths), lambda: reviewed.desk.revise(reviewed.paths, "x")):
        with pytest.raises(IllegalTransition, match="revision_required"):
            review()


def test_a_completed_run_is_not_reviewed(reviewed: Reviewed) -> None:
    reviewed.work()
    reviewed.desk.approve(reviewed.paths)
    with pytest.raises(SkillsRuntimeError):
        reviewed.desk.approve(reviewed.paths)


@pytest.mark.parametrize("note", ["", "  \n"])
def test_a_revision_without_a_note_is_refused(reviewed: Reviewed, note: str) -> None:
    reviewed.work()
    with pytest.raises(ValidationFailed):
        reviewed.desk.revise(reviewed.paths, note)
    assert read_record(reviewed.paths.run_json).status == "review_required"


def test_a_revision_sent_again_after_a_crash_is_one_message(reviewed: Reviewed) -> None:
    class Dying(InMemoryInbox):
        """Stores the message and takes the process with it."""

        def send(self, *arguments: Any, **more: Any) -> Any:
            reviewed.inbox.send(*arguments, **more)
            raise SystemExit

    reviewed.work()
    with pytest.raises(SystemExit):
        RunControl(Dying(), log_ports()).revise(reviewed.paths, "shorter")
    assert read_record(reviewed.paths.run_json).status == "review_required"
    reviewed.desk.revise(reviewed.paths, "shorter")
    reviewed.work()
    texts = [message["content"] for message in reviewed.watched.requests[-1].messages if message["role"] == "user"]
    assert texts == ["Go.", "shorter"]


def test_a_run_that_waits_for_review_can_be_cancelled(reviewed: Reviewed) -> None:
    reviewed.work()
    reviewed.desk.cancel(reviewed.paths)
    assert read_record(reviewed.paths.run_json).status == "cancelled"
