"""A run is started with what a form offers, never with less of a gate or a fence than the operator has."""

from pathlib import Path

import pytest

from skills_runtime.testing import says
from tests.unit.service.served import serving

SKILL = "---\nname: notes\ndescription: Writes release notes.\n---\n\nWrite them.\n"


def with_skill(workspace: Path) -> dict[str, object]:
    path = workspace / "mine" / "notes"
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(SKILL)
    return {
        "spaces": [{"id": "mine", "namespace": "my:own", "sources": ["here"]}],
        "sources": [{"id": "here", "type": "filesystem", "options": {"root": str(workspace / "mine")}}],
    }


async def test_a_run_takes_everything_the_form_has(tmp_path: Path) -> None:
    skills = with_skill(tmp_path)
    async with serving(tmp_path, [says("done")], skills=skills, safety={"mode": "ask"}) as service:
        body = {
            "model": "small",
            "skills": ["notes"],
            "workspace": "isolated",
            "sandbox_profile": "prod",
            "policy_mode": "deny",
            "max_steps": 5,
            "max_tokens": 9_000,
        }
        run_id = await service.begin("write it", **body)
        run = await service.until(run_id, "completed")
        config = (service.runs.find(run_id).root / "config.yaml").read_text()
    assert run["skills"] == ["$[my:own].notes"]
    assert (run["model"], run["workspace_mode"]) == ("small", "isolated")
    assert run["duration_ms"] >= 0
    assert "mode: deny" in config
    assert "profile: prod" in config


async def test_a_skill_that_the_task_mentions_is_not_added_again(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")], skills=with_skill(tmp_path)) as service:
        run_id = await service.begin("use $[my:own].notes", skills=["$[my:own].notes"])
        await service.until(run_id, "completed")
        assert (service.runs.find(run_id).root / "prompt.md").read_text() == "use $[my:own].notes"


async def test_a_skill_that_is_not_there_is_reported_before_anything_starts(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")]) as service:
        answer = await service.post("/runs", {"prompt": "x", "skills": ["nowhere"]})
        assert answer.status_code in (400, 404)
        assert (await service.get("/runs")).json()["runs"] == []


@pytest.mark.parametrize(
    "wish", [{"policy_mode": "allow"}, {"sandbox_profile": "dev"}, {"workspace": "shared"}, {"max_steps": 41}]
)
async def test_a_request_cannot_exceed_the_limits_of_the_operator(tmp_path: Path, wish: dict[str, object]) -> None:
    settings = {"safety": {"mode": "ask"}, "sandbox": {"profile": "balanced", "workspace": "isolated"}}
    async with serving(tmp_path, [says("done")], **settings) as service:
        answer = await service.post("/runs", {"prompt": "x", **wish})
        assert (answer.status_code, answer.json()["kind"]) == (403, "permission")


async def test_the_options_of_a_new_run_are_listed(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")], safety={"mode": "ask"}) as service:
        document = (await service.get("/runs/options")).json()
    assert document["policy_modes"] == ["ask", "deny"]
    assert document["workspaces"] == ["shared", "isolated"]
    assert document["defaults"]["policy_mode"] == "ask"
    assert document["limits"]["max_steps"] == 40
    assert document["model_ready"] is False


async def test_the_list_tells_skills_cost_and_time_and_finds_by_words(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")], skills=with_skill(tmp_path)) as service:
        first = await service.begin("paint the fence", skills=["notes"])
        other = await service.begin("mow the lawn", model="large")
        for run_id in (first, other):
            await service.until(run_id, "completed")
        rows = {row["run_id"]: row for row in (await service.get("/runs")).json()["runs"]}
        assert rows[first]["skills"] == ["$[my:own].notes"]
        assert rows[first]["cost_usd"] is None
        assert rows[first]["duration_ms"] >= 0
        assert (rows[first]["scripted"], rows[first]["imported"]) == (False, False)

        async def find_runs(**filters: str) -> list[str]:
            return [row["run_id"] for row in (await service.get("/runs", params=filters)).json()["runs"]]

        assert await find_runs(query="lawn") == [other]
        assert await find_runs(skill="notes") == [first]
        assert await find_runs(model="large") == [other]
        assert await find_runs(query="lawn", skill="notes") == []


async def test_two_runs_are_compared_move_by_move(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")]) as service:
        first, other, same = [await service.begin(prompt) for prompt in ("first", "second", "first")]
        for run_id in (first, other, same):
            await service.until(run_id, "completed")
        differ = (await service.get(f"/runs/{first}/diff/{other}")).json()
        equal = (await service.get(f"/runs/{first}/diff/{same}")).json()
        absent = await service.get(f"/runs/{first}/diff/run_none")
    assert (differ["same"], equal["same"]) == (False, True)
    assert [row["op"] for row in differ["rows"]] == ["replace", "equal"]
    assert differ["rows"][0]["b"][0]["kind"] == "task"
    assert differ["unified"]
    assert equal["unified"] == []
    assert absent.status_code == 404
