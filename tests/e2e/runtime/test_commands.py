"""The commands `runtime status`, `runtime stop` and `runtime cleanup`."""

import json
from pathlib import Path

from skills_runtime.runtime.client import RuntimeClient
from tests.e2e.cli.programs import invoke
from tests.e2e.runtime.conftest import ends, pid_of, until


def test_status_starts_no_server(workspace: Path) -> None:
    answer = invoke("runtime", "status", "--workspace-root", str(workspace))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("No runtime server is running for this workspace")
    assert list(workspace.iterdir()) == []


def test_status_tells_what_the_server_does(client: RuntimeClient, workspace: Path) -> None:
    number = client.call("exec.spawn", {"cmd": "echo ready; read line"})["session_id"]
    until(client, number, "ready")
    result = json.loads(invoke("runtime", "status", "--workspace-root", str(workspace), "--json").out)
    assert (result["running"], result["pid"], result["active_exec_sessions"]) == (True, pid_of(workspace), 1)
    page = invoke("runtime", "status", "--workspace-root", str(workspace)).out
    assert f"The runtime server {pid_of(workspace)} serves {workspace}." in page
    assert "sessions:  1\n" in page


def test_cleanup_ends_the_sessions(client: RuntimeClient, workspace: Path) -> None:
    client.call("exec.spawn", {"cmd": "read line"})
    answer = invoke("runtime", "cleanup", "--workspace-root", str(workspace))
    assert answer.out == "Ended 1 sessions and 0 child agents.\n"
    assert client.call("exec.list") == {"sessions": []}


def test_stop_ends_the_server(client: RuntimeClient, workspace: Path) -> None:
    server = client.ensure_server().pid
    assert invoke("runtime", "stop", "--workspace-root", str(workspace)).out == "The runtime server was stopped.\n"
    assert ends(server)
    assert invoke("runtime", "stop", "--workspace-root", str(workspace)).out == "No runtime server was running.\n"
    result = json.loads(invoke("runtime", "cleanup", "--workspace-root", str(workspace), "--json").out)
    assert result == {"server": False, "ok": True, "orphans": {"sessions": 0, "ended": [], "survivors": []}}


def test_a_workspace_that_is_none_is_refused(workspace: Path) -> None:
    answer = invoke("runtime", "status", "--workspace-root", str(workspace / "nowhere"))
    assert (answer.code, answer.out) == (22, "")
    assert "kind: not_found" in answer.err
