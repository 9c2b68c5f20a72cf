"""Ways to programs outside by sockets, and what a command is left with that has a network of its own."""

import http.server
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sandbox.arena import Arena, new_arena
from tests.support.users import Unprivileged

PROGRAM = Path(sys.executable).parent / "skills-runtime"
RAW_PAIR = """
ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
ours.sendto(b"x", arena["unix"]); reached()
"""
ASK = "curl -s -m 5 --noproxy '' -x http://127.0.0.1:3128"


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"REACHED")

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def _run(workspace: Path, line: str, *options: str) -> str:
    words = [PROGRAM, "sandbox", "exec", "--workspace", str(workspace), *options, "--", "/bin/sh", "-c", line]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60).stdout


def _with_socket(arena: Arena) -> None:
    arena.listen("unix", socket.AF_UNIX, socket.SOCK_DGRAM, str(arena.workspace / "d"))


def test_a_pair_of_raw_sockets_sends_nothing(arena: Arena) -> None:
    _with_socket(arena)
    outcome = arena.run(RAW_PAIR)
    assert not outcome.reached


def test_a_pair_of_raw_sockets_sends_nothing_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    def run() -> bool:
        arena = new_arena(unprivileged.path)
        try:
            _with_socket(arena)
            return arena.run(RAW_PAIR).reached
        finally:
            arena.close()

    assert not unprivileged(run)


def test_the_one_address_that_a_rule_names_is_reached(port: int, tmp_path: Path) -> None:
    assert "REACHED" in _run(tmp_path, f"{ASK} http://127.0.0.1:{port}/", "--allow-host", f"127.0.0.1:{port}")


@pytest.mark.parametrize(
    "host", ["localhost", "127.1", "0x7f000001", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "0", "127.0.0.2"]
)
def test_no_other_name_of_the_same_machine_is_reached(host: str, port: int, tmp_path: Path) -> None:
    # What curl itself rewrites to the address that is allowed would say nothing, so another one is allowed.
    said = _run(tmp_path, f"{ASK} 'http://{host}:{port}/'", "--allow-host", "192.0.2.1:1")
    assert "REACHED" not in said


def test_a_rule_for_one_port_opens_no_other(port: int, tmp_path: Path) -> None:
    said = _run(tmp_path, f"{ASK} http://127.0.0.1:{port}/", "--allow-host", f"127.0.0.1:{port + 1}")
    assert "REACHED" not in said


def test_what_goes_on_after_the_command_reaches_nothing(port: int, tmp_path: Path) -> None:
    late = f"sleep 1; {ASK} http://127.0.0.1:{port}/ > late"
    _run(tmp_path, f'(setsid sh -c "{late}" > /dev/null 2>&1 &)', "--allow-host", f"127.0.0.1:{port}")
    assert not (tmp_path / "late").exists()


def test_a_command_with_a_network_is_left_no_descriptor(tmp_path: Path) -> None:
    said = _run(tmp_path, "ls -l /proc/self/fd /proc/1/fd", "--allow-host", "192.0.2.1:1")
    assert re.findall(r"-> (socket|/memfd|anon_inode:\[(?!eventfd))", said) == []


def test_the_proxy_s_place_cannot_be_taken(tmp_path: Path) -> None:
    code = "import socket; s = socket.socket(); s.setsockopt(1, 15, 1); s.bind(('127.0.0.1', 3128)); print('TAKEN')"
    assert "TAKEN" not in _run(tmp_path, f'python3 -c "{code}"', "--allow-host", "192.0.2.1:1")


def test_an_address_of_loopback_that_a_rule_names_is_reached_by_programs_that_obey_variables(
    port: int, tmp_path: Path
) -> None:
    assert "REACHED" in _run(tmp_path, f"curl -s http://127.0.0.1:{port}/", "--allow-host", f"127.0.0.1:{port}")
