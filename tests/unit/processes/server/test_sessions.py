"""Sessions behind the server: exact output, right ends, and independence from whoever reads them."""

import asyncio
import base64
import json
import signal

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.processes.server.registry import MARKER
from tests.unit.processes.server.conftest import Served

LINES = "".join(f"{number}\r\n" for number in range(1, 30_001))


async def test_the_output_of_a_session_is_exact(served: Served) -> None:
    said = await served.rest(await served.spawn("seq 1 30000"))
    assert (said["stdout"], said["exit_code"], said["left_out"]) == (LINES, 0, 0)


async def test_what_is_more_than_asked_for_is_reported_the_next_time(served: Served) -> None:
    number = await served.spawn("printf 0123456789")
    pieces: list[str] = []
    running = True
    while running:
        said = await served.call("exec.read", session_id=number, yield_time_ms=60_000, max_output_bytes=3)
        pieces.append(said["stdout"])
        running = said["running"]
    assert [piece for piece in pieces if piece] == ["012", "345", "678", "9"]


async def test_bytes_that_are_no_text_can_be_had_as_they_are(served: Served) -> None:
    number = await served.spawn(r"stty raw; printf '\377\000\n'")
    said = await served.call("exec.read", session_id=number, yield_time_ms=60_000, encoding="base64")
    assert base64.b64decode(said["stdout"]) == b"\xff\x00\n"


async def test_a_character_in_two_readings_is_one_character(served: Served) -> None:
    number = await served.spawn(r"printf 'ü'")
    first = await served.call("exec.read", session_id=number, yield_time_ms=60_000, max_output_bytes=1)
    assert first["stdout"] + (await served.rest(number))["stdout"] == "ü"


@pytest.mark.parametrize("code", [0, 1, 7, 255])
async def test_the_exit_code_is_that_of_the_program(served: Served, code: int) -> None:
    assert (await served.rest(await served.spawn(f"exit {code}")))["exit_code"] == code


async def test_a_program_that_died_of_a_signal_is_reported_as_shells_do(served: Served) -> None:
    said = await served.rest(await served.spawn("kill -KILL $$"))
    assert (said["exit_code"], said["signal"]) == (128 + signal.SIGKILL, signal.SIGKILL)


async def test_an_exit_can_be_read_again(served: Served) -> None:
    number = await served.spawn("echo once; exit 3")
    assert (await served.rest(number))["exit_code"] == 3
    again = await served.call("exec.read", session_id=number)
    assert (again["stdout"], again["running"], again["exit_code"]) == ("", False, 3)


async def test_what_is_typed_reaches_the_program(served: Served) -> None:
    number = await served.spawn("read line; echo got $line")
    said = await served.call("exec.write", session_id=number, chars="hello\n", yield_time_ms=60_000)
    assert (said["written"], said["stdout"], said["exit_code"]) == (6, "hello\r\ngot hello\r\n", 0)


async def test_a_terminal_has_the_size_it_is_given(served: Served) -> None:
    number = await served.spawn("stty size; read line; stty size", rows=10, columns=20)
    assert "10 20" in await served.until(number, "10 20")
    await served.call("exec.resize", session_id=number, rows=30, columns=40)
    said = await served.call("exec.write", session_id=number, chars="\n", yield_time_ms=60_000)
    assert "30 40" in said["stdout"]


async def test_a_signal_reaches_the_program(served: Served) -> None:
    number = await served.spawn("trap 'echo caught; exit 5' INT; echo ready; while :; do read x; done")
    await served.until(number, "ready")
    await served.call("exec.signal", session_id=number, signal="SIGINT")
    said = await served.rest(number)
    assert "caught" in said["stdout"]
    assert said["exit_code"] == 5


async def test_closing_ends_everything_of_a_session(served: Served) -> None:
    number = await served.spawn("echo ready; sleep 1000 & wait")
    await served.until(number, "ready")
    said = await served.call("exec.close", session_id=number)
    assert (said["running"], said["signal"]) == (False, signal.SIGHUP)
    assert (await served.call("exec.list"))["sessions"] == []


async def test_a_session_goes_on_without_its_client(served: Served) -> None:
    number = await served.spawn("echo ready; read line; echo got $line")
    _, writer = await served.connect()
    request = {"method": "exec.read", "params": {"session_id": number, "yield_time_ms": 60_000}}
    writer.write(json.dumps({**request, "secret": served.secret}).encode() + b"\n")
    await writer.drain()
    writer.transport.abort()  # as if it was killed while it waited
    await served.until(number, "ready")
    said = await served.call("exec.write", session_id=number, chars="x\n", yield_time_ms=60_000)
    assert "got x" in said["stdout"]


