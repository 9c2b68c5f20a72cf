"""Which requests are open, and which of them is meant, where several runs ask the same."""

from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.cli.approvals import find_request, open_requests
from skills_runtime.cli.options import ConfigOptions, open_service
from skills_runtime.engine import OpenApproval
from skills_runtime.errors import ApprovalStale
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.runs import RunPaths
from skills_runtime.safety import InboxApprovals
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.agent.subagents.test_children import Waiting


def test_what_a_sub_agent_asks_is_asked_once_by_the_run_that_began_it(tmp_path: Path) -> None:
    with open_service(ConfigOptions(str(tmp_path))) as service:
        Agent(
            workspace_root=tmp_path,
            backend=Waiting([calls(writes("a.txt", "one")), says("child done")]),
            session_settings={"safety": {"mode": "ask", "tool_allowlist": ["spawn_agent", "wait"]}},
            approval_provider=InboxApprovals(),
            inbox=service.ledger.inbox,
        ).run("parent task", run_id="parent")
        (asked,) = open_requests(service)
        assert (asked.run_id, asked.parent) == ("parent", None)
        assert asked.request().details == {"path": "a.txt", "content": "one"}
        assert find_request(service, "parent") == asked


def test_a_damaged_run_hides_no_other(tmp_path: Path) -> None:
    broken = tmp_path / ".skills_runtime_sdk/runs/broken"
    broken.mkdir(parents=True)
    (broken / "events.jsonl").write_text("nonsense\n")
    with open_service(ConfigOptions(str(tmp_path))) as service:
        assert open_requests(service) == []
        with pytest.raises(ApprovalStale):
            find_request(service, "broken")


def test_a_request_of_an_older_log_is_shown_as_far_as_it_is_known(tmp_path: Path) -> None:
    pending = PendingApproval(
        approval_id="k", approval_key="k", tool="do", call_id="c", summary="do it", seq=1, since="2026-01-01T00:00:00Z"
    )
    asked = OpenApproval(paths=RunPaths(tmp_path), run_id="r", session_id="s", pending=pending)
    assert (asked.request().summary, asked.request().approval_key) == ("do it", "k")
