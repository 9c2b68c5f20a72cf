"""Executions over HTTP: begun, listed, looked at, cancelled, and their files fetched whole or in part."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.e2e.service.servers import Service, serving, write_python

EXECUTIONS = "/api/v1/executions"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("executions")
    write_python(home / "skills", "echo", "print('aside', file=sys.stderr)\nprint(json.dumps(given))")
    write_python(home / "skills", "fails", "sys.exit(7)")
    write_python(home / "skills", "sleep", "print('begun', flush=True)\ntime.sleep(600)")
    write_python(
        home / "skills",
        "writes",
        "Path('artifacts/deep').mkdir(parents=True)\nPath('artifacts/deep/a b.txt').write_text('0123456789')\n"
        "Path('artifacts/empty').touch()\nprint('{}')",
        artifacts=["artifacts/deep/a b.txt", "artifacts/empty", "artifacts/missing"],
    )
    with serving(home, home / "skills") as running_service:
        yield running_service


@pytest.fixture(scope="module")
def written(service: Service) -> str:
    """The path of an execution that left files."""
    return f"{EXECUTIONS}/{service.execute('writes').json()['executionId']}"


def test_an_execution_is_started_and_can_be_looked_at_again(client: httpx2.Client) -> None:
    response = client.post(EXECUTIONS, json={"skill": "echo", "input": {"a": "二"}})
    assert response.status_code == 201
    again = client.get(response.headers["location"])
    assert again.json() == response.json()
    assert (response.json()["status"], response.json()["output"], response.json()["exit_code"]) == (
        "completed",
        {"a": "二"},
        0,
    )
    assert not {"owner", "key_digest"} & response.json().keys()


def test_an_execution_that_fails_is_a_result_and_no_error_of_the_request(client: httpx2.Client) -> None:
    response = client.post(EXECUTIONS, json={"skill": "fails"})
    assert (response.status_code, response.json()["status"], response.json()["exit_code"]) == (201, "failed", 7)
    assert response.json()["error"] == {"code": "exit_code", "message": "Skill exited with code 7"}


def test_the_same_key_and_request_give_the_same_execution(client: httpx2.Client) -> None:
    key = {"Idempotency-Key": "first"}
    response = client.post(EXECUTIONS, json={"skill": "echo", "input": {"a": 1}}, headers=key)
    two = client.post(EXECUTIONS, json={"skill": "echo", "input": {"a": 1}}, headers=key)
    other = client.post(EXECUTIONS, json={"skill": "echo", "input": {"a": 2}}, headers=key)
    assert response.json()["execution_id"] == two.json()["execution_id"]
    assert (other.status_code, other.json()["kind"]) == (409, "conflict")


def test_the_skill_service_knows_keys_too(service: Service) -> None:
    body = {"skillName": "echo", "input": {"once": True}}
    with service.client() as client:
        answers = [client.post("/api/skills/execute", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].json()["executionId"] == answers[1].json()["executionId"]


def test_pages_of_a_list_follow_each_other_without_gap_or_repetition(client: httpx2.Client) -> None:
    response = {client.post(EXECUTIONS, json={"skill": "echo"}).json()["execution_id"] for _ in range(5)}
    seen: list[str] = []
    cursor: str | None = None
    while True:
        parameters = {"limit": "2", "skill": "echo", **({"cursor": cursor} if cursor else {})}
        page = client.get(EXECUTIONS, params=parameters).json()
        seen += [execution["execution_id"] for execution in page["executions"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert response <= set(seen)
    assert len(seen) == len(set(seen))


def test_a_list_is_filtered_by_state(client: httpx2.Client) -> None:
    client.post(EXECUTIONS, json={"skill": "fails"})
    executions = client.get(EXECUTIONS, params={"status": "failed"}).json()["executions"]
    assert {item["skill"] for item in executions} == {"fails"}


@pytest.mark.parametrize(
    "parameters", [{"limit": "0"}, {"limit": "x"}, {"status": "nope"}, {"cursor": "../../etc"}, {"cursor": ""}]
)
def test_a_list_that_is_invalid_is_a_problem(client: httpx2.Client, parameters: dict[str, str]) -> None:
    answer = client.get(EXECUTIONS, params=parameters)
    assert (answer.status_code, answer.json()["kind"]) == (400, "validation")
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_running_execution_can_be_watched_and_cancelled(service: Service, client: httpx2.Client) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.execute, "sleep", timeoutMs=600_000)
        running: list[dict[str, Any]] = []
        while not running:
            running = client.get(EXECUTIONS, params={"status": "running"}).json()["executions"]
        location = f"{EXECUTIONS}/{running[0]['execution_id']}"
        while client.get(f"{location}/logs/stdout").text != "begun\n":
            assert not waiting.done()
        cancelled = client.post(f"{location}/cancel").json()
    assert (cancelled["status"], cancelled["error"]["code"]) == ("cancelled", "cancelled")
    assert waiting.result().json()["code"] == "cancelled"
    assert client.post(f"{location}/cancel").json() == cancelled


def test_what_an_execution_wrote_can_be_fetched(client: httpx2.Client) -> None:
    document = client.post(EXECUTIONS, json={"skill": "echo", "input": {"a": 1}}).json()
    stdout = client.get(f"{EXECUTIONS}/{document['execution_id']}/logs/stdout")
    assert (stdout.headers["content-type"], json.loads(stdout.text)) == ("text/plain; charset=utf-8", {"a": 1})
    assert client.get(f"{EXECUTIONS}/{document['execution_id']}/logs/stderr").text == "aside\n"


def test_artifacts_are_listed_with_sizes_and_digests(client: httpx2.Client, written: str) -> None:
    document = client.get(f"{written}/artifacts").json()
    assert {item["path"]: item["size"] for item in document} == {"artifacts/deep/a b.txt": 10, "artifacts/empty": 0}
    assert all(len(item["sha256"]) == 64 for item in document)


@pytest.mark.parametrize(
    ("range_header", "status", "text", "content_range"),
    [
        (None, 200, "0123456789", None),
        ("bytes=0-3", 206, "0123", "bytes 0-3/10"),
        ("bytes=4-", 206, "456789", "bytes 4-9/10"),
        ("bytes=-3", 206, "789", "bytes 7-9/10"),
        ("bytes=-30", 200, "0123456789", None),
        ("bytes=8-100", 206, "89", "bytes 8-9/10"),
        ("bytes=0-9", 200, "0123456789", None),
        ("bytes=10-", 416, "", "bytes */10"),
        ("bytes=5-2", 200, "0123456789", None),
        ("bytes=0-1,4-5", 200, "0123456789", None),
        ("pages=1-2", 200, "0123456789", None),
    ],
)
def test_a_part_of_an_artifact_can_be_fetched(
    client: httpx2.Client, written: str, range_header: str | None, status: int, text: str, content_range: str | None
) -> None:
    headers = {"Range": range_header} if range_header else {}
    answer = client.get(f"{written}/artifacts/artifacts/deep/a%20b.txt", headers=headers)
    assert (answer.status_code, answer.text, answer.headers.get("content-range")) == (status, text, content_range)
    if status != 416:
        assert answer.headers["content-disposition"] == 'attachment; filename="a_b.txt"'
        assert len(answer.headers["etag"]) == 66


def test_an_empty_artifact_is_fetched_and_has_no_parts(client: httpx2.Client, written: str) -> None:
    location = f"{written}/artifacts/artifacts/empty"
    assert client.get(location).content == b""
    assert client.get(location, headers={"Range": "bytes=0-1"}).status_code == 416


@pytest.mark.parametrize(
    "path",
    [
        "artifacts/..%2f..%2fexecution.json",
        "artifacts/%2e%2e/execution.json",
        "artifacts/%2fetc%2fpasswd",
        "artifacts//etc/passwd",
        "artifacts/execution.json",
        "artifacts/artifacts",
        "artifacts/artifacts/missing",
        "artifacts/a%00b",
        "artifacts/" + "a/" * 3000 + "b",
        "logs/execution.json",
        "logs/..%2fexecution.json",
    ],
)
def test_nothing_but_artifacts_can_be_fetched(client: httpx2.Client, written: str, path: str) -> None:
    answer = client.get(f"{written}/{path}")
    assert answer.status_code in (400, 403, 404)
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "execution_id", ["exec-000000000000", "..", "%2e%2e", "..%2f..", ".runtime", "exec-..%2fx", "a" * 300]
)
@pytest.mark.parametrize("rest", ["", "/artifacts", "/logs/stdout", "/artifacts/x"])
def test_an_unknown_execution_is_a_404(client: httpx2.Client, execution_id: str, rest: str) -> None:
    answer = client.get(f"{EXECUTIONS}/{execution_id}{rest}")
    assert answer.status_code == 404


@pytest.mark.parametrize(
    "body",
    [{}, {"skill": ""}, {"skill": 7}, {"skill": "echo", "timeout_ms": 0}, {"skill": "echo", "timeout_ms": True},
     {"skill": "echo", "timeout_ms": 600_001}, {"skill": "echo", "more": 1}, [], "echo", None],
)  # fmt: skip
def test_a_request_that_is_invalid_starts_nothing(client: httpx2.Client, body: Any) -> None:
    answer = client.post(EXECUTIONS, json=body)
    assert (answer.status_code, answer.json()["kind"]) == (400, "validation")


def test_an_unknown_skill_starts_nothing(client: httpx2.Client) -> None:
    assert client.post(EXECUTIONS, json={"skill": "../echo"}).status_code == 404


def test_a_body_that_is_too_long_is_refused(client: httpx2.Client) -> None:
    for path, body in ((EXECUTIONS, {"skill": "echo"}), ("/api/skills/execute", {"skillName": "echo"})):
        answer = client.post(path, json={**body, "input": "x" * 3_000_000})
        assert answer.status_code == 413
        assert (answer.json().get("kind") or answer.json()["code"]) == "too_large"


def test_metrics_count_executions(client: httpx2.Client) -> None:
    client.post(EXECUTIONS, json={"skill": "fails"})
    text = client.get("/metrics").text
    assert 'skills_runtime_executions_total{skill="fails",status="failed"}' in text