async def test_a_long_read_blocks_no_other(served: Served) -> None:
    quiet, busy = await served.spawn("read line"), await served.spawn("echo here; read line")
    waiting = asyncio.create_task(served.call("exec.read", session_id=quiet, yield_time_ms=600_000))
    assert "here" in await served.until(busy, "here")
    assert not waiting.done()
    await served.call("exec.write", session_id=quiet, chars="\n", yield_time_ms=0)
    assert not (await waiting)["running"]


async def test_numbers_are_never_used_again(served: Served) -> None:
    numbers = [await served.spawn("true") for _ in range(3)]
    await served.call("exec.close_all")
    assert numbers == [1, 2, 3]
    assert await served.spawn("true") == 4


async def test_a_command_sees_its_marker_but_not_the_secret(served: Served) -> None:
    said = await served.rest(await served.spawn("env"))
    assert MARKER in said["stdout"]
    assert served.secret not in said["stdout"]


async def test_a_command_starts_in_the_workspace_or_below(served: Served) -> None:
    (served.place.workspace_root / "sub").mkdir()
    said = await served.rest(await served.spawn("pwd", cwd="sub"))
    assert said["stdout"].strip() == str(served.place.workspace_root / "sub")


@pytest.mark.parametrize("directory", ["..", "/", "link"])
async def test_a_command_cannot_start_outside_the_workspace(served: Served, directory: str) -> None:
    (served.place.workspace_root / "link").symlink_to("/")
    with pytest.raises(ToolError, match="outside the workspace") as caught:
        await served.spawn("true", cwd=directory)
    assert caught.value.kind == "permission"


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({}, "validation"),
        ({"cmd": "true", "argv": ["true"]}, "validation"),
        ({"argv": ["no-such-program-here"]}, "not_found"),
        ({"argv": ["true"], "wrong": 1}, "validation"),
        ({"argv": ["true", "\0"]}, "validation"),
        ({"cmd": "true", "rows": 0}, "validation"),
        ({"cmd": "true", "sandbox": "restricted"}, "sandbox_denied"),
        ({"cmd": "true", "cwd": "nowhere"}, "not_found"),
    ],
)
async def test_what_cannot_be_started_leaves_nothing(served: Served, params: dict[str, object], kind: str) -> None:
    with pytest.raises(ToolError) as caught:
        await served.call("exec.spawn", **params)
    assert caught.value.kind == kind
    assert json.loads((served.place.path / "exec_registry.json").read_text())["exec_sessions"] == {}


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("exec.read", {"session_id": 99}, "not_found"),
        ("exec.close", {"session_id": 99}, "not_found"),
        ("exec.read", {"session_id": "1"}, "validation"),
        ("exec.read", {"session_id": 1, "yield_time_ms": 10**9}, "validation"),
        ("exec.signal", {"session_id": 1, "signal": "SIGNOTHING"}, "validation"),
        ("exec.nothing", {}, "not_found"),
        ("collab.spawn", {"message": "x"}, "config_error"),
    ],
)
async def test_a_wrong_request_is_refused_with_its_kind(
    served: Served, method: str, params: dict[str, object], kind: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await served.call(method, **params)
    assert caught.value.kind == kind


async def test_there_is_an_end_to_the_number_of_sessions(served: Served) -> None:
    for _ in range(64):
        await served.spawn("read line")
    with pytest.raises(ToolError, match="64 sessions"):
        await served.spawn("true")
    await served.call("runtime.cleanup", children=False)
    assert await served.spawn("true")


async def test_files_of_the_server_are_private(served: Served) -> None:
    assert served.place.path.stat().st_mode & 0o777 == 0o700
    files = list(served.place.path.iterdir())
    assert {path.name for path in files} >= {"runtime.sock", "server.json", "exec_registry.json"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


async def test_the_registry_knows_a_program_that_drops_its_marker_at_once(served: Served) -> None:
    await served.call("exec.spawn", argv=["/usr/bin/env", "-i", "/bin/sleep", "1000"])
    (entry,) = json.loads((served.place.path / "exec_registry.json").read_text())["exec_sessions"].values()
    assert len(entry["processes"]) == 1
    await served.call("exec.close_all")
