"""The processes beside the runtime: what happens when one of them, or the runtime, dies."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.processes import Finished, Limits, PtySession, execute
from skills_runtime.processes import launcher as launching
from skills_runtime.processes.launcher import MAX_IDLE, dismiss, start_launcher
from skills_runtime.sandbox.supervision import process_tree
from tests.unit.processes.conftest import Tagged, children, wait_for_end

SOON = Limits(20, grace_seconds=0.2)


async def supervisor_of(command: Tagged) -> int:
    """The supervisor that serves the next command too, when nothing else is going on."""
    finished = await execute(command.shell("echo $PPID"), SOON)
    return int(finished.stdout.text())


def parent(pid: int) -> int:
    found = process_tree.find_process(pid)
    assert found is not None
    return found.parent


async def test_a_supervisor_serves_one_command_after_the_other(command: Tagged) -> None:
    assert await supervisor_of(command) == await supervisor_of(command)


async def test_only_a_few_supervisors_are_kept(command: Tagged) -> None:
    await asyncio.gather(*(execute(command("true"), SOON) for _ in range(3 * MAX_IDLE)))
    supervisors: set[int] = set()

    async def meet() -> None:
        script = f"echo x >> here; until [ $(wc -l < here) -ge {MAX_IDLE} ]; do sleep 0.01; done; echo $PPID"
        finished = await execute(command.shell(script), SOON)
        supervisors.add(int(finished.stdout.text()))

    await asyncio.gather(*(meet() for _ in range(MAX_IDLE)))
    launcher = parent(min(supervisors))
    for process in process_tree.list_processes().values():
        if process.parent == launcher and process.pid not in supervisors:
            wait_for_end(process.pid)
    assert len(supervisors) == MAX_IDLE


async def test_a_supervisor_that_was_told_to_end_something_serves_no_more(command: Tagged) -> None:
    before = await supervisor_of(command)
    finished = await execute(command.shell("sleep 1000"), Limits(0.1))
    assert finished.ended_by == "timeout"
    wait_for_end(before)
    assert await supervisor_of(command) != before


async def test_an_idle_supervisor_that_was_killed_is_replaced(command: Tagged) -> None:
    before = await supervisor_of(command)
    os.kill(before, signal.SIGKILL)
    wait_for_end(before)
    assert await supervisor_of(command) != before


async def test_a_launcher_that_was_killed_is_replaced(command: Tagged) -> None:
    launcher = parent(await supervisor_of(command))
    assert launcher in children()
    os.kill(launcher, signal.SIGKILL)
    wait_for_end(launcher)
    results = await asyncio.gather(*(execute(command("echo", "fine"), SOON) for _ in range(MAX_IDLE + 1)))
    assert {finished.stdout.text() for finished in results} == {"fine\n"}


async def test_a_launcher_that_was_let_go_lets_its_commands_finish(command: Tagged) -> None:
    release = asyncio.Event()
    script = "echo ready; until [ -e go ]; do sleep 0.02; done; exit 5"
    task = asyncio.create_task(execute(command.shell(script), SOON, on_output=lambda _stream, _data: release.set()))
    await release.wait()
    dismiss()
    (command.cwd / "go").touch()
    assert (await task).exit_code == 5


async def test_a_command_that_kills_its_supervisor_is_reported_and_leaves_nothing(command: Tagged) -> None:
    script = "(trap '' TERM; sleep 1000) & setsid -f sleep 1000; kill -9 $PPID; sleep 1000"
    with pytest.raises(ToolError, match="what became of `/bin/bash` is unknown") as lost:
        await execute(command.shell(script), SOON)
    assert lost.value.kind == "unknown"
    assert command.alive() == []


async def test_a_command_that_kills_supervisor_and_launcher_leaves_nothing(command: Tagged) -> None:
    script = "setsid -f sleep 1000; kill -9 $(cut -d' ' -f4 /proc/$PPID/stat) $PPID; sleep 1000"
    with pytest.raises(ToolError, match="is unknown"):
        await execute(command.shell(script), SOON)
    assert command.alive() == []
    assert (await execute(command("echo", "fine"), SOON)).stdout.text() == "fine\n"


async def test_orphans_of_a_killed_supervisor_are_ended_even_without_a_mark(command: Tagged) -> None:
    script = "setsid -f env -i sh -c 'echo $$ > pid; exec sleep 1000'; until [ -s pid ]; do :; done; kill -9 $PPID"
    with pytest.raises(ToolError, match="is unknown"):
        await execute(command.shell(script), SOON)
    wait_for_end(int((command.cwd / "pid").read_text()))


async def test_a_session_whose_supervisor_is_killed_has_ended(command: Tagged) -> None:
    session = await PtySession.start(command.shell("read -r _; kill -9 $PPID; sleep 1000"))
    await session.write(b"\n")
    reading = await session.read(timeout_ms=10_000)
    assert (reading.status.running, reading.status.exit_code, reading.status.signal) == (False, None, None)
    await session.close()
    assert command.alive() == []


def test_when_the_runtime_is_killed_its_commands_are_ended(command: Tagged) -> None:
    script = "setsid -f sleep 1000; (sleep 1000 &); echo $PPID; sleep 1000"
    program = (
        "import asyncio, sys; from pathlib import Path; from skills_runtime.processes import *\n"
        f"command = Command(shell_command({script!r}), Path({str(command.cwd)!r}), {command.environment!r})\n"
        "show = lambda stream, data: (sys.stdout.buffer.write(data), sys.stdout.flush())\n"
        "asyncio.run(execute(command, Limits(None), on_output=show))\n"
    )
    with subprocess.Popen((sys.executable, "-c", program), stdout=subprocess.PIPE) as runtime:
        assert runtime.stdout is not None
        supervisor = int(runtime.stdout.readline())
        running = command.alive()
        runtime.kill()
    assert len(running) >= 3
    for pid in (*running, supervisor):
        wait_for_end(pid)


def test_loops_in_other_threads_and_times_share_the_launcher(command: Tagged) -> None:
    def run() -> Finished:
        return asyncio.run(execute(command("echo", "fine"), SOON))

    assert [run().stdout.text() for _ in range(3)] == ["fine\n"] * 3


async def test_no_room_for_another_descriptor_is_an_error_of_ours(command: Tagged) -> None:
    await execute(command("true"), SOON)
    taken: list[int] = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        with pytest.raises(ToolError, match="no command can be started now: Too many open files"):
            await execute(command("true", stdin=b"x"), SOON)
        with pytest.raises(ToolError, match="no command can be started now"):
            await PtySession.start(command("true"))
    finally:
        for descriptor in taken:
            os.close(descriptor)
    assert Path("/proc/self/fd").exists()


async def test_code_that_cannot_be_read_gets_one_sentence(
    command: Tagged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dismiss()
    monkeypatch.setattr(launching, "CODE_DIRECTORY", tmp_path)
    with pytest.raises(ToolError, match="what starts commands cannot be read: ") as refused:
        await execute(command("true"), SOON)
    assert "start this program anew" in str(refused.value.hint)
    monkeypatch.undo()
    assert (await execute(command("echo", "fine"), SOON)).stdout.text() == "fine\n"


async def test_a_launcher_that_was_ready_needs_no_files_any_more(
    command: Tagged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dismiss()
    shutil.copytree(launching.CODE_DIRECTORY / "supervision", tmp_path / "supervision")
    monkeypatch.setattr(launching, "CODE_DIRECTORY", tmp_path)
    start_launcher()
    shutil.rmtree(tmp_path / "supervision")
    first = parent(await supervisor_of(command))
    os.kill(first, signal.SIGKILL)
    wait_for_end(first)
    assert parent(await supervisor_of(command)) != first


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="there is no other interpreter")
async def test_another_interpreter_serves_as_well(command: Tagged, monkeypatch: pytest.MonkeyPatch) -> None:
    dismiss()
    monkeypatch.setattr(launching, "INTERPRETERS", ("/usr/bin/python3",))
    assert (await execute(command("echo", "fine"), SOON)).stdout.text() == "fine\n"
    dismiss()
