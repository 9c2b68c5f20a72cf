"""The application layer as the command line uses it: one run in this process, named as its user names it."""

import asyncio
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.config import Resolved, state_home
from skills_runtime.engine import (
    ApprovalAnswer,
    Interaction,
    RunFilter,
    RunRequest,
    RunService,
    ServiceLimits,
    StillWorking,
    Workspace,
    open_run_service,
)
from skills_runtime.errors import ApprovalStale, Busy, LogEnded, LogLocked, NotFound, RunExists, ValidationFailed
from skills_runtime.events import Event
from skills_runtime.events.states import RunStatus
from skills_runtime.llm import FakeChatCall, ScriptedBackend
from skills_runtime.ports import Backend
from skills_runtime.runs import read_events
from skills_runtime.testing import says
from tests.support.agents import calls

USER = ServiceLimits(durable=False)
ASK = calls(("ask_human", {"question": "Which colour?", "choices": ["red", "blue"]}))
COMMAND = calls(("shell_command", {"command": "uname -s"}))


@contextmanager
def service(
    root: Path,
    answers: Iterable[FakeChatCall],
    *,
    interaction: Interaction | None = None,
    limits: ServiceLimits = USER,
    **settings: Mapping[str, Any],
) -> Generator[RunService]:
    root.mkdir(exist_ok=True)
    backend = ScriptedBackend(answers)

    def model(_: Resolved) -> Backend:
        return backend

    given = {"safety": {"mode": "allow"}, **settings}
    workspace = Workspace(workspace_root=root, state=state_home(), user_settings=given, for_user=True)
    with open_run_service(workspace, interaction=interaction, model=model, limits=limits) as runs:
        yield runs


async def run_to_end(runs: RunService, request: RunRequest) -> str:
    """Create a run and wait until nobody works on it any more."""
    created = await runs.create(request)
    await asyncio.wait_for(runs.wait(created.run_id), 30)
    return created.run_id


async def test_a_started_run_sends_every_event_to_its_listener(tmp_path: Path) -> None:
    events: list[Event] = []
    with service(tmp_path, [says("done")], interaction=Interaction(hooks=(events.append,))) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
        state = runs.view(run_id).state
        assert (state.status, state.final_output) == (RunStatus.COMPLETED, "done")
        logged = [event.type for event in read_events(runs.find(run_id))]
        assert [event.type for event in events] == logged[logged.index("run_started") - 1 :]


