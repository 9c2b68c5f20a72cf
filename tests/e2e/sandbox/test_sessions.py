"""Terminals, networks by allow-list and many commands at once, all behind the fence."""

import asyncio
import signal
from pathlib import Path

import pytest

from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Finished, Limits, PtySession, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, Profile, build_policy, find_adapters
from skills_runtime.sandbox.egress import Handover
from tests.e2e.sandbox.arena import state_beside
from tests.e2e.sandbox.attempt import snapshot

LIMITS = Limits(wall_seconds=30.0, grace_seconds=0.5)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = (tmp_path / "workspace").resolve()
    made.mkdir()
    return made


def plan(workspace: Path, *argv: str, terminal: bool = False, profile: Profile = "workspace-write") -> SandboxPlan:
    fence = OsSandbox(
        build_policy(profile, workspace, CAREFUL), find_adapters("bubblewrap"), {}, state=state_beside(workspace)
    )
    return fence.plan(ProcessRequest(argv=argv, cwd=workspace, terminal=terminal, environment={"PS1": "ready> "}))


def command(planned: SandboxPlan) -> Command:
    return Command(planned.argv, planned.cwd, planned.environment, setup=planned.setup)


async def run(workspace: Path, code: str) -> Finished:
    return await execute(command(plan(workspace, "sh", "-c", code)), LIMITS)


async def read_until(session: PtySession, text: str) -> str:
    seen = ""
    async with asyncio.timeout(20):
        while text not in seen:
            reading = await session.read(timeout_ms=500, until_idle_ms=20)
            seen += reading.output.text()
            assert reading.status.running or text in seen, seen
    return seen


async def test_a_session_has_job_control_and_an_exact_end(workspace: Path) -> None:
    session = await PtySession.start(command(plan(workspace, "bash", "--norc", "-i", terminal=True)))
    try:
        await read_until(session, "ready> ")
        await session.write(b"sleep 100; echo after-$?\n")
        await read_until(session, "sleep 100")
        await session.write(b"\x03")
        await read_until(session, "ready> ")
        session.resize(33, 101)
        await session.write(b"stty size\n")
        assert "33 101" in await read_until(session, "33 101")
        await session.write(b"exit 5\n")
        reading = await session.read(timeout_ms=20_000)
    finally:
        status = await session.close()
    assert not reading.status.running
    assert status.exit_code == 5
    assert snapshot(workspace) == {}


async def test_an_interrupt_reaches_the_program_and_not_the_fence(workspace: Path) -> None:
    code = "import signal\nsignal.signal(2, lambda *_: exit(3))\nprint('ready', flush=True)\nsignal.pause()"
    session = await PtySession.start(command(plan(workspace, "python3", "-c", code, terminal=True)))
    try:
        await read_until(session, "ready")
        session.signal(signal.SIGINT)
        await session.read(timeout_ms=20_000)
    finally:
        status = await session.close()
    assert status.exit_code == 3


async def test_a_terminal_cannot_be_typed_into_even_if_it_is_one_s_own(workspace: Path) -> None:
    code = "import fcntl\ntry: fcntl.ioctl(0, 0x5412, b'x'); print('TYPED')\nexcept OSError as e: print('refused')"
    session = await PtySession.start(command(plan(workspace, "python3", "-c", code, terminal=True)))
    try:
        assert "TYPED" not in await read_until(session, "refused")
    finally:
        await session.close()


async def test_commands_in_one_workspace_do_not_unprotect_each_other(workspace: Path) -> None:
    line = "touch started; while ! test -e go; do sleep 0.02; done; mkdir .claude && touch .claude/x"
    long = asyncio.create_task(run(workspace, line))
    async with asyncio.timeout(20):
        while not (workspace / "started").exists():
            await asyncio.sleep(0.02)
        await asyncio.gather(*(run(workspace, "true") for _ in range(4)))
        (workspace / "go").touch()
        finished = await long
    assert [Path(one.path).name for one in finished.quarantined] == [".claude"]
    assert snapshot(workspace) == {"go": "", "started": ""}


async def test_many_commands_at_once_leave_nothing(workspace: Path) -> None:
    before = {path.name for path in Path("/proc/self/fd").iterdir()}
    finished = await asyncio.gather(*(run(workspace, f"echo {number}") for number in range(12)))
    assert [one.stdout.text() for one in finished] == [f"{number}\n" for number in range(12)]
    assert snapshot(workspace) == {}
    after = {path.name for path in Path("/proc/self/fd").iterdir()}
    assert len(after - before) <= 8, "there are more than the launcher and its idle supervisors"


async def test_a_listener_comes_out_of_the_sandbox_s_network(workspace: Path) -> None:
    code = "import socket; print(socket.create_connection(('127.0.0.1', 3128), 10).recv(10))"
    numbered = plan(workspace, "true").setup.next_descriptor
    with Handover() as handover:
        argv = handover.argv(("/usr/bin/python3", "-c", code), descriptor=numbered)
        planned = plan(workspace, *argv, profile="workspace-net")
        asked = Command(
            planned.argv,
            planned.cwd,
            planned.environment,
            setup=planned.setup,
            descriptors=(handover.descriptor,),
        )
        running = asyncio.create_task(execute(asked, LIMITS, on_start=handover.release_sandbox_end))
        listener = await handover.receive_listener()
        with listener:
            listener.setblocking(True)
            handover.allow_start()
            connection, _ = await asyncio.get_running_loop().run_in_executor(None, listener.accept)
            with connection:
                connection.sendall(b"outside")
            finished = await running
    assert finished.stdout.text() == "b'outside'\n", finished.stderr.text()
