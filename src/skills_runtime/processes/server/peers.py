"""Who is at the other end of a local socket, as the kernel tells it."""

import os
import select
import socket
import struct
from typing import NamedTuple

from skills_runtime.errors import AccessRefused

_CREDENTIALS = struct.Struct("3i")


class Peer(NamedTuple):
    """A process and its user."""

    pid: int
    uid: int
    gid: int


def peer_of(connection: "socket.socket | Connected") -> Peer:
    """Whoever connected; for a client, whoever listens."""
    return Peer(*_CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)))


def check_peer(connection: "socket.socket | Connected", *, user: int | None = None) -> Peer:
    """The peer, if it is the same user as this process."""
    peer = peer_of(connection)
    if peer.uid != (os.geteuid() if user is None else user):
        raise AccessRefused("only the user who runs this server may use it", hint="start one of your own")
    return peer


def hung_up(descriptor: int) -> bool:
    """Whether the other side is gone altogether, and has not only said all it has to say."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, events in poll.poll(0))


class Connected:
    """The part of a socket that a transport shows."""

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes:
        """An option of the socket."""
        raise NotImplementedError

    def fileno(self) -> int:
        """The number of its descriptor."""
        raise NotImplementedError
