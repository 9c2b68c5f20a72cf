"""Requests of an odd shape, byte by byte: each has one answer, in JSON, and none slips past another."""

import json
import socket
from collections.abc import Iterator

import pytest

from tests.e2e.service.servers import Service, serving, write_python

BODY = b'{"skillName": "echo"}'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("odd-requests")
    write_python(home / "skills", "echo", "print(json.dumps(given))")
    with serving(home, home / "skills") as running_service:
        yield running_service


def _answered(service: Service, head: str, body: bytes = BODY) -> tuple[int, bytes, bytes]:
    """The status, the head and the body of the answer; the connection is closed by the other side."""
    host, port = service.url.removeprefix("http://").split(":")
    lines = head.strip().format(host=f"{host}:{port}").splitlines()
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall("\r\n".join([*(line.strip() for line in lines), "", ""]).encode("latin-1") + body)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    known, _, rest = answer.partition(b"\r\n\r\n")
    return int(known.split()[1]), known, rest


EXECUTE = "POST /api/skills/execute HTTP/1.1\nHost: {{host}}\nConnection: close\nContent-Type: application/json\n{}"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ("Transfer-Encoding: chunked\nContent-Length: 21", b"15\r\n" + BODY + b"\r\n0\r\n\r\n"),
        ("Content-Length: 21\nContent-Length: 5", BODY),
        ("Content-Length: +21", BODY),
        ("Content-Length: -1", BODY),
        ("Content-Length: 0x15", BODY),
        ("Content-Length : 21", BODY),
        ("Transfer-Encoding: gzip, chunked", b"15\r\n" + BODY + b"\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked", b"zz\r\n" + BODY + b"\r\n0\r\n\r\n"),
    ],
)
def test_a_request_whose_end_is_in_doubt_runs_nothing(service: Service, headers: str, body: bytes) -> None:
    before = len(list(service.artifacts.iterdir()))
    status, _, answer = _answered(service, EXECUTE.format(headers), body)
    assert (status, json.loads(answer)["success"]) == (400, False)
    assert len(list(service.artifacts.iterdir())) == before


@pytest.mark.parametrize("header", ["Via: 1.1 gate", "X-Forwarded-Proto: https", "Forwarded: for=203.0.113.5"])
def test_what_came_through_a_proxy_is_not_local(service: Service, header: str) -> None:
    status, _, answer = _answered(service, EXECUTE.format(f"Content-Length: {len(BODY)}\n{header}"))
    assert (status, json.loads(answer)["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("path", ["/%00", "/metrics%0A", "/api/v1/keys%0a", "/api/health%7f"])
def test_a_path_with_a_control_character_is_refused_in_json(service: Service, path: str) -> None:
    status, head, answer = _answered(service, f"GET {path} HTTP/1.1\nHost: {{host}}\nConnection: close", b"")
    assert (status, b"json" in head) == (400, True)
    assert json.loads(answer)


@pytest.mark.parametrize("request_line", ["GET * HTTP/1.1", "GET //api/health HTTP/1.1", "GET /api/../x HTTP/1.1"])
def test_a_path_that_leads_nowhere_is_a_404_in_json(service: Service, request_line: str) -> None:
    status, head, answer = _answered(service, f"{request_line}\nHost: {{host}}\nConnection: close", b"")
    assert (status, b"json" in head) == (404, True)
    assert json.loads(answer)


def test_a_client_of_the_older_protocol_is_answered_and_let_go(service: Service) -> None:
    status, head, answer = _answered(service, "GET /api/health HTTP/1.0\nHost: {host}", b"")
    assert (status, answer) == (200, b'{"status": "ok"}')
    assert b"connection: close" in head.lower()


def test_a_client_that_asks_first_whether_to_send_is_told_to(service: Service) -> None:
    headers = f"Content-Length: {len(BODY)}\nExpect: 100-continue"
    status, _, rest = _answered(service, EXECUTE.format(headers))
    assert status == 100
    assert rest.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("levels", [501, 940, 949, 960, 2_000])
def test_an_input_that_is_nested_too_deeply_is_the_fault_of_the_request(service: Service, levels: int) -> None:
    body = b'{"skillName": "echo", "input": ' + b"[" * levels + b"]" * levels + b"}"
    status, _, answer = _answered(service, EXECUTE.format(f"Content-Length: {len(body)}"), body)
    assert (status, json.loads(answer)["success"]) == (400, False)


def test_an_input_of_many_levels_goes_in_and_comes_out(service: Service) -> None:
    nested = b"[" * 499 + b"1" + b"]" * 499
    body = b'{"skillName": "echo", "input": ' + nested + b"}"
    status, _, answer = _answered(service, EXECUTE.format(f"Content-Length: {len(body)}"), body)
    assert (status, nested in answer) == (200, True)


def test_a_protocol_upgrade_is_ignored_without_filling_the_log(service: Service) -> None:
    with service.client(Connection="Upgrade", Upgrade="websocket") as client:
        assert client.get("/api/health").json() == {"status": "ok"}
    assert "WebSocket" not in (service.artifacts.parent / "stderr.txt").read_text()
