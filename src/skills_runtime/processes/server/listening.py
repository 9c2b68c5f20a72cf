"""The socket of the server: private from its first moment, and given up only when nobody waits at it."""

import os
import select
import socket

from skills_runtime.processes.server.place import SOCKET, Place
from skills_runtime.runs.layout import FILE_MODE

BACKLOG = 512
_ASIDE = f".{SOCKET}.closing"


class Listener:
    """Listens in the directory of a place; to be made by whoever holds its lock."""

    def __init__(self, place: Place) -> None:
        self._place = place
        place.remove(SOCKET)  # of a server that died
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # A socket takes its mode from the descriptor when it is bound: there is no moment at which others could.
            os.fchmod(self.socket.fileno(), FILE_MODE)
            self.socket.bind(place.address)
            self.socket.setblocking(False)  # noqa: FBT003 - it has no name
            self.socket.listen(BACKLOG)
        except BaseException:
            self.socket.close()
            raise

    def retire(self) -> bool:
        """Take the socket out of reach, unless somebody waits at it; nobody can have come in between."""
        self._place.rename(SOCKET, _ASIDE)
        if select.select([self.socket], [], [], 0)[0]:
            self._place.rename(_ASIDE, SOCKET)
            return False
        self._place.remove(_ASIDE)
        return True

    def close(self) -> None:
        """Take the socket out of reach, whoever waits."""
        self._place.remove(SOCKET)
        self._place.remove(_ASIDE)
        self.socket.close()
