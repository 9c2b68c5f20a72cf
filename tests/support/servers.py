"""Real PostgreSQL and Redis servers on private ports, and a proxy that counts round trips.

`scripts/setup` installs them; where one is missing the tests that need it fail and say so.
"""

import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from tests.support.users import NOBODY

STARTING_SEC = 60
ENDING_SEC = 30
TRIES = 5
_PR_SET_PDEATHSIG = 1


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A running server and its address."""

    port: int
    user: str
    password: str
    database: str = ""

    def dsn(self, *, password: str | None = None, port: int | None = None, database: str | None = None) -> str:
        """Return its address, optionally with changed parts."""
        scheme = "postgresql" if self.database else "redis"
        user = self.user if self.database else ""
        location = database if database is not None else self.database or "0"
        return f"{scheme}://{user}:{password or self.password}@127.0.0.1:{port or self.port}/{location}"


class NotReady(RuntimeError):
    """A server ended before it was ready."""


@contextmanager
def redis_server() -> Generator[Server]:
    """Start an empty Redis without persistence."""
    program = _program("redis-server", "redis-server")
    with _place() as path:
        password = secrets.token_hex(16)

        def command(port: int) -> list[str]:
            settings = {"port": port, "bind": "127.0.0.1", "dir": path, "requirepass": password}
            quiet = {"save": "", "appendonly": "no", "daemonize": "no"}
            return [
                program,
                *(word for name, value in {**settings, **quiet}.items() for word in (f"--{name}", str(value))),
            ]

        with _running(command, b"Ready to accept connections", signal.SIGTERM) as port:
            yield Server(port=port, user="default", password=password)


@contextmanager
def postgres_server() -> Generator[Server]:
    """Start an empty PostgreSQL with a password and without durability."""
    program, initdb = _program("postgres", "postgresql"), _program("initdb", "postgresql")
    with _place() as path:
        password, data = secrets.token_hex(16), path / "data"
        (path / "password").write_text(password)
        if os.geteuid() == 0:
            shutil.chown(path / "password", NOBODY, NOBODY)
        auth = ["--auth=scram-sha-256", "--username=owner", f"--pwfile={path / 'password'}"]
        process = subprocess.run(
            [initdb, "--no-sync", "--encoding=UTF8", "--locale=C", *auth, str(data)],
            cwd=path,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
            **_as_nobody(),
        )
        assert process.returncode == 0, process.stdout + process.stderr

        def command(port: int) -> list[str]:
            settings = ["fsync=off", "listen_addresses=127.0.0.1", "unix_socket_directories=", f"port={port}"]
            return [program, "-D", str(data), *(word for setting in settings for word in ("-c", setting))]

        with _running(command, b"ready to accept connections", signal.SIGINT) as port:
            yield Server(port=port, user="owner", password=password, database="postgres")


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as connection:
        connection.bind(("127.0.0.1", 0))
        return connection.getsockname()[1]


def _program(name: str, package: str) -> str:
    directories = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    text = shutil.which(name) or shutil.which(name, path=os.pathsep.join(directories))
    assert text, f"`{name}` is not installed: run `scripts/setup`, or install the system package {package}"
    return text


@contextmanager
def _place() -> Generator[Path]:
    """Return a directory for the server; PostgreSQL refuses to run as root."""
    with tempfile.TemporaryDirectory(prefix="server-", ignore_cleanup_errors=True) as path:
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        yield Path(path)


@contextmanager
def _running(command: Callable[[int], Sequence[str]], ready: bytes, end: signal.Signals) -> Generator[int]:
    """Yield the port of a server that is ready; try another port if this one is taken."""
    for attempt in range(1, TRIES + 1):
        port = free_port()
        process = _started(command(port), end)
        try:
            _wait_for(process, ready)
        except NotReady:
            _end(process, signal.SIGKILL)
            if attempt == TRIES:
                raise
            continue
        try:
            yield port
        finally:
            _end(process, end)
        return


def _started(command: Sequence[str], end: signal.Signals) -> "subprocess.Popen[bytes]":
    library = ctypes.CDLL(None)

    def end_with_us() -> None:
        if hasattr(library, "prctl"):
            library.prctl(_PR_SET_PDEATHSIG, int(end))

    with warnings.catch_warnings():
        # Python 3.12 warns of threads, which a test worker has; the child only makes one system call.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen[bytes](
            command,
            cwd="/",
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_us,
            **_as_nobody(),
        )


def _wait_for(process: "subprocess.Popen[bytes]", ready: bytes) -> None:
    # Reads on after the server is ready: with a full pipe the server would block.
    assert process.stdout is not None
    impatient = threading.Timer(STARTING_SEC, process.kill)
    impatient.start()
    texts: list[bytes] = []
    try:
        for line in process.stdout:
            texts.append(line)
            if ready in line:
                threading.Thread(target=_read_on, args=(process.stdout,), daemon=True).start()
                return
    finally:
        impatient.cancel()
    raise NotReady(b"".join(texts[-20:]).decode(errors="replace"))


def _read_on(stream: Any) -> None:
    for _ in stream:
        pass


def _end(process: "subprocess.Popen[bytes]", how: signal.Signals) -> None:
    process.send_signal(how)
    try:
        process.wait(ENDING_SEC)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _as_nobody() -> dict[str, Any]:
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


PIECE = 1 << 16


class RoundTrips:
    """Counts how often a client sent something after an answer."""

    def __init__(self) -> None:
        self.port = 0
        self.total = 0
        self._client_speaks = False
        self._lock = threading.Lock()

    def count(self, *, client: bool) -> None:
        """Count a message."""
        with self._lock:
            if client and not self._client_speaks:
                self.total += 1
            self._client_speaks = client


@contextmanager
def counted(port: int) -> Generator[RoundTrips]:
    """Start a proxy for the server at this port; yield its own port and its count."""
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
            for connection in open_ones:
                _shut(connection)
                connection.close()


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
            trips.count(client=is_client)
            target.sendall(piece)
    except OSError:
        pass
    finally:
        _shut(target)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
