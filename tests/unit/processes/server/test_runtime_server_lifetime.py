"""When a server ends: on request, when nobody needs it, never while something runs; and what is left then."""

import asyncio
import json
import signal
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import ToolError
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes.server.directory import REGISTRY, RuntimeDirectory
from skills_runtime.processes.server.registry import Entries, Entry, this_machine
from skills_runtime.runtime.client import RuntimeClient
from skills_runtime.sandbox import OsSandbox, build_policy, find_adapters
from tests.unit.processes.conftest import Tagged
from tests.unit.processes.server.conftest import Served, unfenced

SOON = 0.05


def names(place: RuntimeDirectory) -> set[str]:
    return {path.name for path in place.path.iterdir()}


async def test_a_server_without_clients_ends(place: RuntimeDirectory, command: Tagged) -> None:
    served = await Served(place, unfenced(command), idle_seconds=SOON).up()
    await served.task
    assert names(place) == {"exec_registry.json", "server.lock"}
    await served.down()
    place.close()


async def test_a_server_with_a_session_does_not_end(place: RuntimeDirectory, command: Tagged) -> None:
    served = await Served(place, unfenced(command), idle_seconds=SOON).up()
    number = await served.spawn("echo ready; read line")
    await served.until(number, "ready")
    done, _ = await asyncio.wait([served.task], timeout=SOON * 10)
    assert not done
    await served.call("exec.close", session_id=number)
    await served.task
    await served.down()
    place.close()


async def test_a_server_ends_when_it_is_told_to(served: Served) -> None:
    number = await served.spawn("echo ready; sleep 1000")
    await served.until(number, "ready")
    assert await served.call("shutdown") == {"ok": True}
    await served.task
    assert names(served.place) == {"exec_registry.json", "server.lock"}
    assert json.loads((served.place.path / REGISTRY).read_text())["exec_sessions"] == {}


async def test_waiting_for_a_session_ends_when_the_server_stops(served: Served) -> None:
    number = await served.spawn("echo ready; sleep 1000")
    await served.until(number, "ready")
    waiting = asyncio.create_task(served.call("exec.read", session_id=number, yield_time_ms=600_000))
    await served.call("ping")
    await served.call("shutdown")
    said = await waiting
    assert (said["running"], said["signal"]) == (False, signal.SIGHUP)


async def test_status_counts_what_runs(served: Served) -> None:
    number = await served.spawn("echo ready; read line")
    await served.until(number, "ready")
    status = await served.call("runtime.status")
    assert (status["active_exec_sessions"], status["active_children"]) == (1, 0)
    assert status["exec_registry"]["count"] == 1
    assert await served.call("runtime.cleanup") == {
        "ok": True, "exec": True, "children": True, "closed_exec_sessions": 1, "cancelled_children": 0,
    }  # fmt: skip
    assert (await served.call("runtime.status"))["exec_registry"]["count"] == 0


async def test_cleanup_can_leave_the_sessions_alone(served: Served) -> None:
    number = await served.spawn("echo ready; read line")
    await served.until(number, "ready")
    await served.call("runtime.cleanup", exec=False)
    assert [one["session_id"] for one in (await served.call("exec.list"))["sessions"]] == [number]


async def test_numbers_go_on_where_the_last_server_was(place: RuntimeDirectory, command: Tagged) -> None:
    left = Entries(machine=this_machine(), last_session_id=41, exec_sessions={41: Entry(marker="m")})
    place.write(REGISTRY, msgspec.json.encode(left))
    served = await Served(place, unfenced(command)).up()
    assert (await served.call("runtime.status"))["exec_registry"]["last_orphan_cleanup"]["sessions"] == 1
    assert await served.spawn("true") == 42
    await served.down()
    place.close()


class Broken:
    """A fence with a mistake in it."""

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        raise ZeroDivisionError("secret detail")


async def test_an_error_of_ours_is_reported_as_one_without_details(
    place: RuntimeDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    served = await Served(place, Broken()).up()
    with pytest.raises(ToolError, match="does not know") as caught:
        await served.spawn("true")
    assert caught.value.kind == "unknown"
    assert "secret detail" in capsys.readouterr().err
    assert await served.call("ping") == {"pong": True}
    await served.down()
    place.close()


async def test_a_client_without_a_server_cleans_up_after_a_dead_one(tmp_path: Path) -> None:
    client = RuntimeClient(tmp_path, start=False)
    assert client.clean_up() == {"server": False, "ok": True, "orphans": {}}
    with RuntimeDirectory.open(tmp_path, create=True) as place:
        place.write("server.json", b"{}")
        place.write(REGISTRY, b'{"machine":"%s","last_session_id":3}' % this_machine().encode())
        assert client.clean_up()["orphans"]["ended"] == ()
        assert names(place) == {"exec_registry.json", "server.lock"}


async def test_a_server_that_does_not_listen_keeps_others_from_cleaning_up(served: Served) -> None:
    (served.place.path / "runtime.sock").rename(served.place.path / "aside")
    client = RuntimeClient(served.place.workspace_root, start=False)
    with pytest.raises(ToolError, match="nothing was cleaned up"):
        await asyncio.to_thread(client.clean_up)
    (served.place.path / "aside").unlink()


ATTACK = """
import glob, os, socket
for path in ("{place}/server.json", "{place}/exec_registry.json"):
    try:
        print("READ", open(path).read())
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


async def test_a_fenced_command_reaches_neither_the_socket_nor_the_secret(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir(mode=0o755)
    with RuntimeDirectory.open(workspace, create=True) as place:
        fence = OsSandbox(build_policy("workspace-write", workspace), find_adapters("auto"), {})
        served = await Served(place, fence).up()
        (workspace / "attack.py").write_text(ATTACK.format(place=place.path))
        spawned = await served.call("exec.spawn", argv=["/usr/bin/python3", "attack.py"])
        assert spawned["sandbox"]["active"] is True
        said = await served.rest(spawned["session_id"])
        assert "tried" in said["stdout"]
        assert not {word for word in ("READ", "REACHED", served.secret) if word in said["stdout"]}, said["stdout"]
        await served.down()
