"""The network of a command ends with the command, however that ends, and leaves nothing behind."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.ports import ToolResult
from skills_runtime.tools.builtin import ExecCommand, ShellExec, WriteStdin
from skills_runtime.tools.exec_sessions import BorrowedSessions, ExecSessions, RunSessions
from tests.e2e.networks.conftest import PATIENCE, VISIT, Web, decisions, networked, told
from tests.support.tools import Workshop, data_of

PYTHON = "/usr/bin/python3"
LAUNCHER = 8
"""Descriptors that the launcher and its idle supervisors may have."""
PATIENCE_MS = int(PATIENCE * 1000)
QUICK = """
import socket, sys
with socket.create_connection(("127.0.0.1", 3128), 20) as proxy:
    host = sys.argv[1].split("/")[2]
    proxy.sendall(f"GET {sys.argv[1]} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    print(b"".join(iter(lambda: proxy.recv(4096), b"")).decode())
"""
LOOP = "while read -r url; do python3 -I visit.py $url; done"


def sockets() -> int:
    """How many sockets this process has open."""
    found = 0
    for path in Path("/proc/self/fd").iterdir():
        try:
            found += str(path.readlink()).startswith("socket:")
        except FileNotFoundError:
            continue  # the listing itself
    return found


@pytest.fixture(autouse=True)
def nothing_left(web: Web) -> Iterator[None]:
    """No process that was to visit our server and no socket of a test outlives it."""
    before = sockets()
    yield
    assert sockets() <= before + LAUNCHER
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if f":{web.port}/".encode() in _words(path)]


def _words(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def arrived(web: Web) -> None:
    """Return when the next visitor is there."""
    assert await asyncio.to_thread(web.arrived.acquire, timeout=PATIENCE)


async def run(workshop: Workshop, *urls: str, **more: Any) -> ToolResult:
    return await workshop.call(ShellExec(), argv=[PYTHON, "-I", "-c", VISIT, *urls], **more)


async def test_a_command_that_takes_too_long_ends_with_its_connections(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    result = await run(workshop, web.url("good.test", "never"), timeout_ms=1500)
    assert (result.error_kind, result.ok) == ("timeout", False)
    assert [one.stage for one in decisions(workshop)] == ["decided", "ended"]
    assert data_of(result)["sandbox"]["network"]["allowed"] == 1


async def test_a_cancelled_command_ends_with_its_connections(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    call = asyncio.create_task(run(workshop, web.url("good.test", "never")))
    await arrived(web)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert [one.stage for one in decisions(workshop)] == ["decided", "ended"]
    assert {task.get_name() for task in asyncio.all_tasks()} & {"egress proxy"} == set()


async def test_a_command_cancelled_before_it_has_a_network_leaves_nothing(tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow=["good.test"])
    for turns in (1, 2, 4, 8, 16):
        call = asyncio.create_task(run(workshop))
        for _ in range(turns):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert {task.get_name() for task in asyncio.all_tasks()} & {"egress proxy"} == set()


async def test_many_commands_one_after_another_leave_nothing(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    argv = [PYTHON, "-I", "-S", "-c", QUICK, web.url("good.test")]
    await workshop.call(ShellExec(), argv=argv)
    before = sockets()
    for _ in range(50):
        assert (await workshop.call(ShellExec(), argv=argv)).stdout.endswith("hello\n")
    assert sockets() <= before + 1
    assert len(told(workshop)) == 51
    assert {task.get_name() for task in asyncio.all_tasks()} & {"egress proxy"} == set()


async def test_what_a_command_sent_before_its_end_arrives(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    code = QUICK.replace("    print(", '    sys.exit("gone") or print(')
    await workshop.call(ShellExec(), argv=[PYTHON, "-I", "-S", "-c", code, web.url("good.test", "last-words")])
    assert web.visits == ["/last-words"]
    assert [one.stage for one in decisions(workshop)] == ["decided", "ended"]


async def say(workshop: Workshop, number: int, chars: str, text: str) -> ToolResult:
    """Type something and read until the session says the text."""
    result = await workshop.call(WriteStdin(), session_id=number, chars=chars, yield_time_ms=0)
    said = result.stdout
    async with asyncio.timeout(PATIENCE):
        while text not in said:
            result = await workshop.call(WriteStdin(), session_id=number, yield_time_ms=50)
            said += result.stdout
    return result


async def begin(workshop: Workshop) -> int:
    workshop.write("visit.py", VISIT)
    result = await workshop.call(ExecCommand(), cmd=LOOP, yield_time_ms=0)
    return data_of(result)["session_id"]


async def test_a_session_has_one_network_for_all_its_calls(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    number = await begin(workshop)
    await say(workshop, number, web.url("good.test") + "\n", "hello")
    last = await say(workshop, number, web.url("evil.test") + "\n", "403 not_allowed")
    assert told(workshop) == [("allow", "good.test", ""), ("deny", "evil.test", "not_allowed")]
    assert {one.session_id for one in decisions(workshop)} == {number}
    network = data_of(last)["sandbox"]["network"]
    assert (network["allowed"], network["denied"]) == (1, 1)
    end = await workshop.call(WriteStdin(), session_id=number, chars="\x04", yield_time_ms=PATIENCE_MS)
    assert (end.exit_code, data_of(end)["running"]) == (0, False)
    assert data_of(end)["sandbox"]["network"]["allowed"] == 1
    await workshop.scope.aclose()


async def test_the_netruns_of_a_session_ends_with_the_work_on_the_run(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    number = await begin(workshop)
    await workshop.call(WriteStdin(), session_id=number, chars=web.url("good.test", "never") + "\n", yield_time_ms=0)
    await arrived(web)
    await workshop.scope.aclose()
    assert [one.stage for one in decisions(workshop)] == ["decided", "ended"]
    assert {task.get_name() for task in asyncio.all_tasks()} & {"egress proxy"} == set()


async def test_the_network_log_of_a_session_ends_without_readers(web: Web, tmp_path: Path) -> None:
    workshop = networked(tmp_path, allow_private=[f"good.test:{web.port}"])
    workshop.write("visit.py", VISIT)
    await workshop.call(ExecCommand(), cmd=f"python3 -I visit.py {web.url('good.test')}", yield_time_ms=0)
    async with asyncio.timeout(PATIENCE):
        while "egress proxy" in {task.get_name() for task in asyncio.all_tasks()}:
            await asyncio.sleep(0.01)
    assert [one.stage for one in decisions(workshop)] == ["decided", "ended"]
    await workshop.scope.aclose()


async def test_decisions_of_a_session_that_outlives_runs_are_recorded_by_its_reader(web: Web, tmp_path: Path) -> None:
    one = networked(tmp_path / "one", allow_private=[f"good.test:{web.port}"], unknown="ask")
    two = networked(tmp_path / "two")
    async with ExecSessions() as sessions:
        for workshop in (one, two):
            workshop.scope.hold(RunSessions, lambda: BorrowedSessions(sessions))
        number = await begin(one)
        await say(one, number, web.url("good.test") + "\n", "hello")
        await one.scope.aclose()
        last = await say(two, number, web.url("new.test") + "\n", "403 not_allowed")
        assert data_of(last)["sandbox"]["network"]["denied"] == 1
    assert told(one) == [("allow", "good.test", "")]
    assert told(two) == [("deny", "new.test", "not_allowed")]
    assert (one.wanted_hosts, two.wanted_hosts) == ([], [])
