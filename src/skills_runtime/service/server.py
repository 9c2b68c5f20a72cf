"""Listen and serve until a stop signal, then let running work finish."""

import asyncio
import contextlib
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from skills_runtime.agent import backend_for
from skills_runtime.clock import SystemClock
from skills_runtime.engine import Model
from skills_runtime.errors import ConfigError
from skills_runtime.service.access.peers import PEER, Peer
from skills_runtime.service.access.token import RunningService, register_service, unregister_service
from skills_runtime.service.app import create_app
from skills_runtime.service.bootstrap import open_service
from skills_runtime.service.problems import encode_json
from skills_runtime.service.settings import Listener, ServiceSettings

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.service.state import ServiceState

BACKLOG = 2048
HEAD_SECONDS = 30.0
"""Time limit for the head of a request."""
ANSWER_SECONDS = 5.0
"""Time to send the responses of work that was ended at shutdown."""


async def serve(
    settings: ServiceSettings,
    resolved: "Resolved",
    on_ready: Callable[[RunningService, Sequence[Listener]], None],
    *,
    model: Model = backend_for,
) -> None:
    """Serve until a signal; `on_ready` is called as soon as requests are accepted."""
    sockets = [bind_socket(listener) for listener in settings.listen]
    actual = [
        Listener(listener.host, _port(connection))
        for listener, connection in zip(settings.listen, sockets, strict=True)
    ]
    _allow_many_connections()
    async with open_service(settings, resolved, model=model) as state:
        server = _Server(_config(create_app(state), settings), state.stopping)
        service = RunningService(
            url=f"http://{actual[0].text}",
            token=state.token,
            pid=os.getpid(),
            workspace_root=str(settings.workspace_root),
            started_at=SystemClock().now(),
        )
        for listener in actual:
            register_service(settings.state, listener.port, service)
        late_work = asyncio.create_task(_end_late_work(state, settings.grace_seconds))
        try:
            server.when_started = lambda: on_ready(service, actual)
            await server.serve(sockets)
        finally:
            late_work.cancel()
            for listener in actual:
                unregister_service(settings.state, listener.port, os.getpid())


async def _end_late_work(state: "ServiceState", grace_seconds: float) -> None:
    """End remaining work when the grace period after a stop is over; its clients still get responses."""
    await state.stopping.wait()
    await asyncio.sleep(grace_seconds)
    await state.runs.executions.executor.aclose()


def _config(app: object, settings: ServiceSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # pyright: ignore[reportArgumentType] - an ASGI app
        http=HttpProtocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=max(1, round(settings.grace_seconds + ANSWER_SECONDS)),
        backlog=BACKLOG,
    )


class _Server(uvicorn.Server):
    """Server that shuts down gracefully on the first signal and at once on the second."""

    def __init__(self, config: uvicorn.Config, stopping: asyncio.Event) -> None:
        super().__init__(config)
        self._stopping = stopping
        self.when_started: Callable[[], None] = lambda: None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.when_started()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, self._stop)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self._stopping.set()


class HttpProtocol(H11Protocol):
    """HTTP protocol with a time limit for request heads, and JSON for malformed requests."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start the time limit for the first request."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, PEER: Peer(self.client, self.server)}
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Process received data."""
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limit."""
        super().connection_lost(exc)
        if self._head_timer is not None:
            self._head_timer.cancel()

    def _watch_head(self) -> None:
        """Run the timer only while the head of a request is incomplete."""
        if self.conn.their_state is not h11.IDLE:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _unsupported_upgrade_warning(self) -> None:
        """Suppress uvicorn's warning: upgrades are never supported here, so installing a library would not help."""

    def send_400_response(self, msg: str) -> None:
        """Answer malformed HTTP with JSON."""
        body = encode_json({"success": False, "error": msg, "code": "bad_request"})
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + body)
        self.transport.close()


def bind_socket(listener: Listener) -> socket.socket:
    """Return a socket bound to the address; raise `ConfigError` if it is not available."""
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets with an explicit protocol.
    connection = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            connection.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        connection.bind((listener.host, listener.port))
    except OSError as error:
        connection.close()
        hint = "another program may use this port: choose another one with `--listen`"
        raise ConfigError(f"cannot listen on {listener.text}: {error.strerror or error}", hint=hint) from error
    connection.set_inheritable(False)
    return connection


def _port(connection: socket.socket) -> int:
    return connection.getsockname()[1]


def _allow_many_connections() -> None:
    """Raise the limit of open files to its maximum: thousands of clients may follow one run."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = hard if hard != resource.RLIM_INFINITY else 65_536
    if soft < target and sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