async def test_a_run_directory_of_its_own_names_the_run(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere" / "demo-001"
    with service(tmp_path, [says("done")]) as runs:
        async with runs.working():
            assert await run_to_end(runs, RunRequest(prompt="Go.", sandbox_path=path)) == "demo-001"
        for name in (str(path), str(path / "events.jsonl"), "demo-001"):
            assert runs.find(name).root == path
        assert [row.run_id for row in runs.list_runs(RunFilter(), limit=5)] == ["demo-001"]


async def test_an_id_of_a_run_elsewhere_is_refused_or_gives_way(tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    with service(elsewhere, [says("done")]) as runs:
        async with runs.working():
            await run_to_end(runs, RunRequest(prompt="Go.", run_id="demo"))
        first = runs.find("demo").root
    with service(here, [says("done")]) as runs:
        async with runs.working():
            with pytest.raises(RunExists):
                await runs.create(RunRequest(prompt="Go.", run_id="demo"))
            created = await runs.create(RunRequest(prompt="Go.", sandbox_path=tmp_path / "demo"))
            assert created.run_id != "demo"
            assert f"names a run at `{first}`" in created.notices[0]


async def test_a_stopped_run_is_resumed_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    with service(tmp_path, [ASK, says("done")]) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
            assert runs.view(run_id).state.status is RunStatus.WAITING_FOR_USER
    with service(tmp_path, [ASK, says("done")]) as runs:
        short = run_id.removeprefix("run_")[:12]
        message = runs.answer_once(short, "2")
        assert message.body["answer"] == "blue"
        async with runs.working():
            assert await runs.resume(short) == run_id
            await asyncio.wait_for(runs.wait(run_id), 30)
        assert runs.view(run_id).state.status is RunStatus.COMPLETED


async def test_a_second_answer_is_refused_and_the_same_again_is_the_same(tmp_path: Path) -> None:
    with service(tmp_path, [ASK]) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
        first = runs.answer_once(run_id, "red")
        assert runs.answer_once(run_id, "1").id == first.id
        with pytest.raises(ValidationFailed, match="another answer"):
            runs.answer_once(run_id, "blue")


async def test_a_run_goes_on_after_a_decision(tmp_path: Path) -> None:
    with service(tmp_path, [COMMAND, says("done")], safety={"mode": "ask"}) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
            (approval,) = runs.approvals()
            assert (approval.run_id, runs.find_approval(approval.id).id) == (run_id, approval.id)
            answer = ApprovalAnswer(decision="denied", decided_by="ada")
            message = runs.decide(approval, answer)
            with pytest.raises(ApprovalStale):
                runs.decide(approval, answer)
            await runs.proceed(message.run_id)
            await asyncio.wait_for(runs.wait(run_id), 30)
        assert runs.view(run_id).state.status is RunStatus.COMPLETED
        assert runs.approvals() == []


async def test_what_is_under_way_is_stopped_at_the_end_and_can_be_resumed(tmp_path: Path) -> None:
    blocked = calls(("shell_command", {"command": "sleep 60"}))
    with service(tmp_path, [blocked, says("done")]) as runs:
        async with runs.working():
            created = await runs.create(RunRequest(prompt="Go."))
            with pytest.raises(LogLocked):
                await runs.resume(created.run_id)
        assert len(runs) == 0
        state = runs.view(created.run_id).state
        assert state.open
        assert state.waiting_kind in (None, "stopped")
        with pytest.raises(Busy):
            await runs.create(RunRequest(prompt="Go."))


async def test_cancel_ends_a_run_without_a_process_at_once(tmp_path: Path) -> None:
    with service(tmp_path, [ASK]) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
            assert (await runs.cancel(run_id, "enough")).status is RunStatus.CANCELLED
            assert runs.ledger.index.get(run_id).status is RunStatus.CANCELLED
            with pytest.raises(LogEnded):
                await runs.cancel(run_id)


async def test_cancel_waits_for_another_process_for_the_given_time(tmp_path: Path) -> None:
    blocked = calls(("shell_command", {"command": "sleep 60"}))
    with service(tmp_path, [ASK]) as runs, service(tmp_path, [blocked]) as other:
        async with other.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
            locked_run = other.open(run_id)
            try:
                with pytest.raises(StillWorking, match=run_id):
                    await runs.cancel(run_id, patience=1)
            finally:
                locked_run.run.close()
            assert (await runs.cancel(run_id, patience=5)).status is RunStatus.CANCELLED


async def test_a_fork_goes_on_from_an_event_of_a_run(tmp_path: Path) -> None:
    with service(tmp_path, [says("done")]) as runs:
        async with runs.working():
            parent = await run_to_end(runs, RunRequest(prompt="Go.", session_id="s1"))
            child = await run_to_end(runs, RunRequest(prompt="", fork_of=parent, fork_at=2))
        state = runs.view(child).state
        assert state.fork is not None
        assert (state.fork.run_id, state.session_id, state.status) == (parent, "s1", RunStatus.COMPLETED)


async def test_a_run_is_replayed(tmp_path: Path) -> None:
    with service(tmp_path, [ASK, says("done")]) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
            assert await runs.replay(run_id) is None


async def test_a_result_is_sent_back_and_accepted(tmp_path: Path) -> None:
    with service(tmp_path, [says("first"), says("second")], run={"review": "required"}) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
            runs.review(run_id, accept=False, note="shorter")
            await runs.proceed(run_id)
            await asyncio.wait_for(runs.wait(run_id), 30)
            assert runs.review(run_id, accept=True) is RunStatus.COMPLETED
        assert runs.view(run_id).state.final_output == "second"


def test_a_run_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with service(tmp_path, []) as runs:
        for name in ("nothing", "./nothing", "run_000000000000"):
            with pytest.raises(NotFound):
                runs.find(name)
