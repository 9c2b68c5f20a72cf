"""A full context: made smaller before the model refuses and after it has, with nothing important lost."""

import asyncio
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, RunResult
from skills_runtime.agent.options import RunRequest
from skills_runtime.events.payloads import SkillInjected
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolContext, ToolResult
from skills_runtime.testing import says
from tests.support.agents import SUMMARY, Doing, Person, SmallWindow, calls, length_of, payloads_of, spoken_to
from tests.support.events import check_request

PLAN = {"plan": [{"step": "look at the sea", "status": "completed"}, {"step": "write", "status": "in_progress"}]}
TASK = "Write of the sea."


def looking(times: int, chars: int = 600) -> list[FakeChatCall]:
    """Answers that each look at something long, and the end."""
    return [*(calls(("look", {"n": n, "chars": chars})) for n in range(times)), says("done")]


async def _look(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True, stdout=str(arguments["n"]) * arguments["chars"])


def agent_for(
    directory: Path,
    model: SmallWindow,
    *,
    human: Person | None = None,
    settings: Mapping[str, Any] | None = None,
    **recovery: Any,
) -> Agent:
    """An agent whose window has 1000 tokens, which it takes for 3000 characters."""
    rules = {"window_tokens": 1000, "compaction_keep_last_messages": 2, **recovery}
    run = {**(settings or {}).get("run", {}), "context_recovery": rules}
    merged = {"safety": {"mode": "allow"}, **(settings or {}), "run": run}
    agent = Agent(workspace_root=directory, backend=model, session_settings=merged, human_io=human)
    agent.register_tool(Doing(_look, name="look", effect="read"))
    return agent


def ran(directory: Path, model: SmallWindow, **more: Any) -> RunResult:
    result = agent_for(directory, model, **more).run(TASK)
    for request in model.requests:
        check_request(request)
    return result


def compactions_of(result: RunResult) -> list[Any]:
    return payloads_of(result.wal_locator, "context_compacted")


def test_a_conversation_is_compacted_before_it_is_too_long(tmp_path: Path) -> None:
    model = SmallWindow(looking(6))
    result = ran(tmp_path, model)
    assert result.status == "completed"
    (compacted,) = compactions_of(result)
    assert (compacted.reason, compacted.summary, compacted.count) == ("threshold", SUMMARY, 1)
    assert all(length_of(request) < 5500 for request in model.requests)
    assert not payloads_of(result.wal_locator, "context_length_exceeded")


def test_a_short_conversation_is_left_alone(tmp_path: Path) -> None:
    model = SmallWindow(looking(3, chars=100))
    assert not compactions_of(ran(tmp_path, model))
    assert not model.compactions


@pytest.mark.parametrize(("tokens", "expected"), [(700, 0), (810, 1)])
def test_what_the_model_counted_decides_rather_than_a_guess(tmp_path: Path, tokens: int, expected: int) -> None:
    first, *rest = looking(3, chars=20)
    usage = {"input_tokens": tokens - 10, "output_tokens": 10}
    counted = FakeChatCall(
        [*first.events[:-1], ChatStreamEvent(type="completed", finish_reason="tool_calls", usage=usage)]
    )
    extra = [calls(("look", {"n": n, "chars": 1}), text="hm") for n in range(2)]
    result = ran(tmp_path, SmallWindow([*extra, counted, *rest]))
    assert len(compactions_of(result)) == expected


def test_a_conversation_the_model_refuses_is_compacted_and_asked_about_again(tmp_path: Path) -> None:
    model = SmallWindow(looking(4, chars=50), refusals=[3])
    result = ran(tmp_path, model)
    assert (result.status, result.final_output) == ("completed", "done")
    (compacted,) = compactions_of(result)
    assert (compacted.reason, compacted.summary) == ("context_length_exceeded", SUMMARY)
    (decided,) = payloads_of(result.wal_locator, "context_recovery_decided")
    assert decided.decision == "compact_continue"
    assert length_of(model.requests[4]) < length_of(model.requests[3])


