"""People reach a run while it works, while it waits, and when it is done."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from skills_runtime.agent import RunRequest
from skills_runtime.ports import ChatRequest, ChatStreamEvent
from skills_runtime.testing import says
from tests.support.agents import Streaming, agent_in, calls
from tests.unit.service.served import serving, types_in

ASKS = calls(("ask_human", {"question": "Which colour?"}))


async def _for_ever(request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
    yield ChatStreamEvent(type="text_delta", text="thinking")
    await asyncio.Event().wait()


async def test_a_run_that_works_is_cancelled(tmp_path: Path) -> None:
    async with serving(tmp_path, Streaming(_for_ever)) as service:
        run_id = await service.begin()
        answer = await service.post(f"/runs/{run_id}/cancel", {"reason": "not needed"})
        assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
        assert types_in(service.log(run_id))[-1] == "run_cancelled"
        again = await service.post(f"/runs/{run_id}/cancel", {})
        assert (again.status_code, again.json()["kind"]) == (409, "log_ended")


async def test_a_run_that_waits_is_cancelled_without_being_worked_on(tmp_path: Path) -> None:
    async with serving(tmp_path, [ASKS, says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "waiting_for_user")
        assert (await service.post(f"/runs/{run_id}/cancel")).json()["status"] == "cancelled"
        runs = (await service.get("/runs", params={"status": "cancelled"})).json()["runs"]
        assert [run["run_id"] for run in runs] == [run_id]


async def test_an_answer_lets_the_run_continue(tmp_path: Path) -> None:
    async with serving(tmp_path, [ASKS, says("done")]) as service:
        run_id = await service.begin()
        run = await service.until(run_id, "waiting_for_user")
        assert [question["question"] for question in run["questions"]] == ["Which colour?"]
        answer = await service.post(f"/runs/{run_id}/answers", {"answer": "blue"})
        assert (answer.status_code, answer.json()["kind"]) == (202, "answer")
        await service.until(run_id, "completed")
        assert any("blue" in line for line in service.log(run_id) if '"human_response"' in line)


async def test_an_answer_without_a_question_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, Streaming(_for_ever)) as service:
        run_id = await service.begin()
        assert (await service.post(f"/runs/{run_id}/answers", {"answer": "blue"})).status_code == 404
        assert (await service.post(f"/runs/{run_id}/answers", {})).status_code == 400


async def test_a_message_is_read_at_the_next_turn(tmp_path: Path) -> None:
    async with serving(tmp_path, [ASKS, says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "waiting_for_user")
        first = await service.post(f"/runs/{run_id}/messages", {"text": "be brief"}, idempotency_key="m")
        again = await service.post(f"/runs/{run_id}/messages", {"text": "be brief"}, idempotency_key="m")
        other = await service.post(f"/runs/{run_id}/messages", {"text": "be long"}, idempotency_key="m")
        assert first.json() == again.json()
        assert (other.status_code, other.json()["kind"]) == (409, "conflict")
        await service.post(f"/runs/{run_id}/answers", {"answer": "blue"})
        await service.until(run_id, "completed")
        assert sum("be brief" in line for line in service.log(run_id) if '"inbox_received"' in line) == 1


async def test_a_run_that_ended_takes_no_messages(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        answer = await service.post(f"/runs/{run_id}/messages", {"text": "late"})
        assert (answer.status_code, answer.json()["kind"]) == (409, "log_ended")
        resumed = await service.post(f"/runs/{run_id}/resume")
        assert (resumed.status_code, resumed.json()["kind"]) == (409, "log_ended")


async def test_a_run_that_is_worked_on_is_not_resumed_twice(tmp_path: Path) -> None:
    async with serving(tmp_path, Streaming(_for_ever)) as service:
        run_id = await service.begin()
        answer = await service.post(f"/runs/{run_id}/resume")
        assert (answer.status_code, answer.json()["kind"]) == (409, "log_locked")


async def test_a_fork_continues_from_an_event_of_another_run(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("done")]) as service:
        run_id = await service.begin("first")
        await service.until(run_id, "completed")
        last_before_the_end = len(service.log(run_id)) - 3
        body = {"at": last_before_the_end, "prompt": "second"}
        answer = await service.post(f"/runs/{run_id}/fork", body, idempotency_key="f")
        assert answer.status_code == 201, answer.text
        child = answer.json()["run_id"]
        assert (await service.post(f"/runs/{run_id}/fork", body, idempotency_key="f")).json()["run_id"] == child
        run = (await service.get(f"/runs/{child}")).json()
        assert run["parent_run_id"] == run_id
        assert run["fork"]["run_id"] == run_id


async def test_a_replay_says_whether_the_run_would_go_the_same_way(tmp_path: Path) -> None:
    async with serving(tmp_path, [calls(("file_read", {"path": "none.txt"})), says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "completed")
        before = service.log(run_id)
        answer = await service.post(f"/runs/{run_id}/replay")
        assert answer.json() == {"same": True, "divergence": None}
        assert service.log(run_id) == before


async def test_a_result_waits_for_review_and_is_accepted(tmp_path: Path) -> None:
    async with serving(tmp_path, [says("draft"), says("better")]) as service:
        run_id = await service.begin(review=True)
        await service.until(run_id, "review_required")
        assert (await service.post(f"/runs/{run_id}/resume")).json()["kind"] == "illegal_transition"
        await service.post(f"/runs/{run_id}/review", {"decision": "revise", "note": "shorter"})
        await service.until(run_id, "review_required")
        answer = await service.post(f"/runs/{run_id}/review", {"decision": "approve"})
        assert (answer.json()["status"], answer.json()["final_output"]) == ("completed", "better")


async def test_what_a_stopped_service_left_continues_in_the_next(tmp_path: Path) -> None:
    async with serving(tmp_path, Streaming(_for_ever)) as service:
        run_id = await service.begin()
        while not any('"llm_request_started"' in line for line in service.log(run_id)):
            await asyncio.sleep(0.01)
    async with serving(tmp_path, [says("done")]) as service:
        run = await service.until(run_id, "completed")
        assert run["final_output"] == "done"


async def test_a_run_that_waits_keeps_waiting_after_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path, [ASKS, says("done")]) as service:
        run_id = await service.begin()
        await service.until(run_id, "waiting_for_user")
    async with serving(tmp_path, [ASKS, says("done")]) as service:
        await service.runs.recover()
        assert (await service.get(f"/runs/{run_id}")).json()["status"] == "waiting_for_user"
        assert len(service.runs) == 0


async def test_a_run_of_another_user_is_left_alone_at_the_start(tmp_path: Path) -> None:
    run = agent_in(tmp_path, [says("done")]).create(RunRequest(prompt="mine", run_id="theirs"))
    run.commit()
    run.close()  # as a process that was killed leaves it
    async with serving(tmp_path, [says("done")]) as service:
        await service.runs.recover()
        assert (await service.get("/runs/theirs")).json()["status"] == "pending"
        assert (await service.post("/runs/theirs/resume")).status_code == 202
        await service.until("theirs", "completed")
