"""Whoever decides sees the exact call and the rule it would become, and the rule reaches as far as they say."""

from pathlib import Path
from typing import Any

from skills_runtime.config import config_home
from skills_runtime.testing import says
from tests.support.agents import calls, writes
from tests.unit.service.served import Served, serving

ASKING = {"safety": {"mode": "ask"}}
WRITES = [calls(writes("notes.txt", "hello\n")), says("done")]
COMMAND = [calls(("shell_command", {"command": "uname -s", "justification": "to know the system"})), says("done")]
RISKY = [calls(("shell_command", {"command": "rm -rf /tmp/nothing"})), says("done")]


async def start_and_wait_for_approval(service: Served) -> dict[str, Any]:
    await service.until(await service.begin(), "waiting_for_user")
    return (await service.get("/approvals")).json()["approvals"][-1]


async def decide(service: Served, approval: dict[str, Any], kind: str = "approved", **more: Any) -> Any:
    body = {"decision": kind, "approval_key": approval["approval_key"], **more}
    return await service.post(f"/approvals/{approval['approval_id']}", body)


async def test_the_card_of_a_command_has_everything(tmp_path: Path) -> None:
    async with serving(tmp_path, COMMAND, **ASKING) as service:
        card = await start_and_wait_for_approval(service)
    assert card["command"] == "uname -s"
    assert card["cwd"] == "."
    assert card["reason"] == "to know the system"
    assert card["sandbox"]["adapter"]
    assert card["risk"]["level"]
    assert card["expires_at"]
    assert [rule["scope"] for rule in card["rules"]] == ["run", "user"]
    assert "uname" in card["rules"][0]["text"]
    assert card["rules"][1]["file"] == str(config_home() / "rules.yaml")


async def test_the_card_of_a_change_has_its_patch(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("before\n")
    async with serving(tmp_path, WRITES, **ASKING) as service:
        card = await start_and_wait_for_approval(service)
    assert card["command"] is None
    assert "-before" in card["patch"]
    assert "+hello" in card["patch"]


async def test_a_rule_for_always_lets_the_next_run_pass(tmp_path: Path) -> None:
    async with serving(tmp_path, COMMAND, **ASKING) as service:
        card = await start_and_wait_for_approval(service)
        assert not (config_home() / "rules.yaml").exists()
        answer = await decide(service, card, rule="user")
        assert answer.status_code == 202, answer.text
        await service.until(card["run_id"], "completed")
        assert "uname" in (config_home() / "rules.yaml").read_text()
        again = await service.begin()
        assert (await service.until(again, "completed", "waiting_for_user"))["status"] == "completed"


async def test_a_decision_that_comes_too_late_leaves_no_rule(tmp_path: Path) -> None:
    async with serving(tmp_path, COMMAND, **ASKING) as service:
        card = await start_and_wait_for_approval(service)
        await decide(service, card, "denied", note="no")
        late = await decide(service, card, rule="user")
        assert (late.status_code, late.json()["kind"]) == (409, "approval_stale")
    assert not (config_home() / "rules.yaml").exists()


async def test_no_rule_is_made_of_a_call_of_high_risk(tmp_path: Path) -> None:
    async with serving(tmp_path, RISKY, **ASKING) as service:
        card = await start_and_wait_for_approval(service)
        assert card["rules"] == []
        assert "high risk" in card["no_rule"]
        refused = await decide(service, card, rule="run")
        assert refused.status_code == 400


async def test_a_refusal_that_stops_the_run_ends_it(tmp_path: Path) -> None:
    async with serving(tmp_path, COMMAND, **ASKING) as service:
        card = await start_and_wait_for_approval(service)
        assert (await decide(service, card, "abort", note="stop")).status_code == 202
        run = await service.until(card["run_id"], "failed", "cancelled", "completed")
        assert run["status"] in ("failed", "cancelled")
