"""Who may do what over HTTP: names, pages, the token, keys and their scopes."""

import json
import os
import stat
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.e2e.service.servers import Service, serving, write_python
from tests.support.users import Unprivileged

EXECUTIONS = "/api/v1/executions"
JSON = {"Content-Type": "application/json"}
ECHO = b'{"skillName": "echo"}'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("access")
    write_python(home / "skills", "echo", "print('{}')")
    with serving(home, home / "skills", "--allow-host", "skills.example") as running_service:
        yield running_service


@pytest.fixture
def client(service: Service) -> Iterator[httpx2.Client]:
    with service.client() as running_service:
        yield running_service


def _bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def _key(service: Service, name: str, *scopes: str) -> str:
    options = [word for scope in scopes for word in ("--scope", scope)]
    process = service.cli("keys", "create", name, *options, "--json")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)["key"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example", "a b", ""])
def test_a_wrong_host_is_refused(client: httpx2.Client, host: str) -> None:
    answer = client.get("/api/health", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_host") or b"Host" in answer.content


def test_the_name_of_this_machine_is_answered_to(service: Service, client: httpx2.Client) -> None:
    port = service.url.rpartition(":")[2]
    assert client.get("/api/health", headers={"Host": f"localhost:{port}"}).status_code == 200


def test_under_an_allowed_name_everything_but_health_needs_a_key(service: Service, client: httpx2.Client) -> None:
    named = {"Host": "skills.example"}
    assert client.get("/api/health", headers=named).status_code == 200
    assert client.get("/api/skills", headers=named).status_code == 401
    assert client.post("/api/skills/execute", content=ECHO, headers={**JSON, **named}).status_code == 401
    assert client.get("/api/skills", headers={**named, **_bearer(service.token)}).status_code == 401
    key = _key(service, "elsewhere", "read", "execute")
    assert client.get("/api/skills", headers={**named, **_bearer(key)}).status_code == 200
    executed = client.post("/api/skills/execute", content=ECHO, headers={**JSON, **named, **_bearer(key)})
    assert executed.status_code == 200


def test_a_proxy_does_not_make_strangers_local(client: httpx2.Client) -> None:
    assert client.get("/api/skills", headers={"X-Forwarded-For": "203.0.113.5"}).status_code == 401


def test_executions_cannot_be_seen_without_the_token(service: Service, client: httpx2.Client) -> None:
    answer = client.get(EXECUTIONS)
    assert (answer.status_code, answer.json()["kind"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["content-type"] == "application/problem+json"
    assert client.get(EXECUTIONS, headers=_bearer(service.token)).status_code == 200


@pytest.mark.parametrize("shown", ["Bearer wrong", "Bearer", "Basic YTpi", "Bearer srk_000000000000_" + "a" * 43])
def test_a_wrong_token_is_refused_even_where_none_is_needed(client: httpx2.Client, shown: str) -> None:
    answer = client.get("/api/skills", headers={"Authorization": shown})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


def test_the_printed_link_gives_a_browser_a_cookie_and_hides_the_token(service: Service, client: httpx2.Client) -> None:
    answer = client.get("/", params={"token": service.token, "tab": "runs"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/?tab=runs")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.get(EXECUTIONS).status_code == 200, "the client has kept the cookie"
    assert client.get("/", params={"token": "wrong"}).status_code == 401


def test_a_link_cannot_lead_to_another_host(service: Service, client: httpx2.Client) -> None:
    answer = client.get(f"{service.url}//evil.example/", params={"token": service.token})
    assert answer.headers["location"] == "/evil.example/"


def test_a_page_must_send_the_header_with_every_change(service: Service, client: httpx2.Client) -> None:
    client.get("/", params={"token": service.token})
    body = {"skill": "echo"}
    refused = client.post(EXECUTIONS, json=body, headers={"Origin": service.url})
    assert (refused.status_code, refused.json()["kind"]) == (403, "header_missing")
    taken = client.post(EXECUTIONS, json=body, headers={"Origin": service.url, "X-Skills-Runtime": "1"})
    assert taken.status_code == 201


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "https://127.0.0.1", "file://"]
)
def test_a_foreign_page_may_neither_change_nor_read_even_with_the_token(service: Service, origin: str) -> None:
    headers = {"Origin": origin, "X-Skills-Runtime": "1"}
    with service.client(token=True, **headers) as client:
        assert client.get(EXECUTIONS).json()["kind"] == "foreign_origin"
        assert client.post(EXECUTIONS, json={"skill": "echo"}).json()["kind"] == "foreign_origin"
        assert "access-control-allow-origin" not in client.options(EXECUTIONS).headers


def test_a_key_opens_what_its_scopes_say_and_nothing_else(service: Service, client: httpx2.Client) -> None:
    reads, executes = _bearer(_key(service, "reads", "read")), _bearer(_key(service, "executes", "execute"))
    assert client.get(EXECUTIONS, headers=reads).status_code == 200
    refused = client.post(EXECUTIONS, json={"skill": "echo"}, headers=reads)
    assert (refused.status_code, refused.json()["kind"]) == (403, "scope_missing")
    assert client.post(EXECUTIONS, json={"skill": "echo"}, headers=executes).status_code == 201
    assert client.get(EXECUTIONS, headers=executes).status_code == 403


def test_a_revoked_key_is_invalid_at_once(service: Service, client: httpx2.Client) -> None:
    key = _bearer(_key(service, "short-lived", "read"))
    assert client.get(EXECUTIONS, headers=key).status_code == 200
    assert service.cli("keys", "revoke", "short-lived").returncode == 0
    assert client.get(EXECUTIONS, headers=key).status_code == 401


def test_the_list_of_keys_shows_scopes_and_the_last_use_but_no_secret(service: Service, client: httpx2.Client) -> None:
    text = _key(service, "listed", "read", "approve")
    client.get(EXECUTIONS, headers=_bearer(text))
    listed: list[dict[str, Any]] = json.loads(service.cli("keys", "list", "--json").stdout)
    key = next(key for key in listed if key["name"] == "listed")
    assert (key["scopes"], key["revoked_at"]) == (["read", "approve"], None)
    assert key["last_used_at"]
    secret = text[-43:]
    assert secret.encode() not in service.cli("keys", "list").stdout
    assert secret not in (service.state / "service" / "keys.json").read_text()


def test_what_the_service_keeps_is_private(service: Service, client: httpx2.Client) -> None:
    client.get(EXECUTIONS)
    directory = service.state / "service"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
    assert {"token", "audit.jsonl"} <= modes.keys()
    assert {modes[name] for name in modes if (directory / name).is_file()} == {0o600}
    assert {modes[name] for name in modes if (directory / name).is_dir()} <= {0o700}


def test_changes_and_refusals_are_in_the_audit_log_without_secrets(service: Service, client: httpx2.Client) -> None:
    client.get(EXECUTIONS)
    key = _key(service, "audited", "execute")
    client.post(EXECUTIONS, json={"skill": "echo"}, headers=_bearer(key))
    client.get("/api/health")  # an entry is written just after its answer is sent, and before the next request is seen
    lines = (service.state / "service" / "audit.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert {"started", "refused", "key_created", "request"} <= {entry["what"] for entry in entries}
    assert entries[-1]["who"] == "key:audited"
    assert (entries[-1]["path"], entries[-1]["status"]) == (EXECUTIONS, 201)
    assert not any(service.token in line or key in line for line in lines)


def test_metrics_need_the_token_and_count_requests(service: Service, client: httpx2.Client) -> None:
    assert client.get("/metrics").status_code == 401
    text = client.get("/metrics", headers=_bearer(service.token)).text
    assert 'skills_runtime_http_requests_total{method="GET",route="none",status="401"}' in text
    assert "skills_runtime_executions_running 0.0" in text


def test_a_setting_closes_the_skill_service(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("closed")
    write_python(home / "skills", "echo", "print('{}')")
    with serving(home, home / "skills", "--closed") as service, service.client() as client:
        assert client.get("/api/health").status_code == 200
        assert client.get("/api/skills").status_code == 401
        assert client.post("/api/skills/execute", content=ECHO, headers=JSON).status_code == 401
        response = client.post("/api/skills/execute", content=ECHO, headers={**JSON, **_bearer(service.token)})
        assert response.status_code == 200


OPEN_PATHS = (("GET", "/api/health"), ("GET", "/api/skills"), ("POST", "/api/skills/execute"))


def _statuses(url: str) -> list[int]:
    with httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
        return [client.request(method, path, json={"skillName": "echo"}).status_code for method, path in OPEN_PATHS]


def test_other_users_of_this_machine_need_a_token(service: Service, unprivileged: Unprivileged) -> None:
    assert _statuses(service.url) == [200, 200, 200]
    is_other_user = os.geteuid() == 0
    assert unprivileged(lambda: _statuses(service.url)) == ([401] * 3 if is_other_user else [200] * 3)


def test_an_option_opens_the_skill_service_to_other_users(
    tmp_path_factory: pytest.TempPathFactory, unprivileged: Unprivileged
) -> None:
    home = tmp_path_factory.mktemp("open")
    write_python(home / "skills", "echo", "print('{}')")
    with serving(home, home / "skills", "--open") as service:
        assert unprivileged(lambda: _statuses(service.url)) == [200, 200, 200]
