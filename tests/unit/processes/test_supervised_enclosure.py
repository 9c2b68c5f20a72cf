"""What a fence needs from whoever starts its command: inputs, descriptors, limits, and what became of them."""

import os
import socket
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import SandboxError, ValidationFailed
from skills_runtime.ports import ControlGroup, Quarantine, SandboxSetup, Watch
from skills_runtime.processes import Limits, execute
from skills_runtime.sandbox.machine import this_machine
from skills_runtime.sandbox.supervision.control_groups import Groups
from tests.unit.processes.conftest import Tagged

LIMITS = Limits(wall_seconds=30.0)


async def test_inputs_are_read_from_numbered_descriptors(command: Tagged) -> None:
    setup = SandboxSetup(inputs=(b"one\xff", b"two"))
    asked = msgspec.structs.replace(command.shell("cat <&3; cat <&4"), setup=setup)
    assert (await execute(asked, LIMITS)).stdout.head == b"one\xfftwo"


async def test_descriptors_are_numbered_on_after_the_inputs(command: Tagged) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        setup = SandboxSetup(inputs=(b"one",))
        asked = command.shell(f"cat <&3 >&{setup.next_descriptor}; ls /proc/self/fd | tr '\\n' ' '")
        asked = msgspec.structs.replace(asked, setup=setup, descriptors=(theirs.fileno(),))
        finished = await execute(asked, LIMITS, on_start=theirs.close)
        assert ours.recv(10) == b"one"
        assert ours.recv(10) == b""
    assert finished.stdout.text().split() == ["0", "1", "2", "3", "4", "5"]


async def test_too_many_descriptors_are_refused(command: Tagged) -> None:
    asked = msgspec.structs.replace(command("true"), descriptors=tuple(range(3, 20)))
    with pytest.raises(ValidationFailed, match="descriptors"):
        await execute(asked, LIMITS)


async def test_a_command_reads_from_a_descriptor_of_its_caller(command: Tagged) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"given")
    os.close(write_end)
    try:
        finished = await execute(command("cat"), LIMITS, source=read_end)
    finally:
        os.close(read_end)
    assert finished.stdout.head == b"given"


def _quarantine(place: Path) -> Quarantine:
    workspace = place.resolve()
    state = workspace.parent / f"{workspace.name}-state"
    return Quarantine(
        roots=(str(workspace),),
        directory=str(state / "quarantine"),
        records=str(state / "running"),
        known_paths=frozenset(),
        identities=frozenset(),
    )


async def test_what_programs_outside_would_obey_is_moved_aside_at_the_end(command: Tagged) -> None:
    quarantine = _quarantine(command.cwd)
    asked = msgspec.structs.replace(
        command.shell("mkdir .vscode; touch kept"), setup=SandboxSetup(quarantine=quarantine)
    )
    finished = await execute(asked, LIMITS)
    (moved,) = finished.quarantined
    assert moved.path == str(command.cwd.resolve() / ".vscode")
    assert Path(moved.moved_to).is_dir()
    assert [path.name for path in command.cwd.iterdir()] == ["kept"]


async def test_a_command_is_recorded_only_while_it_runs(command: Tagged) -> None:
    quarantine = _quarantine(command.cwd)
    asked = msgspec.structs.replace(
        command.shell(f"ls {quarantine.records} | wc -l"), setup=SandboxSetup(quarantine=quarantine)
    )
    assert (await execute(asked, LIMITS)).stdout.text().split() == ["1"]
    assert list(Path(quarantine.records).iterdir()) == []


async def test_what_a_background_process_makes_last_is_moved_too(command: Tagged) -> None:
    quarantine = _quarantine(command.cwd)
    line = "(trap 'mkdir .vscode; exit' TERM; touch ready; sleep 60 & wait) & while ! test -e ready; do :; done"
    asked = msgspec.structs.replace(command.shell(line), setup=SandboxSetup(quarantine=quarantine))
    finished = await execute(asked, LIMITS)
    assert [Path(moved.path).name for moved in finished.quarantined] == [".vscode"]
    assert not (command.cwd / ".vscode").exists()


