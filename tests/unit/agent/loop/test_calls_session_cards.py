"""What somebody who is asked about typing into a session is told of its sandbox."""

from pathlib import Path

import pytest

from skills_runtime.testing import says
from tests.support.agents import Answering, agent_in, calls


@pytest.mark.parametrize(
    ("more", "effective"), [({}, "restricted"), ({"sandbox_permissions": "require_escalated"}, "none")]
)
def test_a_request_to_type_names_the_sandbox_of_the_session(
    tmp_path: Path, more: dict[str, str], effective: str
) -> None:
    approver = Answering(*["approved"] * (1 + len(more)))
    script = [
        calls(("exec_command", {"cmd": "cat", "yield_time_ms": 0, **more})),
        calls(("write_stdin", {"session_id": 1, "chars": "hello\n"})),
        says("done"),
    ]
    agent_in(tmp_path, script, approver=approver).run("Go.")
    fence = approver.asked[-1].intent.fence
    assert approver.asked[-1].tool == "write_stdin"
    assert (fence["effective"], fence["active"]) == (effective, effective == "restricted")
    assert {"adapter", "profile"} <= fence.keys()
