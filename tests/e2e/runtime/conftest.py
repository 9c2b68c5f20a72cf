"""Real servers as processes of their own, ended with the test that started them."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
import yaml

from skills_runtime.processes.server.client import read_server_info
from skills_runtime.processes.server.directory import NoServer, RuntimeDirectory
from skills_runtime.runtime.client import RuntimeClient
from skills_runtime.sandbox.supervision import process_tree

PATIENCE_MS = 30_000
PYTHON = sys.executable


def pid_of(workspace: Path) -> int:
    """The process of the server."""
    with RuntimeDirectory.open(workspace, create=False) as place:
        return read_server_info(place).pid


def rest(client: RuntimeClient, number: int) -> dict[str, Any]:
    """Everything a session says until its end, with how it ended."""
    text = ""
    while True:
        result = client.call("exec.read", {"session_id": number, "yield_time_ms": 60_000, "until_idle_ms": 0})
        text += result["stdout"]
        if not result["running"]:
            return {**result, "stdout": text}


def until(client: RuntimeClient, number: int, expected: str) -> str:
    """What a session says until it has said this."""
    text = ""
    while expected not in text:
        result = client.call("exec.read", {"session_id": number, "yield_time_ms": 60_000, "until_idle_ms": 0})
        assert result["running"], text
        text += result["stdout"]
    return text


def ends(pid: int) -> bool:
    """Whether a process ends, or has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(PATIENCE_MS))
    finally:
        os.close(descriptor)


def read_pid(pipe: Path) -> int:
    """The number that somebody writes to a named pipe; fails when nobody does."""
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(PATIENCE_MS), f"nobody wrote to {pipe.name}"
        return int(os.read(descriptor, 100))
    finally:
        os.close(descriptor)


def alive(pid: int) -> bool:
    """Whether a process lives; one that waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def keepers(server: int) -> list[int]:
    """The launcher and the supervisors of a server, the launcher first."""
    table = process_tree.list_processes()
    launchers = [process.pid for process in table.values() if process.parent == server]
    return [*launchers, *(process.pid for process in table.values() if process.parent in launchers)]


def configure(home: Path, **more: Any) -> None:
    """The user's own settings: no fence, so that it is the server that is tried."""
    path = home / ".config/skills_runtime/config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"sandbox": {"default_policy": "none"}, **more}))


@pytest.fixture
def workspace(tmp_path: Path, home: Path) -> Iterator[Path]:
    """A workspace whose server, if there is one at last, is ended."""
    configure(home)
    path = tmp_path / "workspace"
    path.mkdir()
    yield path
    with suppress(NoServer, ProcessLookupError):
        pid = pid_of(path)
        if RuntimeClient(path, start=False).running():
            os.kill(pid, SIGKILL)
            assert ends(pid)
    RuntimeClient(path, start=False).clean_up()


@pytest.fixture
def client(workspace: Path) -> RuntimeClient:
    """A client that starts a server when it needs one."""
    return RuntimeClient(workspace)
