"""Which user is at the other end of a loopback connection, asked of the kernel about real sockets."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from skills_runtime.service.access.peers import Peer
from tests.support.users import Unprivileged


@contextmanager
def connection(host: str = "127.0.0.1", family: int = socket.AF_INET) -> Generator[tuple[socket.socket, Peer]]:
    """A client's end, and the peer that the server sees."""
    with socket.create_server((host, 0), family=family) as listening:
        address = listening.getsockname()
        with socket.create_connection(address[:2]) as client, listening.accept()[0] as server:
            yield client, Peer(server.getpeername()[:2], server.getsockname()[:2])


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_the_own_user_is_recognized(host: str, family: int) -> None:
    with connection(host, family) as (_, peer):
        assert peer.is_own_user


def test_an_ordinary_user_is_recognized_too(unprivileged: Unprivileged) -> None:
    def is_own_user() -> bool:
        with connection() as (_, peer):
            return peer.is_own_user

    assert unprivileged(is_own_user)


def test_a_client_that_has_sent_everything_is_recognized() -> None:
    with connection() as (client, peer):
        client.shutdown(socket.SHUT_WR)
        assert peer.is_own_user


def test_a_gone_client_has_no_identity_although_the_kernel_names_root() -> None:
    with connection() as (client, peer):
        client.close()
        assert not peer.is_own_user


def test_the_user_is_looked_up_once() -> None:
    with connection() as (client, peer):
        assert peer.is_own_user
        client.close()
        assert peer.is_own_user


@pytest.mark.parametrize("client", [None, ("127.0.0.1", 5), ("192.0.2.1", 5), ("no address", 5), ("127.0.0.1", None)])
def test_an_unknown_peer_has_no_identity(client: tuple[str, int | None] | None) -> None:
    assert not Peer(client, ("127.0.0.1", 8000)).is_own_user
