"""How urgent executions are: less than whoever serves requests, which answers however many of them spin."""

import os
import socket
import struct

LOWER = 10
"""As `nice` counts; the process that waits does the same to itself."""
_CREDENTIALS = struct.Struct("3i")


def tell_sender(control: socket.socket) -> None:
    """Have every message on a socket say which process it comes from."""
    if hasattr(socket, "SO_PASSCRED"):
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)


def receive(control: socket.socket, size: int) -> tuple[bytes, int | None]:
    """The next message, empty when none will come, and the number that its sender has here."""
    try:
        data, ancillary, _, _ = control.recvmsg(size, socket.CMSG_SPACE(_CREDENTIALS.size))
    except OSError:  # the other end is gone
        return b"", None
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and len(content) == _CREDENTIALS.size:
            return data, _CREDENTIALS.unpack(content)[0]
    return data, None


class Session:
    """The session of a process: where the system groups processes by session, it weighs those, and not what is in them.

    Behind a fence nobody can say how much one counts, so it is said from here, before the process hides itself.
    """

    def __init__(self, process: int) -> None:
        try:
            self._said = os.open(f"/proc/{process}/autogroup", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:  # this system does not group them
            self._said = -1

    def lower(self) -> None:
        """Let it count less; the system may want to be asked again a little later."""
        if self._said >= 0:
            try:
                os.write(self._said, b"%d" % LOWER)
            except BlockingIOError:
                return
            except OSError:  # it has ended, or nobody may do this here
                pass
            self.close()

    def close(self) -> None:
        """Say nothing more about it."""
        if self._said >= 0:
            os.close(self._said)
            self._said = -1
