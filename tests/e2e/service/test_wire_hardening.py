"""What the skill service of old got wrong, one test each: none of it happens here."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.service.servers import Service, serving, write_python, write_skill

WAIT_SECONDS = 60
CHILD = "subprocess.Popen(['sleep', given['marker']], start_new_session={detached})\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("hardened")
    skills = home / "skills"
    write_python(skills, "echo", "print(json.dumps(given))")
    write_python(skills, "holds-pipe", CHILD.format(detached=False) + "time.sleep(600)")
    write_python(skills, "detaches", CHILD.format(detached=True) + "time.sleep(600)")
    write_python(skills, "leaves-child", CHILD.format(detached=True) + "print(json.dumps({'done': True}))")
    write_python(skills, "sleep", "time.sleep(600)")
    write_python(skills, "nan", "print('{\"x\": NaN}')")
    write_python(skills, "not-text", "sys.stdout.buffer.write(b'\\xff\\xfe')")
    write_python(skills, "floods", "[sys.stdout.write('x' * 1_000_000) for _ in range(200)]")
    write_python(skills, "environment", "print(json.dumps(dict(os.environ)))")
    write_python(
        skills,
        "writes",
        "Path('artifacts').mkdir(exist_ok=True)\nplace = Path('artifacts/own.txt')\nplace.write_text(given['text'])\n"
        "time.sleep(given.get('seconds', 0))\nprint(json.dumps({'text': place.read_text()}))",
        artifacts=["artifacts/own.txt"],
    )
    write_python(skills, "stale", "print('{}')", artifacts=["artifacts/own.txt"])
    (skills / "stale" / "artifacts").mkdir()
    (skills / "stale" / "artifacts" / "own.txt").write_text("of an earlier execution")
    write_python(
        skills,
        "links",
        "Path('artifacts').mkdir(exist_ok=True)\nos.symlink('/etc/passwd', 'artifacts/link')\n"
        "os.mkfifo('artifacts/pipe')\nprint('{}')",
        artifacts=["artifacts/link", "artifacts/pipe"],
    )
    write_python(
        skills,
        "escapes",
        "Path('../escaped.txt').write_text('x')\nPath('own.txt').write_text('x')\nprint('{}')",
        artifacts=["../escaped.txt", "own.txt", "/etc/passwd"],
    )
    write_skill(skills, "evil-name", "", entry="run.py")
    (skills / "evil-name" / "skill.yaml").write_text('{"name": "../evil", "runtime": {"type": "python"}}')
    with serving(home, skills, DJANGO_SECRET_KEY="do-not-tell", API_TOKEN="nor-this") as running_service:
        yield running_service


def _is_running(marker: str) -> bool:
    return any(marker.encode() in _command(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _command(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def _until(happened: Callable[[], Any]) -> Any:
    """What becomes true at last; every look costs a request, so nothing needs to sleep."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        if value := happened():
            return value
    raise AssertionError("it never happened")


def _executions(service: Service, **filters: str) -> list[dict[str, Any]]:
    with service.client(token=True) as client:
        return client.get("/api/v1/executions", params=filters).json()["executions"]


def test_a_grandchild_that_holds_the_pipe_does_not_stretch_the_time_limit(service: Service) -> None:
    answer = service.execute("holds-pipe", {"marker": "601.0001"}, timeoutMs=500)
    assert answer.json()["error"] == "Execution timed out after 0.50s"
    assert not _is_running("601.0001")


def test_a_detached_grandchild_ends_with_its_execution(service: Service) -> None:
    answer = service.execute("detaches", {"marker": "601.0002"}, timeoutMs=500)
    assert answer.json()["code"] == "timeout"
    assert not _is_running("601.0002")


def test_a_skill_that_leaves_a_child_behind_has_answered_all_the_same(service: Service) -> None:
    answer = service.execute("leaves-child", {"marker": "601.0003"}, timeoutMs=30_000)
    assert (answer.status_code, answer.json()["output"]) == (200, {"done": True}), answer.text
    assert not _is_running("601.0003")


