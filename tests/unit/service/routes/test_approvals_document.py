"""Whoever decides sees which run asks, and in which directory."""

from pathlib import Path

from skills_runtime.testing import says
from tests.support.agents import calls
from tests.unit.service.served import serving

COMMAND = [calls(("shell_command", {"command": "uname -s"})), says("done")]


async def test_a_request_names_its_run_and_its_workspace(tmp_path: Path) -> None:
    async with serving(tmp_path, COMMAND, safety={"mode": "ask"}) as service:
        await service.until(await service.begin(), "waiting_for_user")
        [approval] = (await service.get("/approvals")).json()["approvals"]
        run = (await service.get(f"/runs/{approval['run_id']}")).json()
    assert approval["run_title"] == run["task"]
    assert Path(approval["workspace"]).is_relative_to(tmp_path)
