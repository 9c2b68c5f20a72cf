"""A service that is configured by files: the user's open and close it, the project's can only close it."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.service.servers import Service, serving, write_python


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_python(tmp_path / "skills", "echo", "print(json.dumps(given))")
    write_python(tmp_path / "skills", "sleep", "time.sleep(600)")
    return tmp_path


def _of_user(directory: Path, text: str) -> None:
    path = directory / ".config" / "skills_runtime" / "config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def _of_project(directory: Path, text: str) -> None:
    (directory / "config").mkdir()
    (directory / "config" / "runtime.yaml").write_text(text)


def _skills_status(service: Service) -> int:
    with service.client() as client:
        return client.get("/api/skills").status_code


def test_a_project_closes_the_skill_service(place: Path) -> None:
    _of_project(place, "service: {skill_service: closed}")
    with serving(place, place / "skills") as service:
        assert _skills_status(service) == 401


def test_a_project_does_not_open_what_the_user_closed(place: Path) -> None:
    _of_user(place, "service: {skill_service: closed, limits: {body_bytes: 2048}}")
    _of_project(place, "service: {skill_service: open, allowed_hosts: ['*'], limits: {body_bytes: 9999999}}")
    with serving(place, place / "skills") as service, service.client(token=True) as client:
        assert _skills_status(service) == 401
        assert client.get("/api/health", headers={"Host": "evil.example"}).status_code == 400
        body = {"skillName": "echo", "input": "x" * 4096}
        assert client.post("/api/skills/execute", json=body).status_code == 413
    notes = (place / "stderr.txt").read_text()
    assert "service.skill_service: open" in notes
    assert "service.allowed_hosts" in notes


def test_an_option_opens_what_a_file_closed(place: Path) -> None:
    _of_user(place, "service: {skill_service: closed}")
    with serving(place, place / "skills", "--open") as service:
        assert _skills_status(service) == 200


def test_the_longest_time_is_that_of_the_configuration(place: Path) -> None:
    _of_user(place, "service: {max_timeout_ms: 1000}")
    with serving(place, place / "skills") as service:
        refused = service.execute("echo", timeoutMs=1001)
        assert refused.json()["error"] == "timeoutMs must be a whole number from 1 to 1000"
        assert service.execute("sleep", timeoutMs=900).json()["error"] == "Execution timed out after 0.90s"


def test_a_setting_that_is_invalid_is_refused_before_anything_listens(place: Path) -> None:
    _of_user(place, "service: {port: 99999}")
    with pytest.raises(AssertionError, match=r"service\.port"), serving(place, place / "skills"):
        pass


def test_a_request_that_outlasts_the_shutdown_grace_is_answered_in_json(place: Path) -> None:
    _of_user(place, "service: {grace_seconds: 0.2}")
    with serving(place, place / "skills") as service, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.execute, "sleep", timeoutMs=600_000)
        with service.client() as client:
            while not client.get("/readyz").json()["executions"]["running"]:
                assert not waiting.done()
        service.process.send_signal(signal.SIGTERM)
        body = waiting.result().json()
        assert (body["success"], body["code"]) == (False, "cancelled")
        assert body["executionId"].startswith("exec-")
        assert service.process.wait(60) == 0
    assert "Traceback" not in (place / "stderr.txt").read_text()
