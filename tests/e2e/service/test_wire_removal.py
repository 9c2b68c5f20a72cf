"""Executions are removed over HTTP: when they have ended, by whoever may execute, with everything they left."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.service.servers import Service, serving, write_python

EXECUTIONS = "/api/v1/executions"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("removal")
    write_python(home / "skills", "sleep", "time.sleep(600)")
    write_python(
        home / "skills",
        "writes",
        "Path('artifacts').mkdir(exist_ok=True)\nPath('artifacts/own.txt').write_text('mine')\nprint('{}')",
        artifacts=["artifacts/own.txt"],
    )
    with serving(home, home / "skills") as running_service:
        yield running_service


@pytest.fixture
def made(client: httpx2.Client) -> str:
    """The path of an execution that left a file."""
    return client.post(EXECUTIONS, json={"skill": "writes"}).headers["location"]


def _ids(client: httpx2.Client) -> set[str]:
    return {execution["execution_id"] for execution in client.get(EXECUTIONS).json()["executions"]}


def _bearer(service: Service, name: str, scope: str) -> dict[str, str]:
    process = service.cli("keys", "create", name, "--scope", scope, "--json")
    assert process.returncode == 0, process.stderr
    return {"Authorization": f"Bearer {json.loads(process.stdout)['key']}"}


def test_a_removed_execution_is_gone_with_its_artifacts(service: Service, client: httpx2.Client, made: str) -> None:
    name = made.rpartition("/")[2]
    answer = client.delete(made)
    assert (answer.status_code, answer.content) == (204, b"")
    assert name not in _ids(client)
    for rest in ("", "/artifacts", "/artifacts/artifacts/own.txt", "/logs/stdout"):
        assert client.get(made + rest).status_code == 404
    assert not list(service.artifacts.rglob(f"*{name}*"))


def test_the_key_of_a_removed_execution_is_free(client: httpx2.Client) -> None:
    key, body = {"Idempotency-Key": "once"}, {"skill": "writes"}
    first = client.post(EXECUTIONS, json=body, headers=key).headers["location"]
    assert client.post(EXECUTIONS, json=body, headers=key).headers["location"] == first
    assert client.delete(first).status_code == 204
    again = client.post(EXECUTIONS, json={**body, "input": {"other": 1}}, headers=key)
    assert (again.status_code, again.headers["location"] != first) == (201, True)


def test_what_is_gone_or_never_was_is_a_404(client: httpx2.Client, made: str) -> None:
    assert client.delete(made).status_code == 204
    again = client.delete(made)
    assert (again.status_code, again.json()["kind"]) == (404, "not_found")
    for name in ("exec-000000000000", "..%2f..", ".runtime", "%2e%2e", "a" * 300):
        assert client.delete(f"{EXECUTIONS}/{name}").status_code == 404


def test_one_that_runs_has_to_be_cancelled_first(service: Service, client: httpx2.Client) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.execute, "sleep", timeoutMs=600_000)
        running: list[dict[str, Any]] = []
        while not running:
            running = client.get(EXECUTIONS, params={"status": "running"}).json()["executions"]
        location = f"{EXECUTIONS}/{running[0]['execution_id']}"
        refused = client.delete(location)
        still = client.get(location).json()["status"]
        client.post(f"{location}/cancel")
        assert waiting.result().json()["code"] == "cancelled"
    assert (refused.status_code, refused.json()["kind"], refused.json()["hint"]) == (
        409,
        "illegal_transition",
        "cancel it first",
    )
    assert still == "running"
    assert client.delete(location).status_code == 204


def test_removal_needs_the_execute_scope(service: Service, client: httpx2.Client, made: str) -> None:
    with service.client() as stranger:
        assert stranger.delete(made).status_code == 401
        refused = stranger.delete(made, headers=_bearer(service, "looks", "read"))
        assert (refused.status_code, refused.json()["kind"]) == (403, "scope_missing")
        assert stranger.delete(made, headers=_bearer(service, "runs", "run")).status_code == 403
        assert client.get(made).status_code == 200
        assert stranger.delete(made, headers=_bearer(service, "executes", "execute")).status_code == 204


def test_a_page_must_be_our_own_and_send_the_header(service: Service, made: str) -> None:
    with service.client() as browser:
        browser.get("/", params={"token": service.token})
        missing = browser.delete(made, headers={"Origin": service.url})
        assert (missing.status_code, missing.json()["kind"]) == (403, "header_missing")
        foreign = browser.delete(made, headers={"Origin": "http://evil.example", "X-Skills-Runtime": "1"})
        assert (foreign.status_code, foreign.json()["kind"]) == (403, "foreign_origin")
        assert browser.get(made).status_code == 200
        assert browser.delete(made, headers={"Origin": service.url, "X-Skills-Runtime": "1"}).status_code == 204


def test_a_removal_is_audited_and_counted(service: Service, client: httpx2.Client, made: str) -> None:
    client.delete(made)
    counted = client.get("/metrics").text  # what became of a request is written when it has been answered
    lines = [json.loads(line) for line in (service.state / "service" / "audit.jsonl").read_text().splitlines()]
    (entry,) = [line for line in lines if (line.get("method"), line.get("path")) == ("DELETE", made)]
    assert (entry["what"], entry["status"]) == ("request", 204)
    assert 'skills_runtime_executions_removed_total{by="request"}' in counted


def test_a_service_that_is_told_to_removes_old_executions_and_says_so(tmp_path: Path) -> None:
    write_python(tmp_path / "skills", "echo", "print('{}')")
    with serving(tmp_path, tmp_path / "skills") as before:
        old, new = [before.execute("echo").json()["executionId"] for _ in range(2)]
    record = tmp_path / "artifacts" / old / "execution.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "finished_at": "2020-01-01T00:00:00.000000Z"}))
    with (
        serving(tmp_path, tmp_path / "skills", "--set", "service.executions.keep_days=1") as service,
        service.client(token=True) as client,
    ):
        while 'removed_total{by="retention"} 1.0' not in client.get("/metrics").text:
            assert service.process.poll() is None
        assert _ids(client) == {new}
    log_entry = json.loads((tmp_path / "stderr.txt").read_text())
    assert (log_entry["what"], log_entry["removed"], log_entry["failed"]) == ("executions_removed", 1, 0)
