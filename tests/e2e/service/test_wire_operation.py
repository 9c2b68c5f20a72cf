"""A service that is busy, stopped, killed and started again."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.service.servers import Service, serving, write_python


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_python(tmp_path / "skills", "echo", "print(json.dumps(given))")
    write_python(tmp_path / "skills", "sleep", "time.sleep(given.get('seconds', 600))\nprint('{}')")
    return tmp_path


def _running(service: Service) -> int:
    with service.client() as client:
        return client.get("/readyz").json()["executions"]["running"]


def _waiting(service: Service) -> int:
    with service.client() as client:
        return client.get("/readyz").json()["executions"]["waiting"]


def test_more_executions_than_there_is_room_for_are_refused_with_a_time_to_retry(place: Path) -> None:
    with (
        serving(place, place / "skills", "--concurrent", "1", "--waiting", "1") as service,
        ThreadPoolExecutor(2) as pool,
    ):
        first = pool.submit(service.execute, "sleep", timeoutMs=600_000)
        while not _running(service):
            assert not first.done()
        second = pool.submit(service.execute, "sleep", timeoutMs=600_000)
        while not _waiting(service):
            assert not second.done()
        refused = service.execute("echo")
        assert (refused.status_code, refused.json()["code"]) == (429, "busy")
        assert int(refused.headers["retry-after"]) >= 1
        assert service.execute("nope").status_code == 404, "what needs no room is answered"
        with service.client(token=True) as client:
            for _ in range(2):
                while not (listed := client.get("/api/v1/executions?status=running").json()["executions"]):
                    pass
                client.post(f"/api/v1/executions/{listed[0]['execution_id']}/cancel")
        assert {first.result().json()["code"], second.result().json()["code"]} == {"cancelled"}
        assert service.execute("echo").status_code == 200


def test_a_client_over_the_rate_limit_is_refused_but_health_is_not(place: Path) -> None:
    with serving(place, place / "skills", "--rate", "0.5") as service, service.client() as client:
        answers = [client.get("/api/skills") for _ in range(10)]
        assert {answer.status_code for answer in answers} == {200, 429}
        assert answers[-1].json()["code"] == "too_many_requests"
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert {client.get("/api/health").status_code for _ in range(10)} == {200}


def test_a_guessing_client_is_refused_for_a_while_and_the_owner_is_not(place: Path) -> None:
    with serving(place, place / "skills") as service, service.client() as client:
        wrong = {"Authorization": "Bearer guess"}
        statuses = [client.get("/api/v1/executions", headers=wrong).status_code for _ in range(40)]
        assert set(statuses) == {401, 429}
        right = {"Authorization": f"Bearer {service.token}"}
        assert client.get("/api/v1/executions", headers=right).status_code == 200


def test_an_execution_under_way_is_finished_before_the_service_stops(place: Path) -> None:
    with serving(place, place / "skills") as service, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.execute, "sleep", {"seconds": 1})
        while not _running(service):
            assert not waiting.done()
        service.process.send_signal(signal.SIGTERM)
        assert waiting.result().status_code == 200
        assert service.process.wait(60) == 0


def test_a_second_signal_ends_everything_at_once(place: Path) -> None:
    with serving(place, place / "skills") as service, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.execute, "sleep", timeoutMs=600_000)
        while not _running(service):
            assert not waiting.done()
        service.process.send_signal(signal.SIGTERM)
        service.process.send_signal(signal.SIGINT)
        assert service.process.wait(60) == 0
        assert waiting.exception() is not None or waiting.result().json()["success"] is False


def test_after_a_kill_the_service_comes_back_with_its_token_and_tells_what_was_lost(place: Path) -> None:
    with serving(place, place / "skills") as service, ThreadPoolExecutor(1) as pool:
        document = service.execute("echo", {"a": 1}).json()
        lost = pool.submit(service.execute, "sleep", timeoutMs=600_000)
        while not _running(service):
            assert not lost.done()
        service.process.kill()
        assert lost.exception() is not None
    with serving(place, place / "skills") as again, again.client(token=True) as client:
        assert again.token == service.token
        executions = client.get("/api/v1/executions").json()["executions"]
        assert {(item["skill"], item["status"]) for item in executions} == {("echo", "completed"), ("sleep", "failed")}
        assert client.get(f"/api/v1/executions/{document['executionId']}").json()["output"] == {"a": 1}
        assert next(item["error"]["code"] for item in executions if item["skill"] == "sleep") == "interrupted"


def test_a_program_of_the_same_user_finds_the_service_while_it_runs(place: Path) -> None:
    with serving(place, place / "skills") as service:
        process = service.cli("serve", "--show")
        assert (process.returncode, service.token.encode() in process.stdout) == (0, True)
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(60)
        assert service.cli("serve", "--show").returncode == 1


def test_a_port_that_is_taken_gets_one_sentence(place: Path) -> None:
    with serving(place, place / "skills") as service:
        refused = service.cli("serve", "--listen", service.url.removeprefix("http://"))
    assert refused.returncode == 20
    assert b"cannot listen on 127.0.0.1:" in refused.stderr
    assert b"Traceback" not in refused.stderr


def test_every_request_is_a_line_of_json_without_the_token(place: Path) -> None:
    with serving(place, place / "skills", "--access-log") as service, service.client() as client:
        client.get("/", params={"token": service.token})
        client.get("/api/health")
    text = (place / "stderr.txt").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("GET", "/", 303),
        ("GET", "/api/health", 200),
    ]
    assert service.token not in text
    assert lines[0]["who"] == "owner"