def test_the_summary_is_a_file_an_event_and_an_artifact(tmp_path: Path) -> None:
    result = ran(tmp_path, SmallWindow(looking(4), refusals=[2]))
    root = Path(result.wal_locator).parent
    for number, compacted in enumerate(compactions_of(result), start=1):
        assert compacted.artifact_path == f"archive/compaction-{number:03d}.md"
        assert (root / compacted.artifact_path).read_text() == compacted.summary == SUMMARY
        assert compacted.artifact_path in (root / "artifact-manifest.json").read_text()


def test_the_planner_sums_up_and_is_given_no_tools(tmp_path: Path) -> None:
    model = SmallWindow(looking(6))
    ran(tmp_path, model, settings={"models": {"planner": "thinker", "executor": "doer"}})
    assert {request.model for request in model.compactions} == {"thinker"}
    assert [request.model for request in model.requests][:2] == ["thinker", "doer"]
    assert not model.compactions[0].tools


def test_the_task_the_skills_and_the_plan_survive(tmp_path: Path) -> None:
    model = SmallWindow([calls(("update_plan", PLAN)), *looking(12)])
    agent = agent_for(tmp_path, model)
    run = agent.create(RunRequest(prompt=TASK))
    skill = "<skill>\nWrite like a poet.\n</skill>"
    run.append(SkillInjected(skill_name="poet", text_blob=run.put_blob(skill.encode())))
    result = asyncio.run(agent.execute(run))
    assert len(compactions_of(result)) >= 2
    texts = spoken_to(model.requests[-1])
    assert texts[:2] == [skill, TASK]
    assert texts.count(TASK) == texts.count(skill) == 1
    assert "- [completed] look at the sea\n- [in_progress] write" in texts[2]
    assert SUMMARY in texts[2]
    assert len([payload for payload in texts if SUMMARY in payload]) == 1, "a summary replaces the one before"


def test_the_results_of_the_newest_answer_are_still_there_after_a_compaction(tmp_path: Path) -> None:
    """However many calls the answer made: the model has not seen what they returned."""
    many = calls(*(("look", {"n": n, "chars": 400}) for n in range(5)), text="all at once")
    model = SmallWindow([*looking(2)[:-1], many, says("done")])
    result = ran(tmp_path, model)
    assert len(compactions_of(result)) == 1
    seen = [message["content"] for message in model.requests[-1].messages if message["role"] == "tool"]
    assert [text[22] for text in seen[-5:]] == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (2, 2), (0, 3)])
def test_a_run_compacts_as_often_as_it_may(tmp_path: Path, limit: int, expected: int) -> None:
    model = SmallWindow(looking(5, chars=20), refusals=[2, 4, 6])
    result = ran(tmp_path, model, max_compactions_per_run=limit)
    assert len(compactions_of(result)) == expected
    kind = "context_length_exceeded" if limit else None
    assert (result.status, result.error_kind) == ("failed" if limit else "completed", kind)


def test_a_model_that_refuses_whatever_it_is_sent_ends_the_run(tmp_path: Path) -> None:
    model = SmallWindow(looking(3), refusals=range(2, 100))
    result = ran(tmp_path, model)
    assert (result.status, result.error_kind) == ("failed", "context_length_exceeded")
    assert len(model.compactions) < 10


def test_a_result_that_alone_is_too_long_ends_the_run_and_does_not_repeat_it_for_ever(tmp_path: Path) -> None:
    model = SmallWindow([*looking(2)[:-1], *looking(1, chars=9000)], window_chars=6000)
    result = ran(tmp_path, model)
    assert result.status in ("completed", "failed")
    assert len(model.compactions) < 10


def test_a_task_that_alone_is_too_long_ends_the_run_at_once(tmp_path: Path) -> None:
    model = SmallWindow([says("done")], window_chars=100)
    result = ran(tmp_path, model)
    assert (result.status, result.error_kind) == ("failed", "context_length_exceeded")
    assert (len(model.requests), len(model.compactions)) == (1, 0)


