"""Behind the fence as before it: no byte lost, exact ends, in time, and nothing left behind."""

import asyncio
import time
from pathlib import Path

import pytest

from benchmarks.sandbox_leaks import left_after
from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Command, Finished, Limits, PtySession, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from tests.e2e.sandbox.arena import state_beside
from tests.support.users import Unprivileged
from tests.unit.processes.test_execute_deadlines import ALLOWED, DAEMON, LATE, TRIES
from tests.unit.processes.test_execute_exact_output import DIGEST, LINES, ON_A_TERMINAL, PATIENCE_MS, times

TIMES = 40


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = (tmp_path / "workspace").resolve()
    made.mkdir()
    return made


def fenced(workspace: Path, *argv: str, terminal: bool = False) -> Command:
    fence = OsSandbox(
        build_policy("workspace-write", workspace, CAREFUL),
        find_adapters("bubblewrap"),
        {},
        state=state_beside(workspace),
    )
    plan = fence.plan(ProcessRequest(argv=argv, cwd=workspace, terminal=terminal))
    return Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)


async def test_no_byte_is_lost_over_pipes(workspace: Path) -> None:
    async def count(_: int) -> Finished:
        return await execute(fenced(workspace, "seq", "1", "100000"), Limits(60, output_bytes=1024))

    ends = {(done.exit_code, done.stdout.total, done.stdout.sha256) for done in await times(TIMES, count)}
    assert ends == {(0, len(LINES), DIGEST)}


async def test_no_byte_is_lost_over_terminals(workspace: Path) -> None:
    async def count(_: int) -> tuple[int | None, str]:
        command = fenced(workspace, "seq", "1", "100000", terminal=True)
        session = await PtySession.start(command, output_bytes=1024)
        try:
            reading = await session.read(timeout_ms=PATIENCE_MS)
        finally:
            await session.close()
        return reading.status.exit_code, reading.output.sha256

    assert set(await times(TIMES, count)) == {(0, ON_A_TERMINAL)}


async def test_thirty_ends_on_terminals_are_reported_as_they_were(workspace: Path) -> None:
    async def leave(turn: int) -> int | None:
        session = await PtySession.start(fenced(workspace, "sh", "-c", f"exit {turn}", terminal=True))
        try:
            return (await session.read(timeout_ms=PATIENCE_MS)).status.exit_code
        finally:
            await session.close()

    assert await times(30, leave) == list(range(30))


async def test_a_daemon_that_holds_the_pipe_and_ignores_being_asked_is_gone_in_time(workspace: Path) -> None:
    taken: list[float] = []
    for _ in range(TRIES):
        begun = time.monotonic()
        finished = await execute(fenced(workspace, "sh", "-c", DAEMON), Limits(ALLOWED, grace_seconds=0.1))
        taken.append(time.monotonic() - begun)
        assert (finished.ended_by, finished.stdout.text(), finished.survivors) == ("timeout", "started\n", ())
        if taken[-1] <= ALLOWED + LATE:
            break
    assert min(taken) <= ALLOWED + LATE, taken


async def test_commands_one_after_the_other_leave_nothing(workspace: Path) -> None:
    assert await left_after(40, workspace) == {
        "descriptors": set(),
        "processes": set(),
        "groups": set(),
        "files": set(),
    }


def test_those_of_an_ordinary_user_leave_nothing_either(unprivileged: Unprivileged) -> None:
    def work() -> dict[str, set[str]]:
        workspace = unprivileged.path / "workspace"
        workspace.mkdir()
        return dict(asyncio.run(left_after(15, workspace)))

    assert unprivileged(work) == {"descriptors": set(), "processes": set(), "groups": set(), "files": set()}
