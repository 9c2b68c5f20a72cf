"""Client of the workspace runtime server for Python programs; starts a server if none runs."""

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
    RuntimeDirectory,
    ServerInfo,
    connect,
    end_orphans,
    read_server_info,
    registry,
    send_request,
    start_server,
)

DEFAULT_TIMEOUT_SEC = 30.0
START_TIMEOUT_SEC = 20.0
RETRY_SECONDS = 0.02
# A server may exit just when it is called; this bounds the retries.
ATTEMPTS = 10


class RuntimeClient:
    """Client of a workspace's server; every call has its own connection, so threads may share a client."""

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
        """Call a method and return its data; raise `SkillsRuntimeError` with the kind the server reports.

        Starts a missing server first, unless the client was created without that. Without a limit, a call may take
        as long as its method waits, plus half a minute.
        """
        arguments = dict(params or {})
        with RuntimeDirectory.open(self._root, create=self._start) as runtime_dir:
            for _ in range(ATTEMPTS):
                try:
                    return _send(runtime_dir, method, arguments, timeout_sec)
                except NoServer:
                    if not self._start:
                        raise
                self._ensure_listening(runtime_dir)
        raise ToolError("unknown", "runtime servers come and go too fast to be asked", hint="see `server.stderr.log`")

    def ensure_server(self) -> ServerInfo:
        """Start a server unless one runs, and return how to reach it."""
        self.call("ping")
        with RuntimeDirectory.open(self._root, create=False) as runtime_dir:
            return read_server_info(runtime_dir)

    def running(self) -> bool:
        """Return whether a server runs, without starting one."""
        try:
            with RuntimeDirectory.open(self._root, create=False) as runtime_dir:
                return _is_listening(runtime_dir)
        except NoServer:
            return False

    def stop(self, *, timeout_sec: float = DEFAULT_TIMEOUT_SEC) -> bool:
        """Stop the server with its sessions, and wait for its exit; return False if none ran.

        Child agents are not cancelled: they can be resumed.
        """
        deadline = time.monotonic() + timeout_sec
        try:
            with RuntimeDirectory.open(self._root, create=False) as runtime_dir:
                _send(runtime_dir, "shutdown", {}, timeout_sec)
                while (lock := runtime_dir.lock()) is None:
                    _pause(deadline, "the runtime server does not end")
                os.close(lock)
        except NoServer:
            return False
        return True

    def clean_up(self) -> dict[str, Any]:
        """End every session and child agent; without a server, clean up after a dead one."""
        try:
            with RuntimeDirectory.open(self._root, create=False) as runtime_dir:
                try:
                    return {"server": True, **_send(runtime_dir, "runtime.cleanup", {}, None)}
                except NoServer:
                    return {"server": False, "ok": True, "orphans": _clean_up_after_dead_server(runtime_dir)}
        except NoServer:
            return {"server": False, "ok": True, "orphans": {}}

    def _ensure_listening(self, runtime_dir: RuntimeDirectory) -> None:
        """Wait until a server listens, started by this client or by another one."""
        deadline = time.monotonic() + self._start_timeout
        while not _is_listening(runtime_dir):
            start_lock = runtime_dir.lock_starting()
            if start_lock is not None:
                try:
                    if self._try_start(runtime_dir):
                        return
                finally:
                    os.close(start_lock)
            _pause(deadline, "the runtime server of this workspace neither serves nor ends")

    def _try_start(self, runtime_dir: RuntimeDirectory) -> bool:
        """Start a server, unless one is starting or stopping."""
        if _is_listening(runtime_dir):
            return True
        lock = runtime_dir.lock()
        if lock is None:
            return False
        os.close(lock)
        from skills_runtime.config import process_environ  # needed for a start only

        start_server(
            runtime_dir, process_environ(), idle_seconds=self._idle_seconds, timeout_seconds=self._start_timeout
        )
        return True


def _send(runtime_dir: RuntimeDirectory, method: str, params: Mapping[str, Any], timeout_sec: float | None) -> Any:
    deadline = _deadline(method, params, timeout_sec)
    with connect(runtime_dir, deadline) as connection:
        return send_request(runtime_dir, connection, method, params, deadline=deadline)


def _deadline(method: str, params: Mapping[str, Any], timeout_sec: float | None) -> float | None:
    if timeout_sec is not None:
        return time.monotonic() + timeout_sec
    if method == "collab.wait" and params.get("timeout_ms") is None:
        return None
    waits = [params.get(name) for name in ("yield_time_ms", "timeout_ms")]
    own = sum(wait for wait in waits if isinstance(wait, int)) / 1000
    return time.monotonic() + DEFAULT_TIMEOUT_SEC + own


def _is_listening(runtime_dir: RuntimeDirectory) -> bool:
    try:
        connect(runtime_dir, time.monotonic() + DEFAULT_TIMEOUT_SEC).close()
    except NoServer:
        return False
    return True


def _pause(deadline: float, message: str) -> None:
    if time.monotonic() > deadline:
        raise ToolError("timeout", message, hint="`server.json` names its process; end that, and try again")
    time.sleep(RETRY_SECONDS)


def _clean_up_after_dead_server(runtime_dir: RuntimeDirectory) -> dict[str, Any]:
    """Clean up what a dead server left behind."""
    lock = runtime_dir.lock()
    if lock is None:
        raise ToolError(
            "unknown",
            "a runtime server is there but does not listen, so nothing was cleaned up",
            hint="`server.json` names its process; end that, and try again",
        )
    try:
        entries = registry.load(runtime_dir)
        cleanup = end_orphans(entries)
        registry.Registry(runtime_dir, last_session_id=entries.last_session_id)
        runtime_dir.remove(SOCKET)
        runtime_dir.remove(SERVER)
        return msgspec.to_builtins(cleanup)
    finally:
        os.close(lock)
