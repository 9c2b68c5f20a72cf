"""Clients that are wrong, slow, greedy or somebody else: each gets its refusal, and the others their answers."""

import asyncio
import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.errors import AccessRefused, SkillsRuntimeError, ToolError, ValidationFailed
from skills_runtime.processes.server import protocol as wire
from skills_runtime.processes.server import runtime_server as serve
from skills_runtime.processes.server.directory import RuntimeDirectory
from skills_runtime.runtime.client import RuntimeClient
from skills_runtime.sandbox import NoSandbox
from tests.support.users import Unprivileged
from tests.unit.processes.conftest import Tagged
from tests.unit.processes.server.conftest import Served, unfenced

REQUEST: dict[str, Any] = {"method": "ping", "params": {}}


def kind_of(answer: bytes) -> str:
    return json.loads(answer)["error_kind"]


@pytest.mark.parametrize("secret", ["", "wrong", "ü", "0" * 64, "0" * 100_000, None, 7])
async def test_without_the_secret_nothing_is_done(served: Served, secret: Any) -> None:
    answer = await served.ask({**REQUEST, "secret": secret})
    assert kind_of(answer) in ("permission", "validation")
    assert served.secret.encode() not in answer


async def test_a_secret_that_only_begins_right_is_wrong(served: Served) -> None:
    assert kind_of(await served.ask({**REQUEST, "secret": served.secret[:-1]})) == "permission"


@pytest.mark.parametrize(
    "data",
    [
        b"\n",
        b"\0\xff\xfe\n",
        b"[]\n",
        b"null\n",
        b'"ping"\n',
        b"{\n",
        b'{"method": 1}\n',
        b"GET / HTTP/1.1\r\n",
        b"[" * 100_000 + b"\n",
        b'{"method":"ping","params":' + b"[" * 100_000 + b"\n",
        b'{"secret":"\\ud800","method":"ping"}\n',
    ],
)
async def test_garbage_is_refused_and_the_server_goes_on(served: Served, data: bytes) -> None:
    assert kind_of(await served.say(data)) in ("validation", "permission")
    assert await served.call("ping") == {"pong": True}


@given(data=st.binary(max_size=300))
@settings(max_examples=200)
def test_no_bytes_are_a_request_without_the_secret(data: bytes) -> None:
    with pytest.raises((ValidationFailed, AccessRefused)):
        wire.parse_request(data, secret="0123456789abcdef")


async def test_parameters_that_are_nested_too_deeply_are_refused(served: Served) -> None:
    deep = b"[" * 5000 + b"]" * 5000
    data = b'{"method":"exec.read","params":' + deep + b',"secret":"' + served.secret.encode() + b'"}\n'
    assert kind_of(await served.say(data)) == "validation"


async def _pour(writer: asyncio.StreamWriter) -> None:
    for _ in range(64):
        writer.write(b"x" * (1 << 20))
        await writer.drain()


async def test_a_huge_request_is_refused_without_being_kept(served: Served) -> None:
    _, writer = await served.connect()
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        await _pour(writer)
    writer.transport.abort()
    assert await served.call("ping") == {"pong": True}


async def test_a_huge_request_is_told_so(served: Served) -> None:
    with pytest.raises(ValidationFailed, match="1048576 bytes"):
        await asyncio.to_thread(
            RuntimeClient(served.place.workspace_root, start=False).call, "exec.write", {"chars": "x" * (1 << 20)}
        )


async def test_half_a_request_blocks_no_other(served: Served) -> None:
    halves = [await served.connect() for _ in range(20)]
    for _, writer in halves:
        writer.write(b'{"method": "pi')
    assert await served.call("ping") == {"pong": True}
    for _, writer in halves:
        writer.transport.abort()


async def test_a_request_that_does_not_come_to_an_end_is_given_up() -> None:
    reader = asyncio.StreamReader(limit=wire.MAX_REQUEST)
    reader.feed_data(b'{"method": "pi')
    with pytest.raises(ToolError, match="not complete") as caught:
        await wire.read_request(reader, seconds=0.01)
    assert caught.value.kind == "timeout"


