"""The loop: how runs end, by answer, error, budget and cancellation."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.errors import ConfigError, ModelError
from skills_runtime.llm import OpenAIChatBackend
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolContext, ToolResult
from skills_runtime.runs import read_record, runs_root, verify_run
from skills_runtime.testing import FakeModel, says
from tests.support import model_server
from tests.support.agents import Doing, Streaming, agent_in, calls, events_of, payloads_of, succeed, writes


def _stream(*events: ChatStreamEvent, then: BaseException | None = None) -> Streaming:
    async def stream(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        for event in events:
            yield event
        if then is not None:
            raise then

    return Streaming(stream)


def _text(text: str) -> ChatStreamEvent:
    return ChatStreamEvent(type="text_delta", text=text)


@pytest.mark.parametrize(
    ("answer", "kind", "retryable"),
    [
        (model_server.refuses(401), "auth_error", False),
        (model_server.refuses(429), "rate_limited", True),
        (model_server.refuses(500), "server_error", True),
        (model_server.refuses(418), "http_error", False),
        (model_server.refuses(400, code="context_length_exceeded"), "context_length_exceeded", False),
        (model_server.breaks_off("Hal"), "llm_error", True),
        (model_server.breaks_off("Hal", ending="done"), "llm_error", True),
        (model_server.fails_inside("overloaded", "Hal"), "llm_error", True),
    ],
)
def test_what_a_service_refuses_becomes_the_kind_of_the_failure(
    tmp_path: Path, answer: model_server.Answer, kind: str, retryable: bool
) -> None:
    with model_server.start([answer]) as server:
        backend = OpenAIChatBackend(base_url=server.base_url, api_key="k")
        result = agent_in(tmp_path, backend).run("Go.")
    assert (result.status, result.error_kind) == ("failed", kind)
    (failed,) = payloads_of(result.wal_locator, "run_failed")
    assert (failed.error_kind, failed.retryable, failed.wal_locator) == (kind, retryable, result.wal_locator)
    record = read_record(Path(result.wal_locator).parent / "run.json")
    assert (record.status, record.failure_reason) == ("failed", failed.message)
    assert verify_run(Path(result.wal_locator).parent, log_ports().keys).findings == []


def test_an_answer_without_its_end_is_an_error_and_not_an_answer(tmp_path: Path) -> None:
    result = agent_in(tmp_path, _stream(_text("half a sent"))).run("Go.")
    assert (result.status, result.error_kind) == ("failed", "llm_error")
    assert "half a sent" not in (Path(result.wal_locator).parent / "transcript.md").read_text()


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ModelError("no", kind="rate_limited", retryable=True), "rate_limited", "no"),
        (ConfigError("wrong"), "config_error", "wrong"),
        (RuntimeError("odd"), "unknown", "RuntimeError: odd"),
        (TimeoutError("slow"), "unknown", "TimeoutError: slow"),
        (ValueError("half \ud800"), "unknown", "ValueError: half �"),
    ],
)
def test_whatever_a_model_raises_ends_the_run_with_a_kind(
    tmp_path: Path, error: Exception, kind: str, message: str
) -> None:
    result = agent_in(tmp_path, _stream(_text("Hal"), then=error)).run("Go.")
    assert (result.status, result.error_kind, result.final_output) == ("failed", kind, message)


def test_a_fake_model_with_nothing_left_to_say_fails_the_run(tmp_path: Path) -> None:
    result = agent_in(tmp_path, []).run("Go.")
    assert (result.status, result.error_kind) == ("failed", "llm_error")


def test_characters_cut_in_two_by_the_service_are_put_together_again(tmp_path: Path) -> None:
    end = ChatStreamEvent(type="completed", finish_reason="stop")
    whole = _stream(_text("a\ud83d"), _text("\ude00b\ud800"), end)
    result = agent_in(tmp_path, whole).run("Go.")
    assert (result.status, result.final_output) == ("completed", "a😀b�")


def test_characters_cut_in_two_are_put_together_over_the_size_of_a_piece(tmp_path: Path) -> None:
    end = ChatStreamEvent(type="completed", finish_reason="stop")
    result = agent_in(tmp_path, _stream(_text("x" * 4095 + "\ud83d"), _text("\ude00"), end)).run("Go.")
    assert result.final_output == "x" * 4095 + "😀"
    assert len(payloads_of(result.wal_locator, "llm_response_delta")) == 2


def test_small_pieces_are_recorded_together(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [says(*("x" for _ in range(3000)))]).run("Go.")
    assert result.final_output == "x" * 3000
    assert len(payloads_of(result.wal_locator, "llm_response_delta")) < 300


@pytest.mark.parametrize("usage", [{}, {"input_tokens": None}, {"input_tokens": 3}, {"other": 1}])
def test_usage_a_service_does_not_tell_is_zero(tmp_path: Path, usage: Any) -> None:
    result = agent_in(tmp_path, [says("x", usage=usage)]).run("Go.")
    assert result.status == "completed"
    assert result.input_tokens == (usage.get("input_tokens") or 0)
    (used,) = payloads_of(result.wal_locator, "llm_usage")
    assert used.total_tokens == (usage.get("input_tokens") or 0)


def _counting(tmp_path: Path, script: list[Any], max_steps: int) -> tuple[Any, Doing]:
    tool = Doing(succeed)
    agent = agent_in(tmp_path, script, settings={"run": {"max_steps": max_steps}})
    agent.register_tool(tool)
    return agent.run("Go."), tool


def test_as_many_calls_as_allowed_may_be_made_and_then_answered(tmp_path: Path) -> None:
    result, tool = _counting(tmp_path, [calls(("do", {})), calls(("do", {})), says("done")], 2)
    assert (result.status, tool.times) == ("completed", 2)


def test_one_call_more_than_allowed_is_not_made(tmp_path: Path) -> None:
    result, tool = _counting(tmp_path, [calls(("do", {})), calls(("do", {})), says("done")], 1)
    assert (result.status, result.error_kind, tool.times) == ("failed", "budget_exceeded", 1)
    (failed,) = payloads_of(result.wal_locator, "run_failed")
    assert "run.max_steps" in failed.details["hint"]


def test_an_answer_with_more_calls_than_allowed_is_stopped_in_the_middle(tmp_path: Path) -> None:
    result, tool = _counting(tmp_path, [calls(*(("do", "{}") for _ in range(5))), says("done")], 3)
    assert (result.error_kind, tool.times) == ("budget_exceeded", 3)


def test_a_model_that_never_makes_a_valid_call_is_stopped_too(tmp_path: Path) -> None:
    result, _ = _counting(tmp_path, [calls(("no_such_tool", {}))] * 10, 4)
    assert result.error_kind == "budget_exceeded"


async def _forever(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize("where", ["model", "tool"])
def test_a_run_that_takes_too_long_is_stopped_wherever_it_hangs(tmp_path: Path, where: str) -> None:
    async def hang(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        yield _text("well")
        await asyncio.Event().wait()

    script = [calls(("do", {})), says("done")]
    settings = {"run": {"max_wall_time_sec": 1}}
    agent = agent_in(tmp_path, Streaming(hang) if where == "model" else script, settings=settings)
    agent.register_tool(Doing(_forever))
    result = agent.run("Go.")
    assert (result.status, result.error_kind) == ("failed", "budget_exceeded")
    (failed,) = payloads_of(result.wal_locator, "run_failed")
    assert "run.max_wall_time_sec" in failed.details["hint"]


async def _cancelled_when(tmp_path: Path, backend: Any, ready: asyncio.Event, tool: Doing | None = None) -> str:
    agent = agent_in(tmp_path, backend)
    if tool is not None:
        agent.register_tool(tool)
    run = agent.create(RunRequest(prompt="Go.", run_id="run_1"))
    task = asyncio.create_task(agent.execute(run))
    await asyncio.wait_for(ready.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return str(run.paths.events)


async def test_a_run_cancelled_while_the_model_answers_is_cancelled(tmp_path: Path) -> None:
    ready = asyncio.Event()

    async def hang(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        yield _text("well")
        ready.set()
        await asyncio.Event().wait()

    locator = await _cancelled_when(tmp_path, Streaming(hang), ready)
    assert [event.type for event in events_of(locator)][-2:] == ["artifact_manifest_written", "run_cancelled"]
    assert read_record(runs_root(tmp_path) / "run_1" / "run.json").status == "cancelled"
    assert verify_run(runs_root(tmp_path) / "run_1", log_ports().keys).findings == []


async def test_a_run_cancelled_while_a_tool_works_is_cancelled(tmp_path: Path) -> None:
    ready = asyncio.Event()

    async def hang(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        ready.set()
        return await _forever(arguments, context)

    locator = await _cancelled_when(tmp_path, [calls(("do", {})), says("x")], ready, Doing(hang))
    types = [event.type for event in events_of(locator)]
    assert types[-1] == "run_cancelled"
    assert "tool_call_finished" not in types


def test_a_promised_file_that_is_missing_fails_the_run(tmp_path: Path) -> None:
    settings = {"deliverables": {"required": ["report.md"]}}
    result = agent_in(tmp_path, [calls(writes("report.md", "x")), says("done")], settings=settings).run("Go.")
    assert (result.status, result.final_output) == ("failed", "missing_deliverable: report.md")
    agent = agent_in(tmp_path, [calls(writes("deliverables/report.md", "x")), says("done")], settings=settings)
    assert agent.run("Go.").status == "completed"


def test_the_conversation_only_grows_at_its_end(tmp_path: Path) -> None:
    backend = FakeModel([calls(writes("a", "x")), calls(writes("b", "y")), says("done")])
    agent_in(tmp_path, backend).run("Go.")
    for before, after in zip(backend.requests, backend.requests[1:], strict=False):
        assert list(after.messages[: len(before.messages)]) == list(before.messages)
        assert after.tools == before.tools
