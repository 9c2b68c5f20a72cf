"""What the log leaves out can be looked at by whoever may steer the run."""

import json
from pathlib import Path

from skills_runtime.service.access.callers import find_scope
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.service.served import Served, serving

DIGEST = "0" * 64


async def test_arguments_that_the_log_hides_are_read_by_their_digest(tmp_path: Path) -> None:
    async with serving(tmp_path, [calls(writes("a.txt", "the sea")), says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        digest = _arguments(service, run_id)
        answer = await service.get(f"/runs/{run_id}/blobs/{digest}")
    assert json.loads(answer.content)["content"] == "the sea"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-security-policy"].startswith("sandbox;")


async def test_a_fork_reads_what_its_parent_kept(tmp_path: Path) -> None:
    async with serving(tmp_path, [calls(writes("a.txt", "the sea")), says("done"), says("again")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        fork = (await service.post(f"/runs/{run_id}/fork", {})).json()["run_id"]
        await service.until(fork, "completed")
        answer = await service.get(f"/runs/{fork}/blobs/{_arguments(service, run_id)}")
    assert answer.status_code == 200


async def test_an_unknown_digest_is_not_found_and_a_path_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        absent = await service.get(f"/runs/{run_id}/blobs/{DIGEST}")
        path = await service.get(f"/runs/{run_id}/blobs/..%2fevents.jsonl")
    assert absent.status_code == 404
    assert path.status_code in (400, 404)


def test_a_read_only_key_does_not_see_them() -> None:
    assert find_scope("GET", f"/api/v1/runs/r/blobs/{DIGEST}") == "run"
    assert find_scope("GET", f"/studio/api/v1/runs/r/blobs/{DIGEST}") == "run"


def _arguments(service: Served, run_id: str) -> str:
    events = map(json.loads, service.log(run_id))
    return next(one["payload"]["arguments_blob"] for one in events if one["type"] == "tool_call_requested")
