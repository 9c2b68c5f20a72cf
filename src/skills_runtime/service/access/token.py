"""The token of a service on this machine, and the records by which programs of the same user find the service."""

import os
import re
import secrets
from pathlib import Path

import msgspec

from skills_runtime.service.access.private_files import lock_private, read_private, service_directory, write_private

TOKEN_FILE = "token"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class RunningService(msgspec.Struct, frozen=True, kw_only=True):
    """A listening service, with what a program of the same user needs to connect."""

    url: str
    token: str
    pid: int
    workspace_root: str
    started_at: str

    @property
    def link(self) -> str:
        """The URL to open in a browser."""
        return self.link_to("/")

    def link_to(self, page: str) -> str:
        """Return the URL of a page."""
        return f"{self.url}{page}?token={self.token}"


def service_token(state: Path, *, renew: bool = False) -> str:
    """Return the token, which stays the same across restarts so that open pages keep working; `renew` replaces it."""
    path = service_directory(state) / TOKEN_FILE
    with lock_private(path):
        data = b"" if renew else read_private(path) or b""
        text = data.decode(errors="replace").strip()
        if _TOKEN.fullmatch(text):
            return text
        text = secrets.token_urlsafe(32)
        write_private(path, text.encode())
    return text


def register_service(state: Path, port: int, server: RunningService) -> Path:
    """Record that a service listens."""
    path = _record_path(state, port)
    write_private(path, msgspec.json.encode(server))
    return path


def unregister_service(state: Path, port: int, pid: int) -> None:
    """Remove the record of a service, unless another process has replaced it."""
    path = _record_path(state, port)
    service = _read_record(path)
    if service is not None and service.pid == pid:
        path.unlink(missing_ok=True)


def find_services(state: Path) -> tuple[RunningService, ...]:
    """Return the services of this user that are running, newest first."""
    services = (_read_record(path) for path in sorted(service_directory(state).glob("server-*.json")))
    alive = [server for server in services if server is not None and _is_alive(server.pid)]
    return tuple(sorted(alive, key=lambda server: server.started_at, reverse=True))


def _record_path(state: Path, port: int) -> Path:
    return service_directory(state) / f"server-{port}.json"


def _read_record(path: Path) -> RunningService | None:
    data = read_private(path)
    try:
        return msgspec.json.decode(data, type=RunningService) if data else None
    except msgspec.DecodeError:
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
