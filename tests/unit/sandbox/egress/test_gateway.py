"""The hand-over of a listener: only what was meant to come out is taken."""

import os
import socket
from collections.abc import Iterator

import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.egress import PROXY_PORT, Handover, proxy_variables
from skills_runtime.sandbox.egress.gateway import find_listener_problem


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as one:
        yield one


def inside(handover: Handover) -> socket.socket:
    """The end of the channel that a sandbox inherits."""
    return socket.socket(fileno=os.dup(handover.descriptor))


async def test_a_sandbox_that_dies_is_noticed() -> None:
    with Handover() as handover:
        handover.release_sandbox_end()
        with pytest.raises(SandboxError, match="ended before it had a network"):
            await handover.receive_listener()


async def test_a_sandbox_that_says_nothing_is_not_waited_for_forever() -> None:
    with Handover() as handover, pytest.raises(SandboxError, match=r"created no network within 0\.05 seconds"):
        await handover.receive_listener(0.05)


@pytest.mark.parametrize("word", [b"X", b"L"])
async def test_a_word_without_a_socket_is_refused(word: bytes) -> None:
    with Handover() as handover, inside(handover) as channel:
        channel.send(word)
        with pytest.raises(SandboxError, match="ended before it had a network"):
            await handover.receive_listener()


async def test_a_socket_in_the_network_of_this_machine_is_refused_and_closed(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with Handover(port) as handover, inside(handover) as channel:
        socket.send_fds(channel, [b"L"], [listener.fileno()])
        before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are all that is needed
        with pytest.raises(SandboxError, match="in the network of this machine"):
            await handover.receive_listener()
        assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_only_a_listener_at_the_right_place_will_do(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    assert "another place" in find_listener_problem(listener, port + 1)
    with socket.socket() as silent:
        assert "does not listen" in find_listener_problem(silent, port)
    with socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        assert "not one for TCP" in find_listener_problem(datagrams, port)
    with socket.socket(socket.AF_UNIX) as local:
        assert "not one for TCP" in find_listener_problem(local, port)


async def test_the_command_is_told_to_go() -> None:
    with Handover() as handover, inside(handover) as channel:
        handover.allow_start()
        assert channel.recv(10) == b"G"


async def test_a_command_that_is_gone_is_not_told_anything() -> None:
    with Handover() as handover:
        handover.release_sandbox_end()
        handover.allow_start()


def test_the_command_line_ends_with_the_command() -> None:
    with Handover() as handover:
        argv = handover.argv(("tool", "-x"), "/opt/python")
        assert argv[:4] == ("/opt/python", "-I", "-S", "-c")
        assert argv[5:] == (str(handover.descriptor), str(PROXY_PORT), "tool", "-x")
        assert handover.argv(("tool",), descriptor=3)[5:] == ("3", str(PROXY_PORT), "tool")


def test_programs_find_the_proxy_in_both_cases() -> None:
    variables = proxy_variables(1234)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        assert variables[name] == variables[name.lower()] == "http://127.0.0.1:1234"
    assert variables["NO_PROXY"] == variables["no_proxy"] == "localhost,127.0.0.1,::1"


def test_a_name_of_loopback_that_a_rule_names_is_asked_of_the_proxy() -> None:
    variables = proxy_variables(rule_hosts={"127.0.0.1", "example.com"})
    assert variables["NO_PROXY"] == variables["no_proxy"] == "localhost,::1"
