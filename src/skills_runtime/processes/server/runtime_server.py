"""The server: a private socket, one request per connection, and an exit after a time without use."""

import asyncio
import os
import secrets
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.errors import SkillsRuntimeError, ValidationFailed
from skills_runtime.ports import Clock, Sandbox
from skills_runtime.processes.server import protocol, registry
from skills_runtime.processes.server.directory import SERVER, SOCKET, RuntimeDirectory
from skills_runtime.processes.server.methods import CANCELLED_ON_DISCONNECT, Methods, ServedChildren
from skills_runtime.processes.server.protocol import check_peer, is_hung_up
from skills_runtime.processes.server.registry import Cleanup, end_orphans
from skills_runtime.processes.server.sessions import ServedSessions, milliseconds
from skills_runtime.runs import FILE_MODE

BACKLOG = 512
_CLOSING_SOCKET = f".{SOCKET}.closing"


class Listener:
    """Listens on a socket in the runtime directory; its creator must hold the lock."""

    def __init__(self, runtime_dir: RuntimeDirectory) -> None:
        self._runtime_dir = runtime_dir
        runtime_dir.remove(SOCKET)  # of a server that died
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # bind() takes the mode from the descriptor, so no other user can connect at any moment.
            os.fchmod(self.socket.fileno(), FILE_MODE)
            self.socket.bind(runtime_dir.address)
            self.socket.setblocking(False)  # noqa: FBT003 - it has no name
            self.socket.listen(BACKLOG)
        except BaseException:
            self.socket.close()
            raise

    def retire(self) -> bool:
        """Remove the socket unless a client is waiting; return whether it is removed."""
        self._runtime_dir.rename(SOCKET, _CLOSING_SOCKET)
        if select.select([self.socket], [], [], 0)[0]:
            self._runtime_dir.rename(_CLOSING_SOCKET, SOCKET)
            return False
        self._runtime_dir.remove(_CLOSING_SOCKET)
        return True

    def close(self) -> None:
        """Remove the socket, even if clients are waiting."""
        self._runtime_dir.remove(SOCKET)
        self._runtime_dir.remove(_CLOSING_SOCKET)
        self.socket.close()


DEFAULT_IDLE_SECONDS = 60.0
MAX_CONNECTIONS = 256
DELIVERY_SECONDS = 10.0
"""How long a client may take to read its answer."""

SHUTDOWN_GRACE_SECONDS = 2.0
"""How long pending requests may take when the server stops."""