async def test_a_command_that_was_never_started_leaves_no_record(command: Tagged) -> None:
    quarantine = _quarantine(command.cwd)
    group = ControlGroup(parent="/nowhere", home="/nowhere", settings=(("pids.max", "1"),))
    setup = SandboxSetup(quarantine=quarantine, control_groups=(group,))
    with pytest.raises(SandboxError):
        await execute(msgspec.structs.replace(command("true"), setup=setup), LIMITS)
    assert list(Path(quarantine.records).glob("*")) == []


async def test_a_command_does_not_start_without_its_control_group(command: Tagged) -> None:
    group = ControlGroup(parent="/nowhere", home="/nowhere", settings=(("pids.max", "1"),))
    asked = msgspec.structs.replace(command.shell("touch ran"), setup=SandboxSetup(control_groups=(group,)))
    with pytest.raises(SandboxError, match="limits of a command cannot be set"):
        await execute(asked, LIMITS)
    assert not (command.cwd / "ran").exists()


def _groups(processes: int) -> tuple[ControlGroup, ...]:
    found = this_machine().control_groups
    return () if found is None else found.groups(memory_bytes=64 << 20, processes=processes)


needs_groups = pytest.mark.skipif(not _groups(1), reason="this user can make no control groups")


@needs_groups
async def test_the_kernel_counts_for_a_control_group(command: Tagged) -> None:
    setup = SandboxSetup(control_groups=_groups(6))
    code = "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; wait"
    finished = await execute(msgspec.structs.replace(command.shell(code), setup=setup), LIMITS)
    assert finished.counted["process_limit_hits"] > 0
    again = await execute(msgspec.structs.replace(command("true"), setup=setup), LIMITS)
    assert again.counted["process_limit_hits"] == 0


@needs_groups
async def test_a_command_without_control_groups_moves_no_process_out_of_them(command: Tagged) -> None:
    asked = command.shell("echo $PPID")
    grouped = msgspec.structs.replace(asked, setup=SandboxSetup(control_groups=_groups(50)))
    supervisors = [(await execute(one, LIMITS)).stdout.text() for one in (grouped, asked, grouped, asked)]
    assert supervisors[:2] == supervisors[2:]
    assert supervisors[0] != supervisors[1]


@needs_groups
async def test_no_control_group_is_left_when_the_supervisor_is_gone(command: Tagged) -> None:
    groups = Groups()
    wanted = msgspec.to_builtins(_groups(50))
    groups.enter(wanted)
    made = [path for group in wanted for path in Path(group["parent"]).glob(f"skills-runtime-{os.getpid()}-*")]
    assert len(made) == len(wanted)
    groups.reset_oom_score()
    groups.close()
    assert not any(path.exists() for path in made)


async def test_what_uses_more_than_is_watched_for_is_ended(command: Tagged) -> None:
    setup = SandboxSetup(watch=Watch(memory_bytes=20 << 20))
    code = "import time; data = b'x' * (60 << 20); time.sleep(30)"
    asked = msgspec.structs.replace(command("/usr/bin/python3", "-c", code), setup=setup)
    finished = await execute(asked, LIMITS)
    assert (finished.ended_by, finished.exceeded) == ("resource_limit", "memory")


async def test_what_stays_within_is_not_ended(command: Tagged) -> None:
    watch = Watch(memory_bytes=1 << 30, disk_path=str(command.cwd), disk_bytes=1 << 30, disk_files=1000)
    asked = msgspec.structs.replace(command.shell("sleep 0.2; echo x > file"), setup=SandboxSetup(watch=watch))
    finished = await execute(asked, LIMITS)
    assert (finished.ended_by, finished.exit_code) == ("exit", 0)


async def test_the_layers_of_a_fence_are_not_asked_to_end(command: Tagged) -> None:
    code = (
        "trap 'echo fence asked; exit 9' TERM; sh -c 'trap \"echo inner; exit 0\" TERM; sleep 60 & wait $!' & wait $!"
    )
    asked = msgspec.structs.replace(command.shell(code), setup=SandboxSetup(layers=1))
    finished = await execute(asked, Limits(wall_seconds=0.5, grace_seconds=5.0))
    assert finished.stdout.text() == "inner\n"
