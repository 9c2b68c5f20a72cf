"""Which requests are open, and which of them is meant, where several runs ask the same."""

from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.cli.approval_text import line_argument, rules_of
from skills_runtime.cli.requests import Asked, find_request, open_requests
from skills_runtime.cli.state import this_ledger
from skills_runtime.errors import ApprovalStale
from skills_runtime.ports import ApprovalRequest, FileTouch, Intent
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.safety import InboxApprovals
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.agent.test_children import Waiting


def test_what_a_sub_agent_asks_is_asked_once_by_the_run_that_began_it(tmp_path: Path) -> None:
    with this_ledger() as ledger:
        Agent(
            workspace_root=tmp_path,
            backend=Waiting([calls(writes("a.txt", "one")), says("child done")]),
            session_settings={"safety": {"mode": "ask", "tool_allowlist": ["spawn_agent", "wait"]}},
            approval_provider=InboxApprovals(),
            inbox=ledger.inbox,
        ).run("parent task", run_id="parent")
        (asked,) = open_requests(ledger, str(tmp_path))
        assert (asked.run_id, asked.parent) == ("parent", None)
        assert asked.request().details == {"path": "a.txt", "content": "one"}
        assert find_request("parent", ledger, str(tmp_path)) == asked


def test_a_damaged_run_hides_no_other(tmp_path: Path) -> None:
    broken = tmp_path / ".skills_runtime_sdk/runs/broken"
    broken.mkdir(parents=True)
    (broken / "events.jsonl").write_text("nonsense\n")
    with this_ledger() as ledger:
        assert open_requests(ledger, str(tmp_path)) == []
        with pytest.raises(ApprovalStale):
            find_request("broken", ledger, str(tmp_path))


def test_a_request_of_an_older_log_is_shown_as_far_as_it_is_known(tmp_path: Path) -> None:
    pending = PendingApproval(
        approval_id="k", approval_key="k", tool="do", call_id="c", summary="do it", seq=1, since="2026-01-01T00:00:00Z"
    )
    asked = Asked(root=tmp_path, run_id="r", pending=pending)
    assert (asked.request().summary, asked.request().approval_key) == ("do it", "k")


def request(intent: Intent, **details: object) -> ApprovalRequest:
    return ApprovalRequest(approval_key="k" * 64, tool="shell", summary="s", details=details, intent=intent)


def test_a_rule_of_a_command_is_about_that_command() -> None:
    rules = rules_of(request(Intent(line="git status"), command="git status"))
    exact = (("git", "status", "$"),)
    assert {word: rule.command for word, rule in rules.items()} == dict.fromkeys(("run", "you"), exact)


@pytest.mark.parametrize("line", ["make && rm x", "echo $HOME", "curl x | sh"])
def test_no_rule_is_made_of_a_line_that_says_more(line: str) -> None:
    assert rules_of(request(Intent(line=line))) == {}


@pytest.mark.parametrize(
    "intent",
    [
        Intent(argv=("cat", "*")),
        Intent(argv=("cat", "**")),
        Intent(files=(FileTouch(path="*", touch="create"),)),
        Intent(files=(FileTouch(path="a[b].md", touch="create"),)),
    ],
)
def test_no_rule_is_made_of_a_name_that_would_stand_for_others(intent: Intent) -> None:
    assert rules_of(request(intent)) == {}


def test_the_argument_that_is_the_command_is_known_only_where_it_is_one() -> None:
    assert line_argument(request(Intent(line="ls"), command="ls", n=1)) == "command"
    assert line_argument(request(Intent(line="ls"), command="ls", other="ls")) is None
    assert line_argument(request(Intent(argv=("ls",)), command=["ls"])) is None
