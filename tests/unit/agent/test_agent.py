"""The Agent as a Python caller sees it."""

import asyncio
import threading
from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.errors import ConfigError, LogEnded, LogLocked, ValidationFailed
from skills_runtime.events import Event
from skills_runtime.llm import OpenAIChatBackend
from skills_runtime.ports import ToolResult
from skills_runtime.runs import read_record, runs_root, verify_run
from skills_runtime.testing import FakeModel, says
from tests.support import model_server
from tests.support.agents import Doing, agent_in, calls, events_of, payloads_of, succeed, writes
from tests.support.tools import tree


def test_a_run_ends_with_the_answer_and_where_its_log_is(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [says("Hel", "lo.", usage={"input_tokens": 7, "output_tokens": 2})]).run("Say hello.")
    assert (result.status, result.final_output, result.error_kind) == ("completed", "Hello.", None)
    assert (result.input_tokens, result.output_tokens) == (7, 2)
    assert Path(result.wal_locator) == runs_root(tmp_path) / result.run_id / "events.jsonl"
    assert verify_run(Path(result.wal_locator).parent, log_ports().keys).findings == []


def test_the_deliverables_are_paths_of_files(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [calls(writes("deliverables/r.md", "# R")), says("done")]).run("Write.")
    assert [Path(path).read_text() for path in result.artifacts] == ["# R"]


def test_the_events_come_in_the_order_of_the_contract(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [calls(writes("a.txt", "x"), text="ok"), says("done")]).run("Write.")
    assert [event.type for event in events_of(result.wal_locator)] == [
        "run_created",
        "sandbox_created",
        "run_state_changed",
        "run_started",
        "llm_request_started",
        "llm_response_delta",
        "tool_call_requested",
        "llm_response_finished",
        "tool_call_started",
        "file_operation",
        "tool_call_finished",
        "llm_request_started",
        "llm_response_delta",
        "llm_response_finished",
        "artifact_manifest_written",
        "run_completed",
    ]


def test_turns_and_steps_are_numbered_from_one(tmp_path: Path) -> None:
    script = [calls(writes("a", "x"), writes("b", "y")), calls(writes("c", "z")), says("done")]
    result = agent_in(tmp_path, script).run("Write.")
    requests = [event.turn_id for event in events_of(result.wal_locator) if event.type == "llm_request_started"]
    stepped = [event.step_id for event in events_of(result.wal_locator) if event.type == "tool_call_finished"]
    assert requests == ["turn_1", "turn_2", "turn_3"]
    assert stepped == ["step_1", "step_2", "step_3"]


def test_hooks_see_every_event_in_order(tmp_path: Path) -> None:
    events: list[Event] = []
    result = agent_in(tmp_path, [says("done")], hooks=[events.append]).run("Go.")
    assert events == events_of(result.wal_locator)[2:]
    assert [event.seq for event in events] == list(range(2, 2 + len(events)))


def test_a_hook_that_raises_reaches_the_caller_and_the_run_can_continue(tmp_path: Path) -> None:
    def broken(event: Event) -> None:
        if event.type == "run_started":
            raise RuntimeError("the hook broke")

    with pytest.raises(RuntimeError, match="the hook broke"):
        agent_in(tmp_path, [says("done")], hooks=[broken]).run("Go.", run_id="run_1")
    assert agent_in(tmp_path, [says("done")]).run("Go.", run_id="run_1").status == "completed"


async def test_a_run_inside_a_running_event_loop_ends_too(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [says("done")]).run("Go.")
    assert result.status == "completed"
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("agent-run")]


async def test_an_error_inside_a_running_event_loop_reaches_the_caller(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed):
        agent_in(tmp_path, []).run("Go.", run_id="../x")


async def test_runs_of_one_agent_continue_in_parallel(tmp_path: Path) -> None:
    meeting = asyncio.Barrier(3)

    async def meet(arguments: object, context: object) -> ToolResult:
        await meeting.wait()
        return ToolResult(ok=True)

    agent = agent_in(tmp_path, [calls(("do", {})), says("done")])
    agent.register_tool(Doing(meet))
    results = await asyncio.wait_for(asyncio.gather(*(agent.run_async("Go.") for _ in range(3))), 30)
    assert [result.status for result in results] == ["completed"] * 3
    assert len({result.run_id for result in results}) == 3


def test_an_agent_runs_twice_with_a_real_service(tmp_path: Path) -> None:
    with model_server.start([model_server.says("one"), model_server.says("two")]) as server:
        backend = OpenAIChatBackend(base_url=server.base_url, api_key="k")
        agent = agent_in(tmp_path, backend)
        assert [agent.run("Go.").final_output for _ in range(2)] == ["one", "two"]


