"""The server as a process: started by whoever comes first, one for all, gone when nobody needs it."""

import json
import os
import runpy
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from signal import SIGTERM
from typing import Any

import pytest

from skills_runtime.errors import SkillsRuntimeError, ValidationFailed
from skills_runtime.processes.server.client import start_server
from skills_runtime.processes.server.directory import NoServer, RuntimeDirectory
from skills_runtime.runtime.client import RuntimeClient
from skills_runtime.testing import says
from tests.e2e.runtime.conftest import PYTHON, configure, ends, pid_of, rest, until
from tests.support.agents import Answering, agent_in, calls, payloads_of

CLIENTS = 50
LINES = "".join(f"{number}\r\n" for number in range(1, 2001))


def test_the_example_of_the_old_documents_works(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = workspace / "example.py"
    script.write_text(
        "from pathlib import Path\n"
        "from agent_sdk.runtime.client import RuntimeClient\n"
        f"client = RuntimeClient(workspace_root=Path({str(workspace)!r}))\n"
        "print(client.call(method='runtime.status'))\n"
    )
    runpy.run_path(str(script))
    assert "'active_exec_sessions': 0" in capsys.readouterr().out


def test_the_files_of_the_server_are_where_they_were(client: RuntimeClient, workspace: Path) -> None:
    info = client.ensure_server()
    directory = workspace / ".skills_runtime_sdk/runtime"
    names = {"runtime.sock", "server.json", "server.stdout.log", "server.stderr.log", "exec_registry.json"}
    assert names <= {path.name for path in directory.iterdir()}
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}
    result = json.loads((directory / "server.json").read_text())
    assert result.keys() == {"pid", "secret", "socket_path", "created_at_ms"}
    assert (result["pid"], result["socket_path"]) == (info.pid, str(directory / "runtime.sock"))
    assert info.secret not in repr(info)


def test_the_secret_is_in_no_environment_and_no_argument(client: RuntimeClient) -> None:
    info = client.ensure_server()
    number = client.call("exec.spawn", {"cmd": "env; echo ready; read line"})["session_id"]
    assert info.secret not in until(client, number, "ready")
    for name in ("environ", "cmdline"):
        assert info.secret.encode() not in Path(f"/proc/{info.pid}/{name}").read_bytes()


def test_the_server_is_detached_from_parent_and_directory(client: RuntimeClient) -> None:
    pid = client.ensure_server().pid
    assert os.getsid(pid) != os.getsid(0)
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    assert Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null")


def test_fifty_clients_at_once_have_one_server(workspace: Path) -> None:
    together = threading.Barrier(CLIENTS)

    def work(number: int) -> tuple[int, int, str]:
        client = RuntimeClient(workspace, start_timeout_sec=60)
        together.wait()
        session = client.call("exec.spawn", {"cmd": f"seq 1 2000; exit {number}"}, timeout_sec=120)["session_id"]
        result = rest(client, session)
        return client.call("runtime.status", timeout_sec=120)["pid"], result["exit_code"], result["stdout"]

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(work, range(CLIENTS)))
    assert {pid for pid, _, _ in answers} == {pid_of(workspace)}
    assert [code for _, code, _ in answers] == list(range(CLIENTS))
    assert {text for _, _, text in answers} == {LINES}


@pytest.mark.slow
def test_clients_that_are_processes_have_one_server(workspace: Path) -> None:
    code = (
        "import sys; from skills_runtime.runtime.client import RuntimeClient;"
        " print(RuntimeClient(sys.argv[1], start_timeout_sec=60).call('runtime.status', timeout_sec=60)['pid'])"
    )
    started = [
        subprocess.Popen([PYTHON, "-c", code, str(workspace)], stdout=subprocess.PIPE, text=True) for _ in range(6)
    ]
    assert {process.communicate(timeout=120)[0].strip() for process in started} == {str(pid_of(workspace))}


def test_of_two_servers_for_one_workspace_one_wins(workspace: Path) -> None:
    together = threading.Barrier(2)

    def start(_: int) -> SkillsRuntimeError | None:
        with RuntimeDirectory.open(workspace, create=True) as place:
            together.wait()
            try:
                start_server(place, os.environ, idle_seconds=60, timeout_seconds=60)
            except SkillsRuntimeError as error:
                return error
        return None

    with ThreadPoolExecutor(2) as pool:
        errors = [error for error in pool.map(start, range(2)) if error is not None]
    assert [(error.kind, "another server" in error.message) for error in errors] == [("validation", True)]
    assert RuntimeClient(workspace, start=False).call("ping") == {"pong": True}


def test_an_idle_server_ends_and_the_next_client_starts_another(workspace: Path) -> None:
    client = RuntimeClient(workspace, idle_seconds=0.1)
    pid = client.ensure_server().pid
    assert ends(pid)
    assert not client.running()
    assert client.ensure_server().pid != pid