def test_without_a_summary_an_excerpt_takes_its_place(tmp_path: Path) -> None:
    model = SmallWindow(looking(3, chars=50), refusals=[2], summaries=[None])
    result = ran(tmp_path, model)
    assert result.status == "completed"
    (failed,) = payloads_of(result.wal_locator, "compaction_failed")
    assert failed.error == "no summary today"
    (compacted,) = compactions_of(result)
    assert "look" in compacted.summary
    assert "0" * 50 in spoken_to(model.requests[-1])[1]


def test_an_excerpt_is_not_longer_than_it_may_be(tmp_path: Path) -> None:
    model = SmallWindow(looking(6, chars=700), summaries=[None])
    result = ran(tmp_path, model, compaction_history_max_chars=1000)
    assert all(len(payload.summary) < 1200 for payload in compactions_of(result))
    assert all(len(spoken_to(request)[0]) < 1200 for request in model.compactions)


def test_fail_fast_fails(tmp_path: Path) -> None:
    model = SmallWindow(looking(6), refusals=[3])
    result = ran(tmp_path, model, mode="fail_fast")
    assert (result.status, result.error_kind) == ("failed", "context_length_exceeded")
    assert not model.compactions


@pytest.mark.parametrize(("fallback", "status"), [("compact_first", "completed"), ("fail_fast", "failed")])
def test_ask_first_without_an_approver_does_its_fallback(tmp_path: Path, fallback: str, status: str) -> None:
    model = SmallWindow(looking(4, chars=50), refusals=[3])
    result = ran(tmp_path, model, mode="ask_first", ask_first_fallback_mode=fallback)
    assert result.status == status
    (decided,) = payloads_of(result.wal_locator, "context_recovery_decided")
    assert (decided.mode, decided.fallback_mode) == ("ask_first", fallback)


@pytest.mark.parametrize(
    ("answer", "status", "output"),
    [
        ("compact_continue", "completed", "done"),
        ("increase_budget_continue", "completed", "done"),
        ("handoff_new_run", "completed", SUMMARY),
        ("terminate", "failed", "the conversation is too long"),
        ("whatever", "failed", "the conversation is too long"),
    ],
)
def test_ask_first_does_what_the_person_says(tmp_path: Path, answer: str, status: str, output: str) -> None:
    person, model = Person(answer), SmallWindow(looking(4, chars=50), refusals=[3])
    result = ran(tmp_path, model, human=person, mode="ask_first")
    assert (result.status, result.final_output) == (status, output)
    assert len(person.asked) == 1
    assert {choice.label for choice in person.asked[0].choices} >= {"compact_continue", "handoff_new_run", "terminate"}


def test_a_run_that_hands_over_has_no_structured_output_and_is_completed_all_the_same(tmp_path: Path) -> None:
    model, person = SmallWindow(looking(4, chars=50), refusals=[3]), Person("handoff_new_run")
    schema = {"run": {"output_schema": {"type": "object"}}}
    result = ran(tmp_path, model, human=person, settings=schema, mode="ask_first")
    assert (result.status, result.final_output, result.output) == ("completed", SUMMARY, None)


def test_turns_are_numbered_once_with_compactions_between_them(tmp_path: Path) -> None:
    model = SmallWindow(looking(6), refusals=[2])
    ran(tmp_path, model)
    turns = [request.turn_id for request in [*model.requests, *model.compactions]]
    assert len(set(turns)) == len(turns)


def _prefixes_hold(requests: list[ChatRequest]) -> list[bool]:
    pairs = itertools.pairwise(requests)
    return [list(after.messages[: len(before.messages)]) == list(before.messages) for before, after in pairs]


def test_but_for_compactions_the_request_only_grows_at_its_end(tmp_path: Path) -> None:
    model = SmallWindow(looking(8))
    result = ran(tmp_path, model)
    assert _prefixes_hold(model.requests).count(False) == len(compactions_of(result)) > 0


def test_the_summary_is_listed_among_what_the_run_left(tmp_path: Path) -> None:
    result = ran(tmp_path, SmallWindow(looking(6), refusals=[2]))
    manifest = json.loads(Path(result.wal_locator).with_name("artifact-manifest.json").read_text())
    summaries = [payload["name"] for payload in manifest["artifacts"] if payload["role"] == "summary"]
    assert summaries[0] == "archive/compaction-001.md"
