"""Counts how often a client waits for a server: a proxy between them that sees who speaks after whom."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

PIECE = 1 << 16


class RoundTrips:
    """How often a client spoke after it had been answered."""

    def __init__(self) -> None:
        self.port = 0
        self.total = 0
        self._client_speaks = False
        self._lock = threading.Lock()

    def heard(self, *, client: bool) -> None:
        """Somebody said something."""
        with self._lock:
            if client and not self._client_speaks:
                self.total += 1
            self._client_speaks = client


@contextmanager
def counted(port: int) -> Generator[RoundTrips]:
    """A proxy before the server at this port; its own port and its count are in the value."""
    trips = RoundTrips()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        trips.port = listener.getsockname()[1]
        open_ones: list[socket.socket] = []
        accepting = threading.Thread(target=_accept, args=(listener, port, trips, open_ones), daemon=True)
        accepting.start()
        try:
            yield trips
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for one in open_ones:
                _shut(one)
                one.close()


def _accept(listener: socket.socket, port: int, trips: RoundTrips, open_ones: list[socket.socket]) -> None:
    pumps: list[threading.Thread] = []
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            break
        server = socket.create_connection(("127.0.0.1", port))
        open_ones += [client, server]
        for source, target, is_client in ((client, server, True), (server, client, False)):
            pumps.append(threading.Thread(target=_pump, args=(source, target, is_client, trips), daemon=True))
            pumps[-1].start()


def _pump(source: socket.socket, target: socket.socket, is_client: bool, trips: RoundTrips) -> None:
    try:
        while piece := source.recv(PIECE):
            trips.heard(client=is_client)
            target.sendall(piece)
    except OSError:
        pass
    finally:
        _shut(target)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
