"""kill -9 of everything in any order: what is ours is gone afterwards, and nothing else is."""

import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP

import pytest

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.runtime.client import RuntimeClient
from tests.e2e.runtime.conftest import PYTHON, alive, ends, keepers, pid_of, rest, until

SLEEP = "exec sleep 86399"


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that looks like one of ours, and is not."""
    with subprocess.Popen(["/bin/bash", "-c", SLEEP]) as process:
        yield process
        assert process.poll() is None, "a stranger was killed"
        process.kill()


def begin(client: RuntimeClient, command: str) -> tuple[int, int]:
    """A session that has said its process number: the session, and the process."""
    # A terminal that is gone hangs up; who does not care about that lives on.
    number = client.call("exec.spawn", {"cmd": f"trap '' HUP TERM; echo $$; {command}"})["session_id"]
    return number, int(until(client, number, "\n").split()[0])


def abandon(workspace: Path) -> None:
    """Kill a server with everything that would end its sessions."""
    server = pid_of(workspace)
    os.kill(server, SIGSTOP)  # or it would see the others die
    for pid in (*keepers(server), server):
        os.kill(pid, SIGKILL)
        assert ends(pid)


def test_a_server_that_is_killed_takes_its_sessions_along(
    client: RuntimeClient, workspace: Path, stranger: subprocess.Popen[bytes]
) -> None:
    _, shell = begin(client, SLEEP)
    server = pid_of(workspace)
    os.kill(server, SIGKILL)
    assert ends(server)
    assert ends(shell)
    assert not client.running()


def test_a_client_after_a_killed_server_has_a_new_one(client: RuntimeClient, workspace: Path) -> None:
    number, _ = begin(client, SLEEP)
    server = pid_of(workspace)
    os.kill(server, SIGKILL)
    assert ends(server)
    later, _ = begin(client, SLEEP)
    assert later > number
    assert pid_of(workspace) != server
    with pytest.raises(SkillsRuntimeError) as caught:
        client.call("exec.read", {"session_id": number})
    assert caught.value.kind == "not_found"


def test_the_next_server_ends_what_was_left_and_nothing_else(
    client: RuntimeClient, workspace: Path, stranger: subprocess.Popen[bytes]
) -> None:
    _, shell = begin(client, SLEEP)
    abandon(workspace)
    assert alive(shell)
    cleanup = client.call("runtime.status")["exec_registry"]["last_orphan_cleanup"]
    assert cleanup == {"sessions": 1, "ended": [shell], "survivors": []}
    assert not alive(shell)


def test_cleaning_up_without_a_server_ends_what_was_left_and_nothing_else(
    client: RuntimeClient, workspace: Path, stranger: subprocess.Popen[bytes]
) -> None:
    _, shell = begin(client, "env -i /bin/sleep 86399 & exec env -i /bin/sleep 86398")
    abandon(workspace)
    assert alive(shell)
    done = RuntimeClient(workspace, start=False).clean_up()
    assert done["server"] is False
    assert shell in done["orphans"]["ended"]
    assert not alive(shell)
    assert RuntimeClient(workspace, start=False).clean_up()["orphans"]["ended"] == ()


def test_a_reused_process_id_is_left_alone(
    client: RuntimeClient, workspace: Path, stranger: subprocess.Popen[bytes]
) -> None:
    _, shell = begin(client, SLEEP)
    abandon(workspace)
    path = workspace / ".skills_runtime_sdk/runtime/exec_registry.json"
    registry = json.loads(path.read_text())
    (entry,) = registry["exec_sessions"].values()
    assert [payload["pid"] for payload in entry["processes"]] == [shell]
    entry["processes"] = [{"pid": stranger.pid, "started": entry["processes"][0]["started"] - 1}]
    path.write_text(json.dumps(registry))
    assert client.call("runtime.status")["exec_registry"]["last_orphan_cleanup"]["ended"] == [shell]


WAITING = (
    "import sys; from skills_runtime.runtime.client import RuntimeClient;"
    " print('up', flush=True);"
    " RuntimeClient(sys.argv[1]).call('exec.read', {'session_id': int(sys.argv[2]), 'yield_time_ms': 600000})"
)


def waiting_client(workspace: Path, number: int) -> subprocess.Popen[bytes]:
    """A process that waits for a session."""
    process = subprocess.Popen(
        [PYTHON, "-c", WAITING, str(workspace), str(number)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.stdout.close()
    return process


def test_a_session_survives_its_clients(client: RuntimeClient, workspace: Path) -> None:
    number, _ = begin(client, "read line; echo got $line; exit 6")
    for _ in range(2):
        with waiting_client(workspace, number) as process:
            process.kill()
    client.call("exec.write", {"session_id": number, "chars": "it\n", "yield_time_ms": 0})
    result = rest(client, number)
    assert "got it" in result["stdout"]
    assert result["exit_code"] == 6


ORDERS = list(itertools.permutations(("client", "server", "launcher", "supervisor")))[::4]


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_whatever_is_killed_in_whatever_order_nothing_is_left(
    client: RuntimeClient, workspace: Path, order: tuple[str, ...], stranger: subprocess.Popen[bytes]
) -> None:
    number, shell = begin(client, SLEEP)
    server = pid_of(workspace)
    launcher, supervisor = keepers(server)[:2]
    with waiting_client(workspace, number) as waiting:
        victims = {"client": waiting.pid, "server": server, "launcher": launcher, "supervisor": supervisor}
        for name in order:
            os.kill(victims[name], SIGKILL)
        waiting.wait()
        for pid in victims.values():
            assert ends(pid)
    RuntimeClient(workspace, start=False).clean_up()
    assert ends(shell)
    assert client.call("exec.list") == {"sessions": []}


def test_a_server_that_hangs_is_not_cleaned_up_behind_its_back(client: RuntimeClient, workspace: Path) -> None:
    _, shell = begin(client, SLEEP)
    server = pid_of(workspace)
    os.kill(server, SIGSTOP)
    try:
        with pytest.raises(SkillsRuntimeError) as caught:
            client.call("ping", timeout_sec=0.2)
        assert caught.value.kind == "timeout"
        assert alive(shell)
    finally:
        os.kill(server, SIGCONT)
    assert client.call("ping") == {"pong": True}
