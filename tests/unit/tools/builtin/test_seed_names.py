"""Tools by the names that other runtimes gave them."""

from pathlib import Path

from skills_runtime.agent import Agent, ChildProfile
from skills_runtime.testing import FakeModel, calls, says
from tests.support.agents import agent_in, payloads_of

UNLISTED = {"shell", "shell_exec", "file_read", "request_user_input"}


def _offered(model: FakeModel) -> set[str]:
    return {tool["name"] for tool in model.requests[0].tools}


def test_a_model_is_told_of_one_tool_of_each_kind(tmp_path: Path) -> None:
    model = FakeModel([says("ok")])
    agent_in(tmp_path, model).run("Go.")
    assert _offered(model) >= {"shell_command", "read_file", "ask_human"}
    assert not _offered(model) & UNLISTED


def test_with_compat_it_is_told_of_all(tmp_path: Path) -> None:
    model = FakeModel([says("ok")])
    agent_in(tmp_path, model, settings={"tools": {"compat": True}}).run("Go.")
    assert _offered(model) >= UNLISTED


def test_a_model_that_uses_another_name_is_served(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    model = FakeModel([calls("file_read", path="a.txt"), calls("shell", command=["cat", "a.txt"]), says("ok")])
    result = agent_in(tmp_path, model, settings={"sandbox": {"default_policy": "none"}}).run("Go.")
    assert [done.result["ok"] for done in payloads_of(result.wal_locator, "tool_call_finished")] == [True, True]


def test_a_rule_for_one_name_holds_for_the_others(tmp_path: Path) -> None:
    model = FakeModel([calls("shell", command=["true"]), says("ok")])
    result = agent_in(tmp_path, model, settings={"safety": {"tool_denylist": ["shell_command"]}}).run("Go.")
    (done,) = payloads_of(result.wal_locator, "tool_call_finished")
    assert done.result["error_kind"] == "permission"


def test_a_tool_named_for_sub_agents_is_offered(tmp_path: Path) -> None:
    model = FakeModel([calls("spawn_agent", message="Read."), says("ok"), says("ok")])
    Agent(
        workspace_root=tmp_path,
        backend=model,
        session_settings={"safety": {"mode": "allow"}},
        child_profile_map={"": ChildProfile(tools=frozenset({"file_read"}))},
    ).run("Go.")
    assert {"file_read"} in [{tool["name"] for tool in request.tools} for request in model.requests]
