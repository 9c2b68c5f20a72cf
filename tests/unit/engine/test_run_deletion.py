"""Runs are deleted whole, with those of their sub-agents, and never while somebody works on them."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent import RunRequest as AgentRequest
from skills_runtime.agent.options import AgentOptions
from skills_runtime.config import resolve
from skills_runtime.engine import RunFilter, RunRequest, RunService
from skills_runtime.engine.run_deletion import remove_leftovers, select_prunable
from skills_runtime.errors import IllegalTransition, LogLocked, NotFound, ValidationFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import RunRow
from skills_runtime.llm import ScriptedBackend
from skills_runtime.runs import RunLock, runs_root
from skills_runtime.testing import says
from skills_runtime.tools import builtin_tools
from tests.unit.engine.test_run_service import ASK, run_to_end, service

NOW = "2026-03-31T12:00:00Z"


def listed(runs: RunService) -> list[str]:
    runs.refresh()
    return [row.run_id for row in runs.list_runs(RunFilter(everywhere=True), limit=100)]


def add_child(root: Path, parent: str, name: str) -> Path:
    """Execute a run of a sub-agent."""
    options = AgentOptions(backend=ScriptedBackend([says("counted")]), tools=builtin_tools())
    agent = Agent.from_resolved(resolve(root), options)
    child = agent.create(AgentRequest(prompt="Count", run_id=name, parent_run_id=parent))
    path = child.paths.root
    asyncio.run(agent.execute(child))
    return path


async def test_a_run_goes_with_its_directory_and_its_row(tmp_path: Path) -> None:
    with service(tmp_path, [says("one"), says("two")]) as runs:
        async with runs.working():
            first, second = [await run_to_end(runs, RunRequest(prompt="Go.")) for _ in range(2)]
            root = runs.find(first).root
            deleted = await runs.delete(first)
        assert deleted.run_ids == (first,)
        assert deleted.bytes > 0
        assert listed(runs) == [second]
        assert list(root.parent.iterdir()) == [runs.find(second).root]
        with pytest.raises(NotFound):
            runs.find(first)


async def test_runs_of_sub_agents_go_with_it_and_not_alone(tmp_path: Path) -> None:
    with service(tmp_path, [says("done")]) as runs:
        async with runs.working():
            parent = await run_to_end(runs, RunRequest(prompt="Go."))
        child = await asyncio.to_thread(add_child, tmp_path, parent, "child")
        grandchild = await asyncio.to_thread(add_child, tmp_path, "child", "grandchild")
        assert set(listed(runs)) == {parent, "child", "grandchild"}
        with pytest.raises(IllegalTransition, match=f"`child` is the run of a sub-agent of `{parent}`"):
            await runs.delete("child")
        assert [row.run_id for row in runs.list_prunable()] == [parent]
        assert runs.find("last").root.name == parent
        assert set((await runs.delete(parent)).run_ids) == {parent, "child", "grandchild"}
        assert not child.exists()
        assert not grandchild.exists()
        assert listed(runs) == []


async def test_a_run_that_waits_is_deleted_only_by_force(tmp_path: Path) -> None:
    with service(tmp_path, [ASK]) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
            with pytest.raises(IllegalTransition, match="has not ended: it is waiting_for_user"):
                await runs.delete(run_id)
            assert runs.find(run_id).root.is_dir()
            await runs.delete(run_id, force=True)
        assert listed(runs) == []


async def test_a_run_that_a_process_is_writing_stays(tmp_path: Path) -> None:
    with service(tmp_path, [says("done")]) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
            lock = RunLock(runs.find(run_id).lock)
            with pytest.raises(LogLocked):
                await runs.delete(run_id)
            lock.release()
            assert listed(runs) == [run_id]
            await runs.delete(run_id)
        assert listed(runs) == []


async def test_a_copy_of_a_run_does_not_delete_the_run(tmp_path: Path) -> None:
    with service(tmp_path, [says("done")]) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
            root = runs.find(run_id).root
            copy = root.rename(tmp_path / "copy")
            _copy_tree(copy, root)
            with pytest.raises(ValidationFailed, match="is a copy of the run at"):
                await runs.delete(str(copy))
        assert root.is_dir()


def _copy_tree(source: Path, target: Path) -> None:
    for path in [source, *sorted(source.rglob("*"))]:
        copy = target / path.relative_to(source)
        if path.is_dir():
            copy.mkdir()
        else:
            copy.write_bytes(path.read_bytes())


async def test_a_run_stays_while_a_fork_needs_its_log(tmp_path: Path) -> None:
    with service(tmp_path, [says("done"), says("again")]) as runs:
        async with runs.working():
            parent = await run_to_end(runs, RunRequest(prompt="Go."))
            fork = await run_to_end(runs, RunRequest(prompt="Again.", fork_of=parent))
            with pytest.raises(IllegalTransition, match=f"is needed by its forks: `{fork}`"):
                await runs.delete(parent, force=True)
            oldest = runs.list_prunable(keep=1)
            assert (await runs.prune(oldest)).skipped == (parent,)
            assert set((await runs.prune(runs.list_prunable())).run_ids) == {parent, fork}
        assert listed(runs) == []


async def test_a_deletion_that_was_interrupted_is_finished_and_its_run_never_listed(tmp_path: Path) -> None:
    with service(tmp_path, [says("done")]) as runs:
        async with runs.working():
            run_id = await run_to_end(runs, RunRequest(prompt="Go."))
        root = runs.find(run_id).root
        root.rename(root.with_name(f".deleted.{run_id}.0"))
        assert listed(runs) == []
        await runs.prune([])
        assert list(root.parent.iterdir()) == []
    remove_leftovers(runs_root(tmp_path / "nothing"))


async def test_the_newest_run_is_the_last_one_unless_a_run_has_that_name(tmp_path: Path) -> None:
    with service(tmp_path, [says(str(number)) for number in range(3)]) as runs:
        with pytest.raises(NotFound, match="no runs yet"):
            runs.find("last")
        async with runs.working():
            await run_to_end(runs, RunRequest(prompt="Go."))
            newest = await run_to_end(runs, RunRequest(prompt="Go."))
            assert runs.find("last").root.name == newest
            await run_to_end(runs, RunRequest(prompt="Go.", run_id="last"))
            await run_to_end(runs, RunRequest(prompt="Go."))
        assert runs.find("last").root.name == "last"


def row(number: int, status: RunStatus = RunStatus.COMPLETED, *, days: int) -> RunRow:
    at = f"2026-03-{31 - days:02d}T12:00:00Z"
    return RunRow(
        run_id=f"r{number}",
        session_id="s",
        task_id="t",
        status=status,
        title="",
        path="/r",
        workspace_root="/",
        created_at=at,
        updated_at=at,
        last_seq=0,
        last_mac="",
        completed_at=at,
    )


@pytest.mark.parametrize(
    ("days", "keep", "expected"),
    [
        (None, 0, ["r1", "r3", "r4"]),
        (None, 2, ["r3", "r4"]),
        (10, None, ["r3", "r4"]),
        (20, None, ["r4"]),
        (10, 4, []),
        (None, 99, []),
    ],
)
def test_ended_runs_are_pruned_by_age_and_number(days: int | None, keep: int | None, expected: list[str]) -> None:
    rows = [
        row(1, days=0),
        row(2, RunStatus.WAITING_FOR_USER, days=5),
        row(3, RunStatus.FAILED, days=12),
        row(4, days=30),
    ]
    age = timedelta(days=days) if days is not None else None
    assert [entry.run_id for entry in select_prunable(rows, now=NOW, older_than=age, keep=keep)] == expected
