"""A run is deleted over HTTP, unless it has not ended."""

from pathlib import Path

from skills_runtime.service.access.callers import find_scope
from skills_runtime.testing import says
from tests.support.agents import calls
from tests.unit.service.served import serving

ASKS = calls(("ask_human", {"question": "Which colour?"}))


async def test_an_ended_run_is_deleted_and_is_gone(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        root = service.runs.find(run_id).root
        answer = await service.client.delete(f"/api/v1/runs/{run_id}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["run_ids"] == [run_id]
        assert answer.json()["bytes"] > 0
        assert not root.exists()
        assert (await service.get("/runs")).json()["runs"] == []
        assert (await service.client.delete(f"/api/v1/runs/{run_id}")).status_code == 404


async def test_a_run_that_waits_is_deleted_only_by_force(tmp_path: Path) -> None:
    async with serving(tmp_path, [ASKS, says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "waiting_for_user")
        refused = await service.client.delete(f"/api/v1/runs/{run_id}")
        assert (refused.status_code, refused.json()["kind"]) == (409, "illegal_transition")
        assert (await service.get(f"/runs/{run_id}")).status_code == 200
        forced = await service.client.delete(f"/api/v1/runs/{run_id}", params={"force": "true"})
        assert forced.status_code == 200, forced.text
        assert (await service.get(f"/runs/{run_id}")).status_code == 404


def test_deleting_needs_a_key_that_may_run() -> None:
    assert find_scope("DELETE", "/api/v1/runs/r") == "run"
