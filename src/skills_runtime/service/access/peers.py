"""Determine which local user is at the other end of a loopback connection."""

import os
import socket
import struct
import sys

_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1
_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBxI")
_ENDS = struct.Struct("!HH16s16s4x8s")
"""Ports, addresses, any interface, and a cookie that matches every socket."""
_ANSWER = struct.Struct("=BB2x48x12xII")
"""Family and state, then the owner's uid and the inode."""
_CONNECTED = frozenset({1, 4, 5})
"""Established, or half closed by a client that has sent its whole request."""
_SECONDS = 1.0

PEER = "peer"
"""Key in the request state under which the server stores the peer."""
Address = tuple[str, int | None]


class Peer:
    """The other end of one connection; its user is looked up on first use."""

    def __init__(self, client: Address | None, server: Address | None) -> None:
        self._client = client
        self._server = server
        self._uid: int | None = None
        self._is_resolved = False

    @property
    def is_own_user(self) -> bool:
        """Whether the service's own user or root opened the connection; false if that cannot be determined."""
        if not self._is_resolved:
            self._is_resolved = True
            self._uid = _uid_of(self._client, self._server) if self._client and self._server else None
        return self._uid is not None and self._uid in (0, os.geteuid())


def _uid_of(local: Address, remote: Address) -> int | None:
    """Ask the kernel (`sock_diag`) for the owner of the socket with these two ends."""
    if sys.platform != "linux":
        return None
    try:
        family = socket.AF_INET6 if ":" in local[0] else socket.AF_INET
        addresses = (socket.inet_pton(family, address) for address, _ in (local, remote))
        ends = _ENDS.pack(local[1], remote[1], *addresses, b"\xff" * 8)
        question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + ends
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
            kernel.settimeout(_SECONDS)
            kernel.sendto(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 1, 0) + question, (0, 0))
            answer = kernel.recv(4096)
    except (OSError, ValueError, struct.error):
        return None
    if len(answer) < _HEADER.size + _ANSWER.size or _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        return None
    socket_family, state, uid, inode = _ANSWER.unpack_from(answer, _HEADER.size)
    # A socket that its process has closed has no inode, and the kernel reports root as its owner.
    return uid if socket_family in (socket.AF_INET, socket.AF_INET6) and state in _CONNECTED and inode else None
