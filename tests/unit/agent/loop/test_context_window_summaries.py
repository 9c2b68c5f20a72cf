"""Summaries that are none, histories too long to begin with, and windows that are full whatever is left out."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import RunResult
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall
from skills_runtime.testing import says
from tests.support.agents import SUMMARY, Person, SmallWindow, calls, events_of, length_of, payloads_of, spoken_to
from tests.support.events import check_request
from tests.unit.agent.loop.test_context_window import TASK, agent_for, looking

CALL = ChatStreamEvent(type="tool_calls", tool_calls=[ToolCall(id="x", name="look", arguments="{}")])
NOTHING = {"a call": CALL, "blanks": ChatStreamEvent(type="text_delta", text=" \n")}
HISTORY = [{"role": ("user", "assistant")[n % 2], "content": f"{n} " * 100} for n in range(40)]


class SumsUpOddly(SmallWindow):
    """A model whose summaries are this event."""

    def __init__(self, answers: Iterable[FakeChatCall], summary: ChatStreamEvent, **more: Any) -> None:
        super().__init__(answers, **more)
        self._summary_event = summary

    def _summary(self, request: ChatRequest) -> Iterable[ChatStreamEvent]:
        super()._summary(request)
        return [self._summary_event, ChatStreamEvent(type="completed", finish_reason="stop")]


def counted(times: int, tokens: int) -> list[FakeChatCall]:
    """Answers whose requests all have so many tokens, and the end."""
    end = ChatStreamEvent(type="completed", finish_reason="tool_calls", usage={"input_tokens": tokens})
    look = (calls(("look", {"n": n, "chars": 10})) for n in range(times))
    return [*(FakeChatCall([*call.events[:-1], end]) for call in look), says("done")]


def ran(directory: Path, model: SmallWindow, *, history: Sequence[dict[str, str]] = (), **more: Any) -> RunResult:
    result = agent_for(directory, model, **more).run(TASK, initial_history=history)
    for request in model.requests:
        check_request(request)
    return result


def summaries_of(result: RunResult) -> list[str]:
    return [payload.summary for payload in payloads_of(result.wal_locator, "context_compacted")]


@pytest.mark.parametrize("nothing", NOTHING)
def test_an_empty_summary_is_an_error(tmp_path: Path, nothing: str) -> None:
    result = ran(tmp_path, SumsUpOddly(looking(4, chars=50), NOTHING[nothing], refusals=[3]))
    assert result.status == "completed"
    (failed,) = payloads_of(result.wal_locator, "compaction_failed")
    assert failed.error == "the model's summary of the conversation is empty"
    (excerpt,) = summaries_of(result)
    assert "0" * 50 in excerpt


def test_an_empty_summary_is_not_handed_over(tmp_path: Path) -> None:
    model = SumsUpOddly(looking(4, chars=50), CALL, refusals=[3])
    result = ran(tmp_path, model, human=Person("handoff_new_run"), mode="ask_first")
    assert (result.status, result.error_kind) == ("failed", "llm_error")


def test_an_excerpt_in_place_of_a_summary_tells_no_more_than_the_log(tmp_path: Path) -> None:
    hidden = [
        calls(("shell_exec", {"argv": ["true"], "env": {"TOKEN": "of-the-sea"}})),
        calls(("file_write", {"path": "a.txt", "content": "what only the file holds"})),
    ]
    result = ran(tmp_path, SmallWindow([*hidden, *looking(1, chars=5)], refusals=[3], summaries=[None]))
    (excerpt,) = summaries_of(result)
    root = Path(result.wal_locator).parent
    assert "call_file_write_0: file_write" in excerpt
    for path in (root / "archive" / "compaction-001.md", root / "events.jsonl", root / "transcript.md"):
        assert "of-the-sea" not in path.read_text()
        assert "what only the file holds" not in path.read_text()
    assert (root / "archive" / "compaction-001.md").read_text() == excerpt


def test_a_summary_longer_than_what_it_sums_up_is_shortened(tmp_path: Path) -> None:
    endless = ChatStreamEvent(type="text_delta", text="The sea. " * 100_000)
    model = SumsUpOddly(looking(6), endless, window_chars=9000)
    result = ran(tmp_path, model)
    assert (result.status, result.final_output) == ("completed", "done")
    assert all(len(text) < 1000 for text in summaries_of(result))


def test_an_excerpt_fits_a_small_window(tmp_path: Path) -> None:
    model = SmallWindow(looking(30, chars=300), window_chars=9000, summaries=[None])
    result = ran(tmp_path, model)
    assert result.status == "completed"
    assert all(length_of(request) < 3000 for request in model.compactions)


@pytest.mark.parametrize("tokens", [1000, 100_000], ids=["before it is asked", "after a refusal"])
def test_a_history_that_is_too_long_to_start_with_is_summarized(tmp_path: Path, tokens: int) -> None:
    model = SmallWindow(looking(1, chars=10), window_chars=5000)
    result = ran(tmp_path, model, history=HISTORY, window_tokens=tokens)
    assert (result.status, result.final_output) == ("completed", "done")
    assert summaries_of(result) == [SUMMARY]
    assert "39 39" in spoken_to(model.compactions[0])[0]
    first, second = spoken_to(model.requests[-1])
    assert (first, SUMMARY in second) == (TASK, True)


def test_what_is_left_of_a_history_is_kept_while_it_fits(tmp_path: Path) -> None:
    model = SmallWindow([says("done")])
    ran(tmp_path, model, history=HISTORY, window_tokens=100_000)
    assert len(model.requests[0].messages) == len(HISTORY) + 2


def test_a_refusal_that_no_summary_can_help_ends_the_run_at_once(tmp_path: Path) -> None:
    model = SmallWindow(looking(1), refusals=range(1, 100))
    result = ran(tmp_path, model)
    assert (result.status, result.error_kind) == ("failed", "context_length_exceeded")
    assert (len(model.requests), len(model.compactions)) == (2, 0)


def test_what_no_summary_makes_smaller_is_not_summarized_at_every_answer(tmp_path: Path) -> None:
    model = SmallWindow(counted(12, tokens=900))
    assert ran(tmp_path, model).status == "completed"
    assert 0 < len(model.compactions) <= 2


def test_a_task_that_fills_the_window_is_not_summarized_at_every_answer(tmp_path: Path) -> None:
    model = SmallWindow(looking(12, chars=60))
    assert agent_for(tmp_path, model).run(TASK * 300).status == "completed"
    assert 0 < len(model.compactions) <= 3


def test_a_summary_that_used_up_the_tokens_is_the_last_that_is_asked_for(tmp_path: Path) -> None:
    model = SmallWindow(looking(6), usage={"input_tokens": 500, "output_tokens": 100})
    result = ran(tmp_path, model, settings={"run": {"max_tokens": 600}})
    assert (result.status, result.error_kind) == ("failed", "budget_exceeded")
    events = [event.type for event in events_of(result.wal_locator)]
    assert "llm_request_started" not in events[events.index("context_compacted") :]
