"""Child agents of the server: real runs that outlive the client, and the server too."""

import os
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
import yaml

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.runs import RunPaths, read_view, runs_root
from skills_runtime.runtime.client import RuntimeClient
from tests.e2e.runtime.conftest import configure, ends, pid_of, read_pid

Calls = list[dict[str, Any]]
ASKS: dict[str, Any] = {"tool_calls": [{"name": "ask_human", "arguments": {"question": "Which colour?"}}]}
WAIT_MS = 60_000


def runs(command: str) -> dict[str, Any]:
    """An answer that runs a line of shell."""
    return {"tool_calls": [{"name": "shell_command", "arguments": {"command": command, "timeout_ms": 600_000}}]}


def script(home: Path, *calls: dict[str, Any]) -> None:
    """What the model of the user says."""
    path = home / "script.yaml"
    path.write_text(yaml.safe_dump({"calls": list(calls)}))
    configure(home, llm={"backend": "fake", "fake": {"script": str(path)}}, safety={"mode": "allow"})


def spawn(client: RuntimeClient, message: str = "Do it", **more: Any) -> str:
    return client.call("collab.spawn", {"message": message, **more})["id"]


def wait(client: RuntimeClient, child: str) -> dict[str, Any]:
    (result,) = client.call("collab.wait", {"ids": [child], "timeout_ms": WAIT_MS})["results"]
    return result


def test_a_child_is_a_run_of_the_workspace(client: RuntimeClient, workspace: Path, home: Path) -> None:
    script(home, {"text": "Painted."})
    child = spawn(client, "Paint it")
    assert wait(client, child) == {"id": child, "status": "completed", "final_output": "Painted."}
    view = read_view(RunPaths(runs_root(workspace) / child), log_ports())
    assert (view.state.status.value, view.state.final_output) == ("completed", "Painted.")
    assert (runs_root(workspace) / child / "prompt.md").read_text() == "Paint it"
    assert client.call("runtime.status")["active_children"] == 0


def test_the_same_call_begins_a_child_once(client: RuntimeClient, home: Path) -> None:
    script(home, {"text": "Once."})
    first = spawn(client, call_id="call_1")
    wait(client, first)
    assert spawn(client, call_id="call_1") == first
    assert spawn(client, call_id="call_2") != first
    assert len(client.call("collab.list")["results"]) == 2


def test_a_child_that_asks_goes_on_with_the_answer(client: RuntimeClient, workspace: Path, home: Path) -> None:
    script(home, ASKS, {"text": "Red it is."})
    child = spawn(client)
    assert wait(client, child)["status"] == "waiting_human"
    assert client.call("runtime.status")["active_children"] == 0
    assert client.call("collab.send_input", {"id": child, "message": "red"})["id"] == child
    assert wait(client, child)["final_output"] == "Red it is."
    assert "red" in (runs_root(workspace) / child / "events.jsonl").read_text()


def test_a_child_outlives_its_server(client: RuntimeClient, workspace: Path, home: Path) -> None:
    script(home, ASKS, {"text": "Blue it is."})
    child = spawn(client)
    wait(client, child)
    server = pid_of(workspace)
    os.kill(server, SIGKILL)
    assert ends(server)
    assert wait(client, child)["status"] == "waiting_human"
    client.call("collab.send_input", {"id": child, "message": "blue"})
    assert wait(client, child)["final_output"] == "Blue it is."


def test_a_child_can_be_ended_while_it_works(client: RuntimeClient, workspace: Path, home: Path) -> None:
    os.mkfifo(workspace / "started")
    script(home, runs("echo $$ > started; exec sleep 86397"), {"text": "Never said."})
    child = spawn(client)
    sleeper = read_pid(workspace / "started")
    assert client.call("runtime.status")["active_children"] == 1
    assert client.call("collab.close", {"id": child})["status"] == "cancelled"
    assert ends(sleeper)
    assert client.call("collab.close", {"id": child})["status"] == "cancelled"


def test_cleanup_cancels_children(client: RuntimeClient, workspace: Path, home: Path) -> None:
    os.mkfifo(workspace / "started")
    script(home, runs("echo $$ > started; exec sleep 86397"), {"text": "Never said."})
    child = spawn(client)
    sleeper = read_pid(workspace / "started")
    assert client.call("runtime.cleanup")["cancelled_children"] == 1
    assert ends(sleeper)
    assert wait(client, child)["status"] == "cancelled"


def test_a_child_at_work_keeps_its_server_and_goes_on_after_a_stop(workspace: Path, home: Path) -> None:
    os.mkfifo(workspace / "started")
    script(home, runs("echo $$ > started; exec sleep 86397"), {"text": "Never said."})
    client = RuntimeClient(workspace, idle_seconds=0.1)
    child = spawn(client)
    sleeper = read_pid(workspace / "started")
    server = pid_of(workspace)
    assert client.stop()
    assert ends(server)
    assert ends(sleeper)
    assert wait(client, child)["status"] in ("paused", "waiting_human")


def test_a_server_that_is_killed_takes_the_commands_of_its_children_along(
    client: RuntimeClient, workspace: Path, home: Path
) -> None:
    os.mkfifo(workspace / "started")
    script(home, runs("echo $$ > started; exec sleep 86397"), {"text": "Never said."})
    child = spawn(client)
    sleeper = read_pid(workspace / "started")
    server = pid_of(workspace)
    os.kill(server, SIGKILL)
    assert ends(server)
    assert ends(sleeper)
    assert wait(client, child)["status"] in ("paused", "waiting_human")


@pytest.mark.parametrize("method", ["collab.send_input", "collab.close", "collab.resume", "collab.wait"])
@pytest.mark.parametrize("child", ["child-unknown", "../escape", "child-../../x", ""])
def test_an_unknown_child_is_not_found(client: RuntimeClient, method: str, child: str) -> None:
    params: dict[str, Any] = {"ids": [child]} if method == "collab.wait" else {"id": child}
    if method == "collab.send_input":
        params["message"] = "x"
    with pytest.raises(SkillsRuntimeError) as caught:
        client.call(method, params)
    assert caught.value.kind == "not_found"


def test_settings_that_cannot_work_begin_no_child(client: RuntimeClient, workspace: Path, home: Path) -> None:
    configure(home, llm={"backend": "fake", "fake": {"script": str(home / "nowhere.yaml")}})
    with pytest.raises(SkillsRuntimeError) as caught:
        spawn(client)
    assert caught.value.kind == "config_error"
    assert client.call("collab.list") == {"results": []}
    assert not runs_root(workspace).exists()
