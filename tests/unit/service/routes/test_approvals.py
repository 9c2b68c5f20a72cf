"""A decision counts once, for exactly the request that somebody saw."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.service.served import Served, serving

ASKING = {"safety": {"mode": "ask"}}
SCRIPT = [calls(writes("deliverables/a.txt", "hello")), says("done")]


async def start_and_wait_for_approval(service: Served) -> dict[str, Any]:
    run_id = await service.begin()
    await service.until(run_id, "waiting_for_user")
    (approval,) = (await service.get("/approvals")).json()["approvals"]
    assert approval["run_id"] == run_id
    return approval


def decision(approval: dict[str, Any], kind: str = "approved", **more: Any) -> dict[str, Any]:
    return {"decision": kind, "approval_key": approval["approval_key"], **more}


async def test_the_inbox_shows_the_exact_call(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT, **ASKING) as service:
        approval = await start_and_wait_for_approval(service)
        assert approval["tool"] == "file_write"
        assert approval["details"]["content"] == "hello"
        mine = (await service.get(f"/runs/{approval['run_id']}/approvals")).json()["approvals"]
        assert mine == [approval]


async def test_an_approved_call_runs_and_the_log_names_the_approver(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT, **ASKING) as service:
        approval = await start_and_wait_for_approval(service)
        answer = await service.post(f"/approvals/{approval['approval_id']}", decision(approval, note="fine"))
        assert answer.status_code == 202, answer.text
        await service.until(approval["run_id"], "completed")
        (line,) = [entry for entry in service.log(approval["run_id"]) if '"approval_decided"' in entry]
        assert '"owner"' in line
        assert (await service.get("/approvals")).json()["approvals"] == []
        sent = await service.get(f"/runs/{approval['run_id']}/deliverables/a.txt")
        assert sent.text == "hello"


async def test_a_denied_call_does_not_run(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT, **ASKING) as service:
        approval = await start_and_wait_for_approval(service)
        await service.post(f"/approvals/{approval['approval_id']}", decision(approval, "denied", note="no"))
        await service.until(approval["run_id"], "completed")
        assert (await service.get(f"/runs/{approval['run_id']}/deliverables/a.txt")).status_code == 404


async def test_a_second_decision_is_stale(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT, **ASKING) as service:
        approval = await start_and_wait_for_approval(service)
        location = f"/approvals/{approval['approval_id']}"
        assert (await service.post(location, decision(approval, "denied"))).status_code == 202
        again = await service.post(location, decision(approval))
        assert (again.status_code, again.json()["kind"]) == (409, "approval_stale")
        await service.until(approval["run_id"], "completed")
        replayed = await service.post(location, decision(approval))
        assert replayed.status_code == 409


@pytest.mark.parametrize("change", [{"approval_key": "0" * 64}, {"approval_key": "x"}])
async def test_a_decision_about_something_else_is_stale(tmp_path: Path, change: dict[str, str]) -> None:
    async with serving(tmp_path, SCRIPT, **ASKING) as service:
        approval = await start_and_wait_for_approval(service)
        answer = await service.post(f"/approvals/{approval['approval_id']}", {**decision(approval), **change})
        assert (answer.status_code, answer.json()["kind"]) == (409, "approval_stale")
        assert (await service.get(f"/runs/{approval['run_id']}")).json()["status"] == "waiting_for_user"


async def test_a_decision_without_the_key_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT, **ASKING) as service:
        approval = await start_and_wait_for_approval(service)
        answer = await service.post(f"/approvals/{approval['approval_id']}", {"decision": "approved"})
        assert answer.status_code == 400


async def test_a_decision_that_outlives_the_service_is_acted_on_by_the_next(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT, **ASKING) as service:
        approval = await start_and_wait_for_approval(service)
        service.runs.stopping = True  # it keeps what is said, and works on nothing any more
        answer = await service.post(f"/approvals/{approval['approval_id']}", decision(approval))
        assert answer.status_code == 202
    async with serving(tmp_path, SCRIPT, **ASKING) as service:
        await service.until(approval["run_id"], "completed")
        assert (await service.get(f"/runs/{approval['run_id']}/deliverables/a.txt")).text == "hello"


async def test_other_arguments_are_what_runs(tmp_path: Path) -> None:
    async with serving(tmp_path, SCRIPT, **ASKING) as service:
        approval = await start_and_wait_for_approval(service)
        arguments = {"path": "deliverables/a.txt", "content": "edited"}
        await service.post(f"/approvals/{approval['approval_id']}", decision(approval, arguments=arguments))
        await service.until(approval["run_id"], "completed")
        assert (await service.get(f"/runs/{approval['run_id']}/deliverables/a.txt")).text == "edited"


async def test_a_rule_for_the_run_allows_the_next_such_call(tmp_path: Path) -> None:
    script = [SCRIPT[0], calls(writes("deliverables/a.txt", "again"), ids=["second"]), says("done")]
    async with serving(tmp_path, script, **ASKING) as service:
        approval = await start_and_wait_for_approval(service)
        answer = await service.post(f"/approvals/{approval['approval_id']}", decision(approval, rule="run"))
        assert answer.status_code == 202, answer.text
        await service.until(approval["run_id"], "completed", "waiting_for_user")
        assert (await service.get(f"/runs/{approval['run_id']}/deliverables/a.txt")).text == "again"