def test_a_configuration_that_cannot_work_leaves_no_run_behind(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        Agent(workspace_root=tmp_path).run("Go.")
    assert not tree(tmp_path)


@pytest.mark.parametrize("run_id", ["../x", "/abs", "a/b", "", ".", "\0"])
def test_an_id_that_leads_out_of_the_workspace_leaves_nothing_behind(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(ValidationFailed):
        agent_in(tmp_path, [says("x")]).run("Go.", run_id=run_id)
    assert not tree(tmp_path)


def test_a_prompt_that_is_not_text_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed):
        agent_in(tmp_path, [says("x")]).run("\udcff")
    assert not tree(tmp_path)


def test_a_run_that_has_ended_is_not_run_again(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done")])
    agent.run("Go.", run_id="run_1")
    before = tree(tmp_path)
    with pytest.raises(LogEnded):
        agent.run("Go.", run_id="run_1")
    assert tree(tmp_path) == before


async def test_a_run_is_not_worked_on_twice_at_the_same_time(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done")])
    run = agent.create(RunRequest(prompt="Go.", run_id="run_1"))
    with pytest.raises(LogLocked):
        await agent.run_async("Go.", run_id="run_1")
    assert (await agent.execute(run)).status == "completed"


def test_a_tool_name_is_taken_once(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("x")])
    with pytest.raises(ValidationFailed, match="already registered"):
        agent.register_tool(Doing(succeed, name="file_read"))
    agent.register_tool(Doing(succeed, name="file_read"), override=True)


def test_the_model_is_offered_every_tool(tmp_path: Path) -> None:
    backend = FakeModel([says("done")])
    agent = agent_in(tmp_path, backend)
    agent.register_tool(Doing(succeed))
    agent.run("Go.")
    assert {"read_file", "file_write", "do"} <= {tool["name"] for tool in backend.requests[0].tools}


def test_the_system_prompt_comes_first_and_the_task_second(tmp_path: Path) -> None:
    backend = FakeModel([says("done")])
    result = agent_in(tmp_path, backend, settings={"prompt": {"system_text": "Be kind."}}).run("Go.")
    assert [message["role"] for message in backend.requests[0].messages] == ["system", "user"]
    assert [message["content"] for message in backend.requests[0].messages] == ["Be kind.", "Go."]
    assert (Path(result.wal_locator).parent / "effective-system-prompt.md").read_text() == "Be kind."


def test_no_file_outside_the_run_directory_is_touched_by_an_isolated_run(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    before = tree(tmp_path)
    settings = {"sandbox": {"workspace": "isolated"}}
    script = [calls(writes("workspace/a", "x"), writes("../a", "x"), writes("/tmp/evil", "x"), writes("mine.txt", "x"))]
    result = agent_in(tmp_path, [*script, says("done")], settings=settings).run("Go.")
    after = {name: entry for name, entry in tree(tmp_path).items() if not name.startswith(".skills_runtime_sdk")}
    assert after == before
    assert [payload.result["ok"] for payload in payloads_of(result.wal_locator, "tool_call_finished")] == [
        True, False, False, False,
    ]  # fmt: skip


def test_a_resumed_run_keeps_its_workspace_whatever_the_settings_say_now(tmp_path: Path) -> None:
    settings = {"sandbox": {"workspace": "isolated"}}
    script = [calls(writes("workspace/a.txt", "x")), says("done")]
    agent_in(tmp_path, script, settings=settings).create(RunRequest(prompt="Go.", run_id="run_1")).close()
    result = agent_in(tmp_path, script).run("Go.", run_id="run_1")
    assert (runs_root(tmp_path) / "run_1" / "workspace" / "a.txt").read_text() == "x"
    assert not (tmp_path / "workspace").exists()
    assert read_record(Path(result.wal_locator).parent / "run.json").status == "completed"


@pytest.mark.parametrize("spelled", ["runs/x", "./runs/../runs/x", ".skills_runtime_sdk/runs/x", "link/x"])
def test_a_run_put_anywhere_is_found_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelled: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "link").symlink_to("runs")
    agent = agent_in(tmp_path, [says("done")])
    agent.create(RunRequest(prompt="Go.", sandbox_path=Path(spelled))).close()
    assert read_record(runs_root(tmp_path) / "x" / "run.json").run_id == "x"
    assert agent.run("Go.", run_id="x").status == "completed"
