"""The demonstration really executes a skill in the sandbox, asks once and hands over a file; its model is scripted."""

from pathlib import Path
from typing import Any

from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.events import Event
from skills_runtime.events.payloads import ApprovalRequested, ToolCallFinished
from skills_runtime.runs import read_events
from tests.unit.service.served import Served, serving

SKILL = "$[web:mvp].get-available-resources"


async def begun(service: Served) -> str:
    response = await service.post("/demo", {})
    assert response.status_code == 201, response.text
    assert response.json()["scripted"] is True
    run_id = response.json()["run_id"]
    await service.until(run_id, "waiting_for_user")
    return run_id


def events(service: Served, run_id: str) -> list[Event]:
    return list(read_events(service.runs.find(run_id)))


async def test_the_demo_asks_once_executes_the_skill_and_hands_over_a_report(tmp_path: Path) -> None:
    async with serving(tmp_path, backend_for) as service:
        run_id = await begun(service)
        (approval,) = (await service.get("/approvals")).json()["approvals"]
        assert approval["tool"] == "skill_exec"
        assert approval["sandbox"]["active"] is True
        assert "run.py" in approval["command"]
        body = {"decision": "approved", "approval_key": approval["approval_key"]}
        assert (await service.post(f"/approvals/{approval['approval_id']}", body)).status_code == 202
        run = await service.until(run_id, "completed", "failed")
        assert run["status"] == "completed", run
        assert (run["scripted"], run["model"], run["skills"]) == (True, "scripted", [SKILL])
        report = await service.get(f"/runs/{run_id}/deliverables/report.md")
        assert "This machine" in report.text
        log = events(service, run_id)
        assert sum(isinstance(event.payload, ApprovalRequested) for event in log) == 1
        results: list[Any] = [event.payload.result for event in log if isinstance(event.payload, ToolCallFinished)]
        (executed,) = [result for result in results if result.get("data") and result["data"].get("skill") == SKILL]
        assert executed["ok"] is True
        assert executed["data"]["sandbox"]["active"] is True
        assert (await service.get(f"/runs/{run_id}/verify")).json()["ok"] is True


async def test_a_demo_that_is_refused_ends_honestly(tmp_path: Path) -> None:
    async with serving(tmp_path, backend_for) as service:
        run_id = await begun(service)
        (approval,) = (await service.get("/approvals")).json()["approvals"]
        body = {"decision": "abort", "approval_key": approval["approval_key"], "note": "not now"}
        await service.post(f"/approvals/{approval['approval_id']}", body)
        run = await service.until(run_id, "completed", "failed", "cancelled")
        assert run["status"] in ("failed", "cancelled")


async def test_the_demo_continues_after_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path, backend_for) as service:
        run_id = await begun(service)
    async with serving(tmp_path, backend_for) as service:
        (approval,) = (await service.get("/approvals")).json()["approvals"]
        body = {"decision": "approved", "approval_key": approval["approval_key"]}
        await service.post(f"/approvals/{approval['approval_id']}", body)
        run = await service.until(run_id, "completed", "failed")
        assert run["status"] == "completed", run
        (row,) = (await service.get("/runs")).json()["runs"]
        assert (row["scripted"], row["skills"]) == (True, [SKILL])