def test_health_answers_while_sixteen_skills_run(service: Service) -> None:
    with ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(service.execute, "sleep", timeoutMs=60_000) for _ in range(16)]
        running = _until(lambda: len(executions := _executions(service, status="running")) == 16 and executions)
        with service.client() as client:
            assert client.get("/api/health").status_code == 200
            assert client.get("/readyz").json()["executions"]["running"] == 16
        assert not any(future.done() for future in waiting)
        with service.client(token=True) as client:
            for execution in running:
                client.post(f"/api/v1/executions/{execution['execution_id']}/cancel")
    assert {future.result().json()["code"] for future in waiting} == {"cancelled"}


@pytest.mark.parametrize("timeout", [1e15, -1, True, "500", 0.5, 1e308, 600_001, [1], {"a": 1}])
def test_a_time_limit_that_is_invalid_starts_nothing(service: Service, timeout: Any) -> None:
    before = len(list(service.artifacts.iterdir()))
    answer = service.execute("echo", timeoutMs=timeout)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_timeout")
    assert len(list(service.artifacts.iterdir())) == before


def test_a_client_that_goes_away_ends_its_execution(service: Service) -> None:
    body = json.dumps({"skillName": "sleep", "options": {"timeoutMs": 600_000}}).encode()
    host = service.url.removeprefix("http://")
    with socket.create_connection(tuple(host.split(":"))) as connection:  # pyright: ignore[reportArgumentType]
        head = f"POST /api/skills/execute HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        connection.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        (running,) = _until(lambda: _executions(service, status="running"))
    _until(lambda: not _executions(service, status="running"))
    with service.client(token=True) as client:
        assert client.get(f"/api/v1/executions/{running['execution_id']}").json()["status"] == "cancelled"


def test_output_without_end_is_cut_off_and_not_kept_in_memory(service: Service) -> None:
    service.execute("echo")
    before = _peak_kilobytes(service)
    answer = service.execute("floods", timeoutMs=60_000)
    assert (answer.status_code, answer.json()["error"]) == (500, "stdout exceeded limit")
    assert _peak_kilobytes(service) - before < 50_000
    output_file = service.artifacts / answer.json()["executionId"] / "stdout.txt"
    assert output_file.stat().st_size <= 1_000_000


def _peak_kilobytes(service: Service) -> int:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


def test_a_new_skill_can_be_executed_at_once_and_a_removed_one_no_more(service: Service) -> None:
    assert service.execute("newcomer").status_code == 404
    path = write_python(service.skills, "newcomer", "print('{}')")
    assert {service.execute("newcomer").status_code for _ in range(4)} == {200}
    (path / "skill.yaml").unlink()
    assert service.execute("newcomer").status_code == 404


def test_two_executions_at_once_never_see_each_others_files(service: Service) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = list(
            pool.map(service.execute, ["writes"] * 2, [{"text": text, "seconds": 0.3} for text in ("ALICE", "BOB")])
        )
    for text, answer in zip(("ALICE", "BOB"), both, strict=True):
        body = answer.json()
        assert body["output"] == {"text": text}
        assert (service.artifacts / body["executionId"] / "artifacts" / "own.txt").read_text() == text
    assert not (service.skills / "writes" / "artifacts").exists()


def test_a_file_of_an_earlier_execution_is_no_artifact_of_this_one(service: Service) -> None:
    assert service.execute("stale").json()["artifacts"] == []


def test_what_a_failed_execution_wrote_is_kept(service: Service) -> None:
    body = service.execute("writes", {"text": "kept", "seconds": 600}, timeoutMs=2_000).json()
    assert body["code"] == "timeout"
    with service.client(token=True) as client:
        response = client.get(f"/api/v1/executions/{body['executionId']}/artifacts/artifacts/own.txt")
    assert response.text == "kept"


def test_links_and_pipes_are_no_artifacts(service: Service) -> None:
    body = service.execute("links").json()
    assert body["artifacts"] == []
    assert not (service.artifacts / body["executionId"] / "artifacts" / "link").is_symlink()


