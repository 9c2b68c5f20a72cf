"""Whatever the service offers is guarded alike: each operation of its document is tried with what must be refused."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import pytest

from tests.e2e.service.servers import Service, serving, write_python

OPEN = {"/api/health", "/api/v1/health", "/livez", "/readyz", "/api/skills", "/api/skills/execute"}
"""What programs of this machine may do without a token."""
WAYS_OUT = ["%2e%2e", "%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%00", "%ff", "%0a", "%c0%ae", "C:%5cx", "a" * 3000]
TAKES_MORE = "/api/v1/runs/import"
"""Whole runs come in, so it has a limit of its own."""
TAKES_NO_BODY = "/api/v1/model/test"
"""It ignores one; the others of its kind name something that does not exist here."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("every-route")
    write_python(home / "skills", "echo", "print('{}')")
    with serving(home, home / "skills") as running_service:
        yield running_service


@pytest.fixture(scope="module")
def operations(service: Service) -> list[tuple[str, str]]:
    """Every method and path there is."""
    with service.client() as client:
        paths: dict[str, dict[str, Any]] = client.get("/api/openapi.json").json()["paths"]
    operations_found = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    assert len(operations_found) > 50, "the document has everything"
    return operations_found


def _filled(path: str, value: str = "x") -> str:
    return re.sub(r"\{[^}]+\}", lambda _: value, path)


def _changes(operations: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(method, path) for method, path in operations if method not in ("GET", "HEAD")]


def _send(
    client: httpx2.Client, method: str, path: str, headers: Mapping[str, str] | None = None, *, body: bytes = b"{}"
) -> httpx2.Response:
    content = b"" if method in ("GET", "HEAD") else body
    return client.request(
        method, path, content=content, headers={"Content-Type": "application/json", **(headers or {})}
    )


def _is_json(answer: httpx2.Response) -> bool:
    return answer.headers["content-type"] in ("application/json", "application/problem+json")


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 400),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
    ],
)
def test_no_operation_answers_to_a_wrong_name_or_a_foreign_page(
    client: httpx2.Client, operations: list[tuple[str, str]], header: str, value: str, status: int
) -> None:
    answers = {(method, path): _send(client, method, _filled(path), {header: value}) for method, path in operations}
    assert {
        operation: answer.status_code for operation, answer in answers.items() if answer.status_code != status
    } == {}
    assert [operation for operation, answer in answers.items() if operation[0] != "HEAD" and not _is_json(answer)] == []


@pytest.mark.parametrize("kind", ["text/plain", "text/plain;charset=application/json", "text/plain+json", "image/png"])
def test_no_change_is_taken_from_a_body_that_is_not_called_json(
    client: httpx2.Client, operations: list[tuple[str, str]], kind: str
) -> None:
    statuses = {
        (method, path): _send(client, method, _filled(path), {"Content-Type": kind}).status_code
        for method, path in _changes(operations)
    }
    assert {operation: status for operation, status in statuses.items() if status != 415} == {}


def test_only_the_skill_service_and_health_need_no_token(service: Service, operations: list[tuple[str, str]]) -> None:
    with service.client() as client:
        for method, path in operations:
            if path not in OPEN:
                assert _send(client, method, _filled(path)).status_code in (401, 429), (method, path)


def test_no_key_without_a_scope_makes_a_change(service: Service, operations: list[tuple[str, str]]) -> None:
    process = service.cli("keys", "create", "looks", "--scope", "read")
    key = re.findall(rb"srk_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", process.stdout)[0].decode()
    harmless = re.compile(r"(/studio)?/api/v1/(skills/(validate|route)|policy/check)")
    with service.client(Authorization=f"Bearer {key}") as client:
        for method, path in _changes(operations):
            if not harmless.fullmatch(path):
                answer = _send(client, method, _filled(path))
                assert answer.status_code == 403, (method, path, answer.text)


@pytest.mark.parametrize("value", WAYS_OUT)
def test_no_path_parameter_leads_out(client: httpx2.Client, operations: list[tuple[str, str]], value: str) -> None:
    for method, path in operations:
        if "{" in path:
            answer = _send(client, method, _filled(path, value))
            assert answer.status_code in (400, 403, 404, 405, 409), (method, path, answer.text)
            assert method == "HEAD" or _is_json(answer)


@pytest.mark.parametrize("body", [b'{"a":', b"[1]", b'"\xff"', b"[" * 100_000, b"\x00"])
def test_no_malformed_body_is_more_than_a_refusal(
    client: httpx2.Client, operations: list[tuple[str, str]], body: bytes
) -> None:
    for method, path in _changes(operations):
        answer = _send(client, method, _filled(path), body=body)
        refused = (200,) if path == TAKES_NO_BODY else (400, 404, 409)
        assert answer.status_code in refused, (method, path, answer.text)
        assert _is_json(answer)


def test_no_operation_reads_a_body_that_is_too_long(service: Service, operations: list[tuple[str, str]]) -> None:
    with service.client(token=True) as client:
        for method, path in _changes(operations):
            if path != TAKES_MORE:
                answer = _send(client, method, _filled(path), body=b" " * 2_700_000)
                assert answer.status_code == 413, (method, path, answer.text)


def test_a_compressed_body_is_refused_everywhere(client: httpx2.Client, operations: list[tuple[str, str]]) -> None:
    for method, path in _changes(operations):
        answer = _send(client, method, _filled(path), {"Content-Encoding": "gzip"})
        assert answer.status_code == 415, (method, path)
