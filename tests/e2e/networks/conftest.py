"""A small internet on this machine: one web server at an address that no command inside takes for its own."""

import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config.models import SandboxSettings
from skills_runtime.events.payloads import NetworkDecision
from skills_runtime.sandbox import build_sandbox
from tests.support.tools import Workshop

ADDRESS = "127.0.0.2"
PATIENCE = 30.0
VISIT = """
import sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.headers["x-proxy-error"])
    except OSError as error:
        print("no way")
"""
"""Reads pages through whatever proxy the environment names."""
DIRECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
    print("reached")
except OSError:
    print("no way")
"""


class Web(http.server.ThreadingHTTPServer):
    """Answers every page but one, whose visitors wait until the end."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((ADDRESS, 0), _Page)
        self.visits: list[str] = []
        self.arrived = threading.Semaphore(0)
        self.over = threading.Event()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.server_address[1]

    def url(self, host: str, path: str = "") -> str:
        """The address of a page by any name of the server."""
        return f"http://{host}:{self.port}/{path}"


class _Page(http.server.BaseHTTPRequestHandler):
    server: Web  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        self.server.visits.append(self.path)
        self.server.arrived.release()
        if self.path == "/never":
            self.server.over.wait(PATIENCE)
            return
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name that ends in `.test` is the small internet."""
    real = socket.getaddrinfo

    def found(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        return real(ADDRESS if str(host).endswith(".test") else host, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", found)


def networked(place: Path, **egress: Any) -> Workshop:
    """A user's tree whose commands may reach something."""
    workshop = Workshop(place)
    settings = SandboxSettings.model_validate({"egress": egress, "os": {"mode": "bubblewrap"}})
    workshop.sandbox = build_sandbox(
        settings, workspace=workshop.root, variables={"XDG_STATE_HOME": f"{workshop.root}-state"}
    )
    return workshop


def decisions(workshop: Workshop) -> list[NetworkDecision]:
    """What was recorded with the calls."""
    return [one for one in workshop.emitted if isinstance(one, NetworkDecision)]


def told(workshop: Workshop) -> list[tuple[str, str, str]]:
    """The decisions, without their ends."""
    return [(one.verdict, one.host, one.kind) for one in decisions(workshop) if one.stage == "decided"]


def open_descriptors() -> set[str]:
    """What this process has open."""
    return {path.name for path in Path("/proc/self/fd").iterdir()}
