"""Buffers of sockets count, whichever end is open."""

import os
import socket
from contextlib import suppress

import pytest

from skills_runtime.sandbox.supervision.socket_usage import estimate_socket_bytes, measure_socket_bytes

PAIRS = 32
LEAST = PAIRS * 64 << 10


def _filled() -> tuple[socket.socket, socket.socket]:
    one, other = socket.socketpair()
    _fill(one)
    return one, other


def _fill(one: socket.socket) -> None:
    one.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            one.send(bytes(1 << 12))


def _close(pairs: list[tuple[socket.socket, socket.socket]]) -> None:
    for pair in pairs:
        for one in pair:
            one.close()


@pytest.mark.parametrize("closed", [False, True])
def test_what_waits_in_a_pair_of_sockets_counts(closed: bool) -> None:
    before = measure_socket_bytes([os.getpid()])
    pairs = [_filled() for _ in range(PAIRS)]
    try:
        for one, _ in pairs if closed else []:
            one.close()
        assert measure_socket_bytes([os.getpid()]) - before >= LEAST
    finally:
        _close(pairs)


def test_what_waits_in_a_connection_counts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        before = measure_socket_bytes([os.getpid()])
        with server.accept()[0]:
            _fill(one)
            assert measure_socket_bytes([os.getpid()]) - before >= 64 << 10


def test_the_cheap_number_is_never_too_small() -> None:
    pairs = [_filled() for _ in range(PAIRS)]
    try:
        assert estimate_socket_bytes([os.getpid()]) >= measure_socket_bytes([os.getpid()])
    finally:
        _close(pairs)


def test_a_process_that_has_ended_holds_nothing() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    assert (measure_socket_bytes([pid]), estimate_socket_bytes([pid])) == (0, 0)
