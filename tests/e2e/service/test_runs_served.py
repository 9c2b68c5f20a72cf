"""Runs behind the real service: with its token, its refusals, and its way to stop."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.service.servers import Service, serving
from tests.unit.service.served import messages_in

SCRIPT = """
calls:
- tool_calls: [{name: ask_human, arguments: {question: Which colour?}}]
- text: done
"""


def furnished(home: Path) -> Path:
    """A workspace with a model that asks a question first."""
    (home / "skills").mkdir()
    (home / "script.yaml").write_text(SCRIPT)
    return home


def options(home: Path) -> tuple[str, ...]:
    return "--set", "llm.backend=fake", "--set", f"llm.fake.script={home}/script.yaml"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = furnished(tmp_path_factory.mktemp("runs"))
    with serving(home, home / "skills", *options(home)) as running_service:
        yield running_service


def test_a_run_is_started_answered_and_followed_to_its_end(service: Service) -> None:
    with service.client(token=True) as client:
        run_id = client.post("/api/v1/runs", json={"prompt": "paint"}).json()["run_id"]
        seen = ""
        with client.stream("GET", f"/api/v1/runs/{run_id}/events/stream") as stream:
            for text in stream.iter_text():
                seen += text
                if "event: run_waiting_human\n" in seen and "blue" not in seen:
                    client.post(f"/api/v1/runs/{run_id}/answers", json={"answer": "blue"})
        messages = messages_in(seen)
        assert messages[-1].event == "run_completed"
        page = client.get(f"/api/v1/runs/{run_id}/events", params={"limit": 1000}).json()
        assert [json.loads(message.data) for message in messages] == page["events"]
        assert client.get(f"/api/v1/runs/{run_id}/verify").json()["ok"] is True


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/runs"),
        ("POST", "/api/v1/runs"),
        ("GET", "/api/v1/runs/x/events/stream"),
        ("POST", "/api/v1/runs/x/cancel"),
        ("GET", "/api/v1/approvals"),
        ("POST", "/api/v1/approvals/x"),
        ("GET", "/api/v1/config"),
        ("POST", "/studio/api/v1/sessions/x/skills"),
        ("POST", "/studio/api/v1/runs/x/approvals/y"),
    ],
)
def test_anonymous_clients_cannot_read_or_change_anything(service: Service, method: str, path: str) -> None:
    with service.client() as client:
        answer = client.request(method, path, json={} if method == "POST" else None)
        assert answer.status_code == 401


def test_a_service_that_is_told_to_stop_ends_its_streams_and_the_next_continues(tmp_path: Path) -> None:
    home = furnished(tmp_path)
    with serving(home, home / "skills", *options(home)) as service, service.client(token=True) as client:
        run_id = client.post("/api/v1/runs", json={"prompt": "paint"}).json()["run_id"]
        seen = ""
        with client.stream("GET", f"/api/v1/runs/{run_id}/events/stream") as stream:
            for text in stream.iter_text():
                seen += text
                if "event: run_waiting_human\n" in seen and service.process.poll() is None:
                    service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=30) == 0
    first = messages_in(seen)
    with serving(home, home / "skills", *options(home)) as service, service.client(token=True) as client:
        client.post(f"/api/v1/runs/{run_id}/answers", json={"answer": "blue"})
        headers = {"Last-Event-ID": str(first[-1].id)}
        rest = messages_in(client.get(f"/api/v1/runs/{run_id}/events/stream", headers=headers).text)
        assert [message.id for message in first + rest] == list(range(len(first) + len(rest)))
        assert rest[-1].event == "run_completed"
