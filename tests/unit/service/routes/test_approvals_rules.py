"""Whoever decides sees the exact call and the rule it would become, and the rule reaches as far as they say."""

from pathlib import Path
from typing import Any

import pytest

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
    assert [rule["scope"] for rule in card["rules"]] == ["run", "folder", "user"]
    assert "uname" in card["rules"][0]["text"]
    assert [rule["file"] for rule in card["rules"]] == [None, *[str(config_home() / "rules.yaml")] * 2]
    assert f"folder: {tmp_path.resolve()}" in card["rules"][1]["text"]


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


@pytest.mark.parametrize(
    ("scope", "decision", "rule"),
    [
        ("once", "approved", None),
        ("session", "approved_for_session", None),
        ("folder", "approved", "folder"),
        ("always", "approved", "user"),
    ],
)
async def test_a_scope_says_how_far_an_approval_reaches(
    tmp_path: Path, scope: str, decision: str, rule: str | None
) -> None:
    async with serving(tmp_path, COMMAND, **ASKING) as service:
        card = await start_and_wait_for_approval(service)
        answer = await decide(service, card, scope=scope)
        assert answer.status_code == 202, answer.text
        await service.until(card["run_id"], "completed")
        events = (await service.get(f"/runs/{card['run_id']}/events")).json()["events"]
        (decided,) = [event["payload"] for event in events if event["type"] == "approval_decided"]
    assert (decided["decision"], decided.get("rule", {}).get("scope")) == (decision, rule)
    file = config_home() / "rules.yaml"
    assert ("folder:" in file.read_text() if file.exists() else None) == {"folder": True, "user": False}.get(rule or "")


async def test_a_rule_for_a_folder_lets_its_next_run_pass(tmp_path: Path) -> None:
    async with serving(tmp_path, COMMAND, **ASKING) as service:
        card = await start_and_wait_for_approval(service)
        assert (await decide(service, card, scope="folder")).status_code == 202
        await service.until(card["run_id"], "completed")
        again = await service.begin()
        assert (await service.until(again, "completed", "waiting_for_user"))["status"] == "completed"


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("denied", {"scope": "once"}),
        ("approved_for_session", {"scope": "folder"}),
        ("approved", {"scope": "folder", "rule": "run"}),
        ("approved", {"scope": "always", "arguments": {"command": "ls"}}),
        ("approved", {"scope": "skill"}),
        ("approved", {"scope": "everything"}),
    ],
)
async def test_a_scope_that_fits_nothing_is_refused_and_decides_nothing(
    tmp_path: Path, kind: str, more: dict[str, Any]
) -> None:
    async with serving(tmp_path, COMMAND, **ASKING) as service:
        card = await start_and_wait_for_approval(service)
        assert (await decide(service, card, kind, **more)).status_code in (400, 422)
        (pending,) = (await service.get("/approvals")).json()["approvals"]
        assert pending["decided"] is None
    assert not (config_home() / "rules.yaml").exists()


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
