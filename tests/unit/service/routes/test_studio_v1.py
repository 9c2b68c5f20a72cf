"""The paths and bodies that the web app of old knows, under both of its prefixes."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.service.served import Served, messages_in, serving

PREFIXES = pytest.mark.parametrize("prefix", ["/api/v1", "/studio/api/v1"])
SCRIPT = [calls(writes("deliverables/a.txt", "hello")), says("done")]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncGenerator[Served]:
    async with serving(tmp_path, SCRIPT, safety={"mode": "ask"}) as running_service:
        yield running_service


async def opened(service: Served, prefix: str = "/api/v1", **body: Any) -> str:
    answer = await service.client.post(f"{prefix}/sessions", json=body)
    assert answer.status_code == 201
    assert set(answer.json()) == {"session_id", "created_at"}
    return answer.json()["session_id"]


@PREFIXES
async def test_health_tells_where_the_service_works(service: Served, prefix: str, tmp_path: Path) -> None:
    health = (await service.client.get(f"{prefix}/health")).json()
    assert health == {"ok": True, "env_loaded": False, "workspace_root": str(tmp_path), "env_file": None}


@PREFIXES
async def test_a_session_is_opened_listed_and_deleted(service: Served, prefix: str) -> None:
    session_id = await opened(service, prefix, title="demo")
    (listed,) = (await service.client.get(f"{prefix}/sessions")).json()["sessions"]
    assert (listed["session_id"], listed["title"], listed["runs_count"]) == (session_id, "demo", 0)
    assert (await service.client.delete(f"{prefix}/sessions/{session_id}")).status_code == 204
    assert (await service.client.get(f"{prefix}/sessions")).json()["sessions"] == []
    again = await service.client.delete(f"{prefix}/sessions/{session_id}")
    assert again.status_code == 404
    assert again.json()["detail"]["kind"] == "not_found"
    assert again.json()["detail"]["message"] == "session not found"


async def test_a_session_without_a_body_is_opened_too(service: Served, tmp_path: Path) -> None:
    answer = await service.client.post("/api/v1/sessions")
    assert answer.status_code == 201
    session_file = tmp_path / ".skills_runtime_sdk" / "sessions" / answer.json()["session_id"] / "session.json"
    assert session_file.is_file()


@PREFIXES
async def test_a_run_is_started_asked_about_and_followed(service: Served, prefix: str) -> None:
    session_id = await opened(service, prefix)
    response = await service.client.post(f"{prefix}/sessions/{session_id}/runs", json={"message": "write it"})
    assert response.status_code == 201
    run_id = response.json()["run_id"]
    await service.until(run_id, "waiting_for_user")
    pending = (await service.client.get(f"{prefix}/runs/{run_id}/approvals/pending")).json()
    assert pending["run_id"] == run_id
    (approval,) = pending["approvals"]
    location = f"{prefix}/runs/{run_id}/approvals/{approval['approval_key']}"
    assert (await service.client.post(location, json={"decision": "approved"})).json() == {"ok": True}
    stream = await service.client.get(f"{prefix}/runs/{run_id}/events/stream")
    messages = messages_in(stream.text)
    assert messages[-1].event == "run_completed"
    assert [message.data for message in messages] == service.log(run_id)
    assert (await service.client.post(location, json={"decision": "approved"})).status_code == 404


async def test_a_decision_that_is_invalid_is_refused(service: Served) -> None:
    run_id = await service.begin()
    await service.until(run_id, "waiting_for_user")
    answer = await service.post(f"/runs/{run_id}/approvals/{'0' * 64}", {"decision": "approved"})
    assert (answer.status_code, answer.json()["detail"]["kind"]) == (404, "not_found")
    answer = await service.post(f"/runs/{run_id}/approvals/{'0' * 64}", {"decision": "maybe"})
    assert answer.status_code == 400


async def test_a_skill_is_written_and_listed(service: Served, tmp_path: Path) -> None:
    session_id = await opened(service)
    body = {"name": "article-writer", "description": "writes", "body_markdown": "Hello", "title": "Writer"}
    response = await service.client.post(f"/studio/api/v1/sessions/{session_id}/skills", json=body)
    assert response.status_code == 201, response.text
    file = Path(response.json()["skill_md"])
    assert file == tmp_path / ".skills_runtime_sdk" / "skills" / "article-writer" / "SKILL.md"
    assert "# Writer\n\nHello" in file.read_text()
    document = (await service.get(f"/sessions/{session_id}/skills")).json()
    assert [(skill["name"], skill["mention"]) for skill in document["skills"]] == [
        ("article-writer", "$[web:mvp].article-writer")
    ]
    again = await service.client.post(f"/studio/api/v1/sessions/{session_id}/skills", json=body)
    assert (again.status_code, again.json()["detail"]["kind"]) == (409, "conflict")


@pytest.mark.parametrize("name", ["../evil", "a/b", ".hidden", "Upper", "a b", "a\x00b", "", "x" * 65])
async def test_a_name_that_is_invalid_is_refused(service: Served, name: str, tmp_path: Path) -> None:
    session_id = await opened(service)
    answer = await service.client.post(
        f"/studio/api/v1/sessions/{session_id}/skills", json={"name": name, "description": "x"}
    )
    assert answer.status_code == 400
    assert list((tmp_path / ".skills_runtime_sdk" / "skills").iterdir()) == []


async def test_a_session_uses_directories_of_its_workspace_only(service: Served, tmp_path: Path) -> None:
    session_id = await opened(service)
    path = f"/api/v1/sessions/{session_id}/skills/sources"
    inside = str(tmp_path / "skills")
    answer = await service.client.put(path, json={"filesystem_sources": [inside, " ", inside]})
    assert answer.json() == {"ok": True, "filesystem_sources": [inside]}
    (tmp_path / "out").symlink_to("/etc")
    for outside in ("/etc", "../elsewhere", str(tmp_path / "out"), "a\x00b", "x" * 300, "y/" * 2000):
        refused = await service.client.put(path, json={"filesystem_sources": [outside]})
        assert (refused.status_code, refused.json()["detail"]["kind"]) == (400, "validation"), outside


async def test_a_session_without_directories_takes_no_skills(service: Served) -> None:
    session_id = await opened(service, filesystem_sources=[])
    body = {"name": "x", "description": "x"}
    answer = await service.client.post(f"/studio/api/v1/sessions/{session_id}/skills", json=body)
    assert answer.status_code == 400
    assert answer.json()["detail"]["message"] == "filesystem sources not configured for session"


async def test_runs_in_an_unknown_session_are_refused(service: Served) -> None:
    answer = await service.post("/sessions/nobody/runs", {"message": "x"})
    assert (answer.status_code, answer.json()["detail"]["kind"]) == (404, "not_found")


async def test_a_session_has_tasks_and_runs(service: Served) -> None:
    run_id = await service.begin(session_id="mine", task_id="chore")
    (task,) = (await service.get("/sessions/mine/tasks")).json()["tasks"]
    assert (task["task_id"], task["runs"]) == ("chore", 1)
    assert [run["run_id"] for run in (await service.get("/sessions/mine/runs")).json()["runs"]] == [run_id]
    assert (await service.get("/sessions/mine")).json()["session_id"] == "mine"


async def test_a_file_in_the_way_of_a_skill_is_a_conflict(service: Served, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    session_id = await opened(service, filesystem_sources=["taken"])
    body = {"name": "x", "description": "x"}
    answer = await service.client.post(f"/studio/api/v1/sessions/{session_id}/skills", json=body)
    assert answer.status_code == 409