HANG_UP_SECONDS = 0.5
"""How often to check whether a client that sent everything has disconnected."""


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `server.json`: how to reach the server, for its own user only."""

    pid: int
    secret: str
    socket_path: str
    created_at_ms: int

    def __repr__(self) -> str:
        return f"ServerInfo(pid={self.pid}, socket_path={self.socket_path!r})"


class RuntimeServer:
    """The server of a workspace; its creator must hold the lock of the runtime directory."""

    def __init__(
        self,
        runtime_dir: RuntimeDirectory,
        sandbox: Sandbox,
        children: ServedChildren,
        *,
        idle_seconds: float = DEFAULT_IDLE_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self._runtime_dir = runtime_dir
        self._children = children
        self._idle_seconds = idle_seconds
        self._clock = clock or SystemClock()
        entries = registry.load(runtime_dir)
        self.orphans: Cleanup = end_orphans(entries)
        self._registry = registry.Registry(runtime_dir, last_session_id=entries.last_session_id)
        self._sessions = ServedSessions(runtime_dir.workspace_root, sandbox, self._registry, self._clock)
        self._methods = Methods(runtime_dir.workspace_root, self._sessions, children)
        for name in ("shutdown", "runtime.shutdown"):
            self._methods.add(name, self._shut_down)
        self._methods.add("ping", self._ping)
        self._methods.add("runtime.status", self._status)
        self._secret = secrets.token_hex(32)
        self._created_at_ms = milliseconds(self._clock)
        self._began = self._clock.monotonic()
        self._stopping = asyncio.Event()
        self._connections: set[asyncio.Task[Any]] = set()

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until stopped or idle; return when all sessions and connections are closed."""
        # Written before the socket accepts, so that a client always finds the matching secret.
        self._runtime_dir.write(SERVER, msgspec.json.encode(self._info()) + b"\n")
        listener = Listener(self._runtime_dir)
        try:
            server = await asyncio.start_unix_server(self._on_connect, sock=listener.socket, limit=protocol.MAX_REQUEST)
            # Not in the main thread: its starter stops it.
            with suppress(ValueError, RuntimeError):
                for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                    asyncio.get_running_loop().add_signal_handler(number, self.stop)
            watch = asyncio.create_task(self._watch(listener), name="idle")
            ready()
            await self._stopping.wait()
            watch.cancel()
            server.close()
        finally:
            listener.close()
            await self._end()

    def stop(self) -> None:
        """Make `run` close everything and return."""
        self._stopping.set()

    async def _end(self) -> None:
        await self._sessions.close_all()  # clients that wait for one receive its end
        if self._connections:
            _, late = await asyncio.wait(self._connections, timeout=SHUTDOWN_GRACE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._sessions.close_all()  # sessions that were being started
        await self._children.aclose()
        self._runtime_dir.remove(SERVER)

    async def _watch(self, listener: Listener) -> None:
        """Stop the server after a time without sessions, children and requests."""
        quiet_since = self._clock.monotonic()
        while True:
            await asyncio.sleep(min(max(self._idle_seconds / 4, 0.02), 5.0))
            self._sessions.remove_ended()
            if self._connections or self._sessions.running or self._children.active:
                quiet_since = self._clock.monotonic()
            elif self._clock.monotonic() - quiet_since >= self._idle_seconds and listener.retire():
                self.stop()
                return

    def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve_connection(reader, writer), name="connection")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(await self._handle_request(reader, writer))
            async with asyncio.timeout(DELIVERY_SECONDS):
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError):  # the client is gone, or does not listen
            pass
        finally:
            writer.transport.abort()

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """Read and run a request, and return the encoded answer."""
        try:
            check_peer(writer.get_extra_info("socket"))
            if len(self._connections) > MAX_CONNECTIONS:
                raise ValidationFailed(f"{MAX_CONNECTIONS} clients are connected already", hint="try again later")
            received = await protocol.read_request(reader)
            if not received:
                return b""  # a client that only checked whether a server exists
            request = protocol.parse_request(received, secret=self._secret)
        except SkillsRuntimeError as error:
            return protocol.failure(error)
        work = asyncio.create_task(self._methods.call(request), name=request.method)
        disconnect = asyncio.create_task(_wait_for_disconnect(reader, writer))
        try:
            await asyncio.wait({work, disconnect}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and request.method in CANCELLED_ON_DISCONNECT:
                work.cancel()
            await asyncio.wait({work})
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            raise
        finally:
            disconnect.cancel()
        return _encode_outcome(work)

    async def _ping(self, params: Any) -> dict[str, Any]:
        del params
        return {"pong": True}

    async def _shut_down(self, params: Any) -> dict[str, Any]:
        del params
        self.stop()
        return {"ok": True}

    async def _status(self, params: Any) -> dict[str, Any]:
        del params
        self._sessions.remove_ended()
        return {
            "ok": True,
            "pid": os.getpid(),
            "workspace_root": str(self._runtime_dir.workspace_root),
            "socket_path": str(self._runtime_dir.path / SOCKET),
            "created_at_ms": self._created_at_ms,
            "uptime_ms": round((self._clock.monotonic() - self._began) * 1000),
            "idle_seconds": self._idle_seconds,
            "active_exec_sessions": self._sessions.running,
            "active_children": self._children.active,
            "exec_registry": {
                "path": str(self._registry.path),
                "count": len(self._registry),
                "last_orphan_cleanup": msgspec.to_builtins(self.orphans),
            },
        }

    def _info(self) -> ServerInfo:
        path = str(self._runtime_dir.path / SOCKET)
        return ServerInfo(pid=os.getpid(), secret=self._secret, socket_path=path, created_at_ms=self._created_at_ms)


async def _wait_for_disconnect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Return when the client has disconnected; ignore what it sends after its request."""
    with suppress(OSError):
        while await reader.read(1 << 16):
            pass
    descriptor = writer.get_extra_info("socket").fileno()
    while not is_hung_up(descriptor):
        await asyncio.sleep(HANG_UP_SECONDS)


def _encode_outcome(work: "asyncio.Task[Any]") -> bytes:
    if work.cancelled():
        return b""  # the client is gone
    error = work.exception()
    if error is None:
        return protocol.success(work.result())
    if not isinstance(error, SkillsRuntimeError):
        sys.stderr.write("".join(traceback.format_exception(error)))
        sys.stderr.flush()
    return protocol.failure(error)
