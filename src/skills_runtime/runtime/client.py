"""RuntimeClient: what Python programs ask the workspace runtime server with; it starts one when there is none."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import ToolError
from skills_runtime.processes.server import (
    DEFAULT_IDLE_SECONDS,
    SERVER,
    SOCKET,
    NoServer,
    Place,
    ServerInfo,
    ask,
    connect,
    end_orphans,
    registry,
    server_info,
    start_server,
)

DEFAULT_TIMEOUT_SEC = 30.0
START_TIMEOUT_SEC = 20.0
RETRY_SECONDS = 0.02
ATTEMPTS = 10
"""How often a server may leave just when it is asked."""


class RuntimeClient:
    """Talks with the server of a workspace; every call has a connection of its own, so threads may share a client."""

    def __init__(
        self,
        workspace_root: Path | str,
        *,
        start: bool = True,
        idle_seconds: float = DEFAULT_IDLE_SECONDS,
        start_timeout_sec: float = START_TIMEOUT_SEC,
    ) -> None:
        self._root = Path(workspace_root)
        self._start = start
        self._idle_seconds = idle_seconds
        self._start_timeout = start_timeout_sec

    def call(self, method: str, params: Mapping[str, Any] | None = None, *, timeout_sec: float | None = None) -> Any:
        """Ask for one thing and return its data; raises `SkillsRuntimeError` with the kind that the server tells.

        A server that is not there is started first, unless the client was told not to. Without a limit a call may
        take as long as its method waits, and half a minute more.
        """
        wanted = dict(params or {})
        with Place.of(self._root, create=self._start) as place:
            for _ in range(ATTEMPTS):
                try:
                    return _asked(place, method, wanted, timeout_sec)
                except NoServer:
                    if not self._start:
                        raise
                self._bring_up(place)
        raise ToolError("unknown", "runtime servers come and go too fast to be asked", hint="see `server.stderr.log`")

    def ensure_server(self) -> ServerInfo:
        """Start a server unless there is one, and say how to reach it."""
        self.call("ping")
        with Place.of(self._root, create=False) as place:
            return server_info(place)

    def running(self) -> bool:
        """Whether a server is there, without starting one."""
        try:
            with Place.of(self._root, create=False) as place:
                return _listening(place)
        except NoServer:
            return False

    def stop(self, *, timeout_sec: float = DEFAULT_TIMEOUT_SEC) -> bool:
        """End the server with its sessions, and return when it is gone; false when there was none.

        Child agents are not ended: they can be resumed.
        """
        deadline = time.monotonic() + timeout_sec
        try:
            with Place.of(self._root, create=False) as place:
                _asked(place, "shutdown", {}, timeout_sec)
                while (lock := place.lock()) is None:
                    _pause(deadline, "the runtime server does not end")
                os.close(lock)
        except NoServer:
            return False
        return True

    def clean_up(self) -> dict[str, Any]:
        """End every session and child agent; without a server, end what a dead one has left behind."""
        try:
            with Place.of(self._root, create=False) as place:
                try:
                    return {"server": True, **_asked(place, "runtime.cleanup", {}, None)}
                except NoServer:
                    return {"server": False, "ok": True, "orphans": _after_the_dead(place)}
        except NoServer:
            return {"server": False, "ok": True, "orphans": {}}

    def _bring_up(self, place: Place) -> None:
        """Return when a server listens, started by this client or by another one."""
        deadline = time.monotonic() + self._start_timeout
        while not _listening(place):
            starting = place.lock_starting()
            if starting is not None:
                try:
                    if self._started(place):
                        return
                finally:
                    os.close(starting)
            _pause(deadline, "the runtime server of this workspace neither serves nor ends")

    def _started(self, place: Place) -> bool:
        """Start a server, unless one is about to serve or to end."""
        if _listening(place):
            return True
        lock = place.lock()
        if lock is None:
            return False
        os.close(lock)
        from skills_runtime.config import process_environ  # needed for a start only

        start_server(place, process_environ(), idle_seconds=self._idle_seconds, timeout_seconds=self._start_timeout)
        return True


def _asked(place: Place, method: str, params: Mapping[str, Any], timeout_sec: float | None) -> Any:
    deadline = _deadline(method, params, timeout_sec)
    with connect(place, deadline) as connection:
        return ask(place, connection, method, params, deadline=deadline)


def _deadline(method: str, params: Mapping[str, Any], timeout_sec: float | None) -> float | None:
    if timeout_sec is not None:
        return time.monotonic() + timeout_sec
    if method == "collab.wait" and params.get("timeout_ms") is None:
        return None
    waits = [params.get(name) for name in ("yield_time_ms", "timeout_ms")]
    own = sum(wait for wait in waits if isinstance(wait, int)) / 1000
    return time.monotonic() + DEFAULT_TIMEOUT_SEC + own


def _listening(place: Place) -> bool:
    try:
        connect(place, time.monotonic() + DEFAULT_TIMEOUT_SEC).close()
    except NoServer:
        return False
    return True


def _pause(deadline: float, trouble: str) -> None:
    if time.monotonic() > deadline:
        raise ToolError("timeout", trouble, hint="`server.json` names its process; end that, and try again")
    time.sleep(RETRY_SECONDS)


def _after_the_dead(place: Place) -> dict[str, Any]:
    """End what a server that died has left, in its place."""
    lock = place.lock()
    if lock is None:
        raise ToolError(
            "unknown",
            "a runtime server is there but does not listen, so nothing was cleaned up",
            hint="`server.json` names its process; end that, and try again",
        )
    try:
        entries = registry.load(place)
        cleanup = end_orphans(entries)
        registry.Registry(place, last_session_id=entries.last_session_id)
        place.remove(SOCKET)
        place.remove(SERVER)
        return msgspec.to_builtins(cleanup)
    finally:
        os.close(lock)
