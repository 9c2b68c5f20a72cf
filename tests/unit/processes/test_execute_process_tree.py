"""Whatever a command starts is gone when the call returns, however it tried to stay."""

import asyncio
import sys

import pytest

from skills_runtime.processes import Limits, execute
from skills_runtime.sandbox.supervision import process_tree
from tests.unit.processes.conftest import Tagged

QUICK = Limits(20, grace_seconds=0.2)

LEFT_BEHIND = {
    "a child in the background": "sleep 1000 &",
    "a child without its output": "sleep 1000 >/dev/null 2>&1 &",
    "a child that ignores the end of the terminal": "nohup sleep 1000 &",
    "an orphan": "(sleep 1000 &)",
    "an orphan in a session of its own": "setsid -f sleep 1000",
    "an orphan in a session of its own, twice removed": "(setsid setsid -f sleep 1000 &)",
    "a stopped child": "sleep 1000 & kill -STOP $!",
    "a child that ignores being asked": "(trap '' TERM HUP INT; sleep 1000) &",
    "an orphan that ignores being asked in a session of its own": "setsid -f sh -c \"trap '' TERM; sleep 1000\"",
    "a chain of orphans": "setsid -f sh -c 'setsid -f sh -c \"setsid -f sleep 1000; sleep 1000\"; sleep 1000'",
    "a job of a shell with job control": "set -m; sleep 1000 &",
}


@pytest.mark.parametrize("script", LEFT_BEHIND.values(), ids=list(LEFT_BEHIND))
async def test_what_a_command_leaves_behind_is_ended(command: Tagged, script: str) -> None:
    finished = await execute(command.shell(f"{script}\necho done; exit 4"), QUICK)
    assert (finished.ended_by, finished.exit_code, finished.stdout.text()) == ("exit", 4, "done\n")
    assert command.alive() == []


@pytest.mark.parametrize("script", LEFT_BEHIND.values(), ids=list(LEFT_BEHIND))
async def test_on_a_timeout_the_whole_tree_is_ended(command: Tagged, script: str) -> None:
    finished = await execute(command.shell(f"{script}\nsleep 1000"), Limits(0.3, grace_seconds=0.2))
    assert finished.ended_by == "timeout"
    assert command.alive() == []


async def test_a_daemon_that_hides_in_an_empty_environment_is_ended(command: Tagged) -> None:
    script = (
        f"setsid -f env -i sleep 1000 {command.tag}; setsid -f env -i sh -c 'sleep 999; : {command.tag}'; echo started"
    )
    finished = await execute(command.shell(script), QUICK)
    assert finished.stdout.text() == "started\n"
    listing = await execute(command("pgrep", "-f", f"[0-9: ]{command.tag}"), QUICK)
    assert listing.stdout.text() == ""


async def test_a_pipe_held_by_a_grandchild_does_not_delay_the_end(command: Tagged) -> None:
    finished = await execute(command.shell("(sleep 1000 &) ; setsid -f sleep 1000; echo done"), Limits(20))
    assert (finished.ended_by, finished.stdout.text()) == ("exit", "done\n")
    assert finished.duration_ms < 10_000


async def test_what_a_child_in_the_background_wrote_before_the_end_is_not_lost(command: Tagged) -> None:
    script = "mkfifo go; (echo early; echo > go; sleep 1000) & read -r _ < go; exit 0"
    finished = await execute(command.shell(script), QUICK)
    assert (finished.exit_code, finished.stdout.text()) == (0, "early\n")


async def test_a_child_in_the_background_may_clean_up(command: Tagged) -> None:
    script = "mkfifo go; (trap 'echo cleaned; exit' TERM; echo > go; while :; do sleep 0.02; done) & read -r _ < go"
    finished = await execute(command.shell(script), Limits(20))
    assert (finished.ended_by, finished.stdout.text()) == ("exit", "cleaned\n")


async def test_a_program_whose_first_thread_has_ended_is_ended(command: Tagged) -> None:
    program = (
        "import ctypes, platform, threading, time\n"
        "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
        "ctypes.CDLL(None).syscall({'x86_64': 60}.get(platform.machine(), 93), 0)\n"
    )
    (command.cwd / "program").write_text(program)
    script = f"{sys.executable} program & until grep -q '^State:.Z' /proc/$!/status; do sleep 0.02; done; echo $!"
    finished = await execute(command.shell(script), QUICK)
    assert finished.exit_code == 0
    assert process_tree.find_process(int(finished.stdout.text())) is None


async def test_fifty_children_are_ended(command: Tagged) -> None:
    script = "for i in $(seq 50); do sleep 1000 & done; echo ready; wait"
    stop = asyncio.Event()
    finished = await execute(command.shell(script), Limits(20), on_output=lambda _stream, _data: stop.set(), stop=stop)
    assert (finished.ended_by, finished.stdout.text()) == ("cancelled", "ready\n")
    assert command.alive() == []


async def test_children_that_fork_when_they_are_asked_to_end_are_ended(command: Tagged) -> None:
    script = (
        "fork() { trap 'fork & fork &' TERM; while :; do sleep 0.01; done; }; for i in 1 2 3 4; do fork & done; wait"
    )
    finished = await execute(command.shell(script), Limits(0.3, grace_seconds=0.1))
    assert finished.ended_by == "timeout"
    assert command.alive() == []


async def test_a_bounded_fork_bomb_is_ended(command: Tagged) -> None:
    script = "bomb() { [ $1 -gt 0 ] && { bomb $(($1 - 1)) & bomb $(($1 - 1)) & }; sleep 1000; }; bomb 5 & wait"
    finished = await execute(command.shell(script), Limits(0.4, grace_seconds=0.1))
    assert finished.ended_by == "timeout"
    assert command.alive() == []


async def test_a_runner_that_keeps_moving_is_caught(command: Tagged) -> None:
    (command.cwd / "run").write_text("#!/bin/sh\ntrap '' TERM\nsetsid -f \"$0\"\n")
    (command.cwd / "run").chmod(0o755)
    finished = await execute(command.shell("./run; sleep 0.1"), Limits(20, grace_seconds=0.1))
    assert finished.exit_code == 0
    assert command.alive() == []


async def test_commands_do_not_end_each_other_s_processes(command: Tagged) -> None:
    ready, stop = asyncio.Event(), asyncio.Event()
    daemon = "sh -c 'echo $$ > $0; exec sleep 1000'"
    script = f"setsid -f {daemon} one; setsid -f env -i {daemon} two; until [ -s one -a -s two ]; do sleep 0.01; done"
    running = asyncio.create_task(
        execute(
            command.shell(f"{script}; echo ready; sleep 1000"),
            QUICK,
            on_output=lambda _stream, _data: ready.set(),
            stop=stop,
        )
    )
    await ready.wait()
    daemons = [int((command.cwd / name).read_text()) for name in ("one", "two")]
    finished = await execute(command.shell("setsid -f sleep 1000; setsid -f env -i sleep 1000; echo done"), QUICK)
    alive = [process_tree.find_process(pid) is not None for pid in daemons]
    stop.set()
    await running
    assert finished.stdout.text() == "done\n"
    assert alive == [True, True]
    assert [process_tree.find_process(pid) for pid in daemons] == [None, None]


async def test_no_process_is_reported_to_survive(command: Tagged) -> None:
    finished = await execute(command.shell("trap '' TERM; setsid -f sleep 1000"), QUICK)
    assert (finished.exit_code, finished.survivors) == (0, ())
