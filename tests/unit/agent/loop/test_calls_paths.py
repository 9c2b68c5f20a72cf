"""Where calls reach: links, directories above, run directories; what the gate judged is what is touched."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.options import ChildProfile, RunRequest
from skills_runtime.testing import FakeModel, says
from tests.support.agents import Answering, agent_in, calls, payloads_of, writes
from tests.unit.safety.approvals.stage import UNFENCED, Stage

RULE = "rules:\n- name: private\n  effect: deny\n  path: secrets/**\n"
VALUE = "the-hidden-value"
SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "actions": {"enabled": True},
}


def swapped(directory: Path, call: tuple[str, Any]) -> Stage:
    """A run whose call was approved while `d` led to `a`; it leads to `b` now."""
    for name in ("a", "b"):
        (directory / name).mkdir()
    (directory / "d").symlink_to("a")
    stage = Stage(directory, [calls(call), says("done")])
    stage.work()
    stage.decide()
    (directory / "d").unlink()
    (directory / "d").symlink_to("b")
    return stage


def test_an_approved_command_does_not_start_in_another_directory(tmp_path: Path) -> None:
    stage = swapped(tmp_path, ("shell_command", {"command": "touch made", "workdir": "d"}))
    assert stage.work().status == "waiting_human"
    assert not (tmp_path / "b" / "made").exists()


def test_an_approved_file_is_not_written_in_another_directory(tmp_path: Path) -> None:
    stage = swapped(tmp_path, writes("d/made", "x"))
    assert stage.work().status == "waiting_human"
    assert not (tmp_path / "b" / "made").exists()


def result_of(directory: Path, call: tuple[str, Any]) -> tuple[dict[str, Any], str]:
    """The result of a call in a workspace with a denied file, and what the model was told of it."""
    (directory / "secrets").mkdir()
    (directory / "secrets" / "key").write_text(f"{VALUE}\n")
    (directory / "pub").symlink_to("secrets")
    (directory / "config").mkdir()
    (directory / "config" / "rules.yaml").write_text(RULE)
    model = FakeModel([calls(call), says("done")])
    result = agent_in(directory, model, mode="ask", approver=Answering("denied"), settings=UNFENCED).run("Go.")
    text = str(model.requests[-1].messages[-1]["content"])
    return payloads_of(result.wal_locator, "tool_call_finished")[0].result, text


@pytest.mark.parametrize("path", ["secrets/key", "./secrets/key", "SECRETS/key", "secrets//key"])
def test_a_denied_file_is_not_read(tmp_path: Path, path: str) -> None:
    result, text = result_of(tmp_path, ("file_read", {"path": path}))
    assert not result["ok"]
    assert VALUE not in text


@pytest.mark.parametrize("tool", ["file_read", "read_file", "grep_files"])
def test_a_denied_file_is_not_read_through_a_link(tmp_path: Path, tool: str) -> None:
    name = "file_path" if tool == "read_file" else "path"
    more = {"pattern": "hidden"} if tool == "grep_files" else {}
    _, text = result_of(tmp_path, (tool, {name: "pub/key", **more}))
    assert VALUE not in text


def test_a_denied_place_is_not_written_through_a_link(tmp_path: Path) -> None:
    result, _ = result_of(tmp_path, writes("pub/new", "x"))
    assert result["stderr"].startswith("denied by rule `private`")


@pytest.mark.parametrize("where", [{}, {"path": "."}, {"include": "**/key"}])
def test_a_search_from_above_does_not_show_denied_files(tmp_path: Path, where: dict[str, str]) -> None:
    _, text = result_of(tmp_path, ("grep_files", {"pattern": "hidden", **where}))
    assert VALUE not in text


def test_a_listing_from_above_does_not_show_denied_names(tmp_path: Path) -> None:
    _, text = result_of(tmp_path, ("list_dir", {"dir_path": ".", "depth": 3}))
    assert "secrets/key" not in text


def in_a_second_run(directory: Path, call: tuple[str, Any]) -> dict[str, Any]:
    """What a call of a run gets where the directory of another run stands in the workspace."""
    first = agent_in(directory, [says("done")])
    asyncio.run(first.execute(first.create(RunRequest(prompt="Go.", sandbox_path=directory / "out" / "one"))))
    (directory / "link").symlink_to("out/one")
    agent = agent_in(directory, [calls(call), says("done")])
    run = agent.create(RunRequest(prompt="Go.", sandbox_path=directory / "out" / "two"))
    result = asyncio.run(agent.execute(run))
    return payloads_of(result.wal_locator, "tool_call_finished")[0].result


@pytest.mark.parametrize("path", ["out/two/events.jsonl", "out/../out/two/run.json", ".skills_runtime_sdk/runs/two"])
def test_a_run_does_not_read_its_own_directory(tmp_path: Path, path: str) -> None:
    assert not in_a_second_run(tmp_path, ("file_read", {"path": path}))["ok"]


@pytest.mark.parametrize("path", ["out/one/events.jsonl", "out/one/config.yaml", "link/events.jsonl"])
def test_a_run_does_not_read_the_directory_of_another(tmp_path: Path, path: str) -> None:
    assert not in_a_second_run(tmp_path, ("file_read", {"path": path}))["ok"]


def test_a_run_does_not_write_into_the_directory_of_another(tmp_path: Path) -> None:
    assert not in_a_second_run(tmp_path, writes("out/one/task.yaml", "x"))["ok"]


@pytest.mark.parametrize("path", ["events.jsonl", "run.json", "config.yaml"])
def test_an_isolated_run_does_not_read_its_own_state(tmp_path: Path, path: str) -> None:
    settings = {"sandbox": {"workspace": "isolated"}}
    result = agent_in(tmp_path, [calls(("file_read", {"path": path})), says("done")], settings=settings).run("Go.")
    assert not payloads_of(result.wal_locator, "tool_call_finished")[0].result["ok"]


def test_a_sub_agent_gets_no_tool_that_its_profile_does_not_name(tmp_path: Path) -> None:
    skill = tmp_path / "skills" / "writer"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: writer\ndescription: Writes.\n---\n\nBriefly.\n")
    model = FakeModel([calls(("spawn_agent", {"message": "child", "agent_type": "reader"})), says("one"), says("two")])
    agent = Agent(
        workspace_root=tmp_path,
        backend=model,
        session_settings={"safety": {"mode": "allow"}, "skills": SKILLS},
        child_profile_map={"reader": ChildProfile(tools=frozenset({"file_read"}))},
    )
    agent.run("Go.")
    offered = [{str(tool["name"]) for tool in request.tools} for request in model.requests]
    assert {"file_read"} in offered
