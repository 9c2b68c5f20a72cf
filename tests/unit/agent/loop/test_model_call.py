"""Which model answers when, what a retry leaves in the log, and what is no answer."""

from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.events.payloads import LlmRequestStarted, LlmRetryScheduled
from skills_runtime.llm import FakeChatBackend, FakeChatCall
from skills_runtime.ports import ChatStreamEvent, ToolCall
from tests.support import model_server
from tests.support.model_server import refuses, says

LOOK = ToolCall(id="c", name="list_dir", arguments='{"dir_path": "."}')


def test_the_planner_answers_first_and_the_executor_the_rest(tmp_path: Path) -> None:
    backend = FakeChatBackend(
        [
            FakeChatCall([ChatStreamEvent(type="tool_calls", tool_calls=[LOOK])]),
            FakeChatCall([ChatStreamEvent(type="text_delta", text="done")]),
        ]
    )
    models = {"models": {"planner": "thinker", "executor": "doer"}}
    agent = Agent(workspace_root=tmp_path, backend=backend, session_settings=models)
    payloads = [event.payload for event in agent.run_stream("go")]
    assert [payload.model for payload in payloads if isinstance(payload, LlmRequestStarted)] == ["thinker", "doer"]


def test_a_retry_is_reported_by_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "k")
    with model_server.start([refuses(500), says("Hello")]) as server:
        llm = {"base_url": server.base_url, "api_key_env": "MODEL_KEY", "retry": {"base_delay_sec": 0}}
        agent = Agent(workspace_root=tmp_path, session_settings={"llm": llm})
        payloads = [event.payload for event in agent.run_stream("go")]
    (retry,) = [payload for payload in payloads if isinstance(payload, LlmRetryScheduled)]
    assert (retry.error_kind, retry.attempt, retry.max_retries, retry.delay_ms) == ("server_error", 1, 3, 0)


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_was_cut_or_withheld_is_no_success(tmp_path: Path, reason: str) -> None:
    cut = [ChatStreamEvent(type="text_delta", text="half"), ChatStreamEvent(type="completed", finish_reason=reason)]
    result = Agent(workspace_root=tmp_path, backend=FakeChatBackend([FakeChatCall(cut)])).run("go")
    assert (result.status, result.error_kind) == ("failed", "llm_error")