def test_a_server_ends_when_it_is_asked_to(client: RuntimeClient, workspace: Path) -> None:
    pid = client.ensure_server().pid
    number = client.call("exec.spawn", {"cmd": "echo $$; sleep 1000"})["session_id"]
    shell = int(until(client, number, "\n").split()[0])
    assert client.stop()
    assert ends(pid)
    assert ends(shell)
    assert not client.stop()
    assert not (workspace / ".skills_runtime_sdk/runtime/server.json").exists()


def test_a_server_ends_properly_when_it_is_terminated(client: RuntimeClient, workspace: Path) -> None:
    pid = client.ensure_server().pid
    number = client.call("exec.spawn", {"cmd": "echo $$; sleep 1000"})["session_id"]
    shell = int(until(client, number, "\n").split()[0])
    os.kill(pid, SIGTERM)
    assert ends(pid)
    assert ends(shell)
    assert not (workspace / ".skills_runtime_sdk/runtime/runtime.sock").exists()


def test_a_workspace_with_a_long_path_has_a_server(tmp_path: Path, home: Path) -> None:
    configure(home)
    workspace = tmp_path / ("w" * 120) / ("v" * 120)
    workspace.mkdir(parents=True)
    client = RuntimeClient(workspace)
    number = client.call("exec.spawn", {"cmd": "echo here"})["session_id"]
    assert rest(client, number)["stdout"] == "here\r\n"
    assert client.stop()


def test_a_client_that_may_not_start_a_server_says_that_there_is_none(workspace: Path) -> None:
    with pytest.raises(NoServer):
        RuntimeClient(workspace, start=False).call("ping")
    assert list(workspace.iterdir()) == []


def test_modules_of_the_workspace_are_not_loaded(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "asyncio", "skills_runtime", "msgspec"):
        (workspace / f"{name}.py").write_text("import pathlib; pathlib.Path('loaded').touch(); raise SystemExit(9)")
    monkeypatch.chdir(workspace)
    assert RuntimeClient(workspace).call("ping") == {"pong": True}
    assert not (workspace / "loaded").exists()


def test_settings_are_those_of_the_moment(client: RuntimeClient, home: Path) -> None:
    assert client.call("exec.spawn", {"cmd": "true"})["sandbox"]["effective"] == "none"
    (home / ".config/skills_runtime/config.yaml").write_text("sandbox: [")
    with pytest.raises(SkillsRuntimeError) as caught:
        client.call("exec.spawn", {"cmd": "true"})
    assert caught.value.kind == "config_error"
    assert client.call("ping") == {"pong": True}


ATTACK = """
import socket
for name in ("server.json", "exec_registry.json"):
    try:
        print("READ", open(f"{place}/{{name}}").read())
    except OSError as error:
        print("refused", error.errno)
try:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("{place}/runtime.sock")
    print("REACHED")
except OSError as error:
    print("refused", error.errno)
print("tried")
"""


def test_a_command_behind_the_fence_reaches_neither_socket_nor_secret(
    client: RuntimeClient, workspace: Path, home: Path
) -> None:
    (home / ".config/skills_runtime/config.yaml").unlink()
    workspace.chmod(0o755)
    (workspace / "attack.py").write_text(ATTACK.format(place=workspace / ".skills_runtime_sdk/runtime"))
    started = client.call("exec.spawn", {"argv": ["/usr/bin/python3", "attack.py"]})
    assert started["sandbox"]["active"] is True
    result = rest(client, started["session_id"])["stdout"]
    assert "tried" in result
    assert not {word for word in ("READ", "REACHED", client.ensure_server().secret) if word in result}, result


def test_a_request_that_is_too_long_is_refused_by_the_client(client: RuntimeClient) -> None:
    with pytest.raises(ValidationFailed, match=r"at most .* bytes"):
        client.call("exec.spawn", {"argv": ["x" * (1 << 20)]})


def test_a_client_of_old_that_ends_its_request_by_ending_is_answered(client: RuntimeClient) -> None:
    info = client.ensure_server()
    request: dict[str, Any] = {"method": "runtime.status", "params": {}, "secret": info.secret}
    directory = os.open(Path(info.socket_path).parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"/proc/self/fd/{directory}/runtime.sock")
        os.close(directory)
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert json.loads(answer)["data"]["pid"] == info.pid


def test_a_sandboxed_session_of_the_server_keeps_a_run_in_the_sandbox(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(home, sandbox={})
    monkeypatch.setattr("skills_runtime.processes.claims.CLAIM_TIMEOUT_SECONDS", 0.1)
    client = RuntimeClient(workspace)
    number = client.call("exec.spawn", {"cmd": "sleep 600"})["session_id"]
    call = ("shell_command", {"command": "true", "sandbox_permissions": "require_escalated"})
    script = [calls(call), says("done")]
    refused = agent_in(workspace, script, approver=Answering("approved")).run("Go.")
    client.call("exec.close", {"session_id": number})
    allowed = agent_in(workspace, script, approver=Answering("approved")).run("Go.")
    first, second = (payloads_of(result.wal_locator, "tool_call_finished")[0].result for result in (refused, allowed))
    assert (first["error_kind"], second["ok"]) == ("sandbox_denied", True)
    assert "another process of Skills Runtime" in first["stderr"]