async def test_the_end_of_what_a_client_says_ends_its_request(served: Served) -> None:
    request = json.dumps({**REQUEST, "secret": served.secret}).encode()
    assert wire.parse_answer(await served.say(request, half_close=True)) == {"pong": True}


async def test_a_client_that_only_looks_is_answered_with_nothing(served: Served) -> None:
    assert await served.say(b"", half_close=True) == b""


async def test_a_client_that_takes_no_answer_is_let_go(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "DELIVERY_SECONDS", 0.05)
    number = await served.spawn("seq 1 300000; read line")
    await served.until(number, "9")
    wanted = {"session_id": number, "max_output_bytes": 1 << 22, "yield_time_ms": 60_000, "until_idle_ms": 500}
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.connect(served.place.address)
        deaf.sendall(json.dumps({"method": "exec.read", "params": wanted, "secret": served.secret}).encode() + b"\n")
        (connection,) = await _connections(served, 1)
        await asyncio.wait([connection])
        assert await served.call("ping") == {"pong": True}


async def _connections(served: Served, count: int) -> set[asyncio.Task[Any]]:
    """The connections that are served now, as soon as there are so many."""
    connections = served.server._connections  # pyright: ignore[reportPrivateUsage]
    while len(connections) < count:
        await asyncio.sleep(0)
    return set(connections)


async def test_more_clients_than_can_be_served_are_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "MAX_CONNECTIONS", 2)
    waiting = [await served.connect() for _ in range(2)]
    await _connections(served, 2)
    with pytest.raises(ToolError, match="2 clients"):
        await asyncio.to_thread(RuntimeClient(served.place.workspace_root, start=False).call, "ping")
    for _, writer in waiting:
        writer.transport.abort()


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can be somebody else")
async def test_another_user_is_refused_even_with_the_secret(unprivileged: Unprivileged, command: Tagged) -> None:
    with RuntimeDirectory.open(unprivileged.path, create=True) as place:
        served = await Served(place, unfenced(command)).up()
        unprivileged.path.chmod(0o755)
        for path in (place.path.parent, place.path):
            path.chmod(0o755)
        (place.path / "runtime.sock").chmod(0o666)
        request = json.dumps({**REQUEST, "secret": served.secret}).encode() + b"\n"
        path = str(place.path / "runtime.sock")

        def ask() -> bytes:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
                with suppress(BrokenPipeError):  # refused before a word was heard
                    connection.sendall(request)
                return connection.recv(1 << 16)

        answer = await asyncio.to_thread(unprivileged, ask)
        assert kind_of(answer) == "permission"
        assert "only the user" in json.loads(answer)["error"]
        await served.down()


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can be somebody else")
async def test_a_client_does_not_talk_with_the_server_of_another_user(
    unprivileged: Unprivileged, command: Tagged
) -> None:
    with RuntimeDirectory.open(unprivileged.path, create=True) as place:
        served = await Served(place, unfenced(command)).up()
        place.path.parent.chmod(0o755)

        def ask() -> Any:
            return RuntimeClient(unprivileged.path, start=False).call("ping")

        with pytest.raises(AccessRefused):
            await asyncio.to_thread(unprivileged, ask)
        await served.down()


def _own_server(workspace: Path) -> tuple[str, int]:
    async def work() -> tuple[str, int]:
        with RuntimeDirectory.open(workspace, create=True) as place:
            served = await Served(place, NoSandbox({})).up()
            said = await served.rest(await served.spawn("id -u; exit 4"))
            await served.down()
            return said["stdout"].strip(), said["exit_code"]

    return asyncio.run(work())


def test_an_ordinary_user_has_a_server_of_their_own(unprivileged: Unprivileged) -> None:
    assert unprivileged(lambda: _own_server(unprivileged.path))[1] == 4


async def test_a_client_that_lies_about_a_secret_file_is_detected(served: Served) -> None:
    (served.place.path / "server.json").chmod(0o644)
    with pytest.raises(SkillsRuntimeError, match="not a private file"):
        await asyncio.to_thread(RuntimeClient(served.place.workspace_root, start=False).call, "ping")
    (served.place.path / "server.json").chmod(0o600)