def test_an_artifact_outside_is_skipped_and_the_others_are_copied(service: Service) -> None:
    body = service.execute("escapes").json()
    assert body["artifacts"] == [f"artifacts/{body['executionId']}/own.txt"]
    assert not list(service.artifacts.parent.rglob("escaped.txt"))
    with service.client(token=True) as client:
        document = client.get(f"/api/v1/executions/{body['executionId']}").json()
    assert {item["path"] for item in document["refused"]} == {"../escaped.txt", "/etc/passwd"}


def test_executions_can_be_read_back_and_fetched_and_cleaned_up(service: Service) -> None:
    name = service.execute("writes", {"text": "fetched"}).json()["executionId"]
    with service.client(token=True) as client:
        location = f"/api/v1/executions/{name}"
        assert (client.get(location).json()["status"], name) == ("completed", _executions(service)[0]["execution_id"])
        assert client.get(f"{location}/artifacts/artifacts/own.txt").text == "fetched"
        assert client.delete(location).status_code == 204
        assert client.get(location).status_code == 404
    assert not (service.artifacts / name).exists()


def test_a_skill_that_declares_a_way_out_or_an_evil_name_is_reported(service: Service) -> None:
    with service.client() as client:
        document = client.get("/api/skills").json()
    names = {skill["name"] for skill in document["skills"]}
    assert not names & {"../evil", "evil-name"}
    assert [error.partition(":")[0] for error in document["errors"]] == ["escapes", "evil-name"]
    assert service.execute("../evil").status_code == 404


@pytest.mark.parametrize("skill", ["nan", "not-text"])
def test_output_that_is_no_json_is_an_error_with_an_id_and_logs(service: Service, skill: str) -> None:
    answer = service.execute(skill)
    body = answer.json()
    assert (answer.status_code, body["code"]) == (500, "invalid_output")
    assert (service.artifacts / body["executionId"] / "stdout.txt").stat().st_size > 0


def test_a_skill_sees_nothing_of_the_environment_of_the_service(service: Service) -> None:
    output = service.execute("environment").json()["output"]
    assert not {"DJANGO_SECRET_KEY", "API_TOKEN", "XDG_STATE_HOME", "SKILLS_DIR"} & output.keys()
    assert "do-not-tell" not in json.dumps(output)
    assert {"SKILL_EXECUTION_ID", "SKILL_NAME"} <= output.keys()


def test_a_service_listens_on_this_machine_only(service: Service) -> None:
    port = int(service.url.rpartition(":")[2])
    port_text = f":{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    listening = [line.split()[1] for line in lines if line.split()[3] == "0A" and line.split()[1].endswith(port_text)]
    assert listening == [f"0100007F{port_text}"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "text/plain;charset=UTF-8", "Origin": "http://evil.example"},
        {"Content-Type": "application/json", "Origin": "http://evil.example"},
        {"Content-Type": "application/json", "Origin": "null"},
        {"Content-Type": "application/json", "Sec-Fetch-Site": "cross-site"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
    ],
)
def test_no_foreign_page_runs_a_skill(service: Service, headers: dict[str, str]) -> None:
    before = len(list(service.artifacts.iterdir()))
    with service.client() as client:
        answer = client.post("/api/skills/execute", content=b'{"skillName": "echo"}', headers=headers)
    assert answer.status_code in (400, 403, 415)
    assert answer.json()["success"] is False
    assert len(list(service.artifacts.iterdir())) == before


def test_an_error_exposes_no_internals(service: Service) -> None:
    with service.client() as client:
        answer = client.post("/api/skills/execute", content=b"{", headers={"Content-Type": "application/json"})
    assert len(answer.content) < 200
    assert b"Traceback" not in answer.content


def test_what_is_no_http_is_refused_in_json(service: Service) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"NONSENSE\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["success"] is False


def test_a_time_limit_longer_than_any_worker_lived_is_taken(service: Service) -> None:
    assert service.execute("echo", {"a": 1}, timeoutMs=600_000).json()["output"] == {"a": 1}


def test_many_at_once_get_ids_of_their_own(service: Service) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = [response.json()["executionId"] for response in pool.map(service.execute, ["echo"] * 24)]
    assert len(set(ids)) == 24
    assert all((service.artifacts / one).is_dir() for one in ids)
