"""Who puts up a fence: the supervisor where it can, the program otherwise or if it was named, and nobody twice."""

import asyncio
import os
import select
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.processes.launcher import dismiss
from skills_runtime.processes.supervision import tree
from skills_runtime.sandbox import CAREFUL, Fence, SandboxPolicy, adapters_named, policy_for
from skills_runtime.sandbox.bubblewrap import Bubblewrap
from skills_runtime.sandbox.machine import this_machine
from tests.e2e.sandbox.waiting import awaited_newborn, newborns, space_of
from tests.support.users import Unprivileged

LIMITS = Limits(wall_seconds=60.0, grace_seconds=0.2)
ECHO = ("/bin/echo", "ran")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = (tmp_path / "workspace").resolve()
    made.mkdir()
    return made


@pytest.fixture(autouse=True)
def alone() -> None:
    """Begin without supervisors, and so without what other tests have left them ready."""
    dismiss()


def _policy(workspace: Path, **changes: Any) -> SandboxPolicy:
    return msgspec.structs.replace(policy_for("workspace-write", workspace, CAREFUL), **changes)


def _plan(workspace: Path, *argv: str, **changes: Any) -> SandboxPlan:
    fence = Fence(_policy(workspace, **changes), adapters_named("bubblewrap"), {})
    return fence.plan(ProcessRequest(argv=argv or ECHO, cwd=workspace))


def _run(plan: SandboxPlan) -> Finished:
    return asyncio.run(execute(Command(plan.argv, plan.cwd, plan.environment, enclosure=plan.enclosure), LIMITS))


def _told(plan: SandboxPlan) -> tuple[str, str | None]:
    done = _run(plan)
    return done.stdout.text() + done.stderr.text(), done.put_up_by


def _with_options(plan: SandboxPlan, *more: bytes) -> SandboxPlan:
    options, *others = plan.enclosure.inputs
    inputs = (b"".join(b"%s\0" % word for word in more) + options, *others)
    return msgspec.structs.replace(plan, enclosure=msgspec.structs.replace(plan.enclosure, inputs=inputs))


def test_the_supervisor_puts_it_up(workspace: Path) -> None:
    assert _told(_plan(workspace)) == ("ran\n", "supervisor")


def test_the_supervisor_of_an_ordinary_user_does_too(unprivileged: Unprivileged) -> None:
    def run() -> tuple[str, str | None]:
        workspace = unprivileged.path / "workspace"
        workspace.mkdir()
        return _told(_plan(workspace))

    assert unprivileged(run) == ("ran\n", "supervisor")


def test_an_option_that_it_does_not_know_is_left_to_the_program(workspace: Path) -> None:
    assert _told(_with_options(_plan(workspace), b"--unshare-cgroup")) == ("ran\n", "program")


def test_what_it_cannot_mount_is_left_to_the_program_which_says_why(workspace: Path) -> None:
    said, put_up_by = _told(_with_options(_plan(workspace), b"--ro-bind", b"/no/such/place", b"/place"))
    assert put_up_by == "program"
    assert said == "bwrap: Can't find source path /no/such/place: No such file or directory\n"


def test_a_program_that_somebody_named_puts_it_up_itself(workspace: Path) -> None:
    fence = Fence(_policy(workspace), (Bubblewrap("/usr/bin/bwrap"),), {})
    plan = fence.plan(ProcessRequest(argv=ECHO, cwd=workspace))
    assert _told(plan) == ("ran\n", None)


def test_a_terminal_is_left_to_the_program(workspace: Path) -> None:
    fence = Fence(_policy(workspace), adapters_named("bubblewrap"), {})
    plan = fence.plan(ProcessRequest(argv=ECHO, cwd=workspace, terminal=True))
    assert plan.enclosure.blueprint is None


def test_the_next_first_process_is_born_before_it_is_needed(workspace: Path) -> None:
    _run(_plan(workspace))
    born = space_of(awaited_newborn())
    done = _run(_plan(workspace, "/bin/sh", "-c", "cat /proc/1/comm; exec readlink /proc/self/ns/pid"))
    assert done.stdout.text() == f"fence\n{born}\n"


def test_a_fence_with_another_network_gets_another_first_process(workspace: Path) -> None:
    command = ("/bin/sh", "-c", "exec readlink /proc/self/ns/net")
    ours = str(Path("/proc/self/ns/net").readlink())
    assert _told(_plan(workspace, *command))[0].strip() != ours
    plan = _plan(workspace, *command, network="host", accepted_gaps=frozenset({"network"}))
    assert _told(plan) == (f"{ours}\n", "supervisor")
    assert _told(_plan(workspace, *command))[0].strip() != ours


def test_a_first_process_that_was_killed_meanwhile_is_no_loss(workspace: Path) -> None:
    _run(_plan(workspace))
    os.kill(awaited_newborn(), signal.SIGKILL)
    assert _told(_plan(workspace))[0] == "ran\n"


def test_a_first_process_ends_with_its_supervisor(workspace: Path) -> None:
    _run(_plan(workspace))
    newborn = awaited_newborn()
    watched = os.pidfd_open(newborn)
    found = tree.look(newborn)
    assert found is not None
    os.kill(found.parent, signal.SIGKILL)
    assert select.select([watched], [], [], 30)[0]
    os.close(watched)


def test_a_command_ends_with_its_supervisor(workspace: Path) -> None:
    async def work() -> None:
        plan = _plan(workspace, "/bin/sh", "-c", "echo begun; exec sleep 600")
        begun = asyncio.Event()
        command = Command(plan.argv, plan.cwd, plan.environment, enclosure=plan.enclosure)
        running = asyncio.ensure_future(execute(command, LIMITS, on_output=lambda _stream, _piece: begun.set()))
        await begun.wait()
        (first,) = [one for one in newborns() if one.parent not in {other.pid for other in newborns()}]
        watched = os.pidfd_open(first.pid)
        os.kill(first.parent, signal.SIGKILL)
        assert select.select([watched], [], [], 30)[0]
        os.close(watched)
        await asyncio.wait([running])
        assert running.exception() is not None

    asyncio.run(work())


def test_what_was_replaced_since_the_first_process_was_born_is_the_new_one(workspace: Path, tmp_path: Path) -> None:
    for name in ("shown", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text(f"{name}\n")
    machine = msgspec.structs.replace(this_machine(), interpreter=tmp_path / "shown")
    fence = Fence(_policy(workspace), adapters_named("bubblewrap"), {}, machine)
    plan = fence.plan(ProcessRequest(argv=("/bin/cat", str(tmp_path / "shown/text")), cwd=workspace))
    assert _told(plan) == ("shown\n", "supervisor")
    mounts = Path(f"/proc/{awaited_newborn()}/mountinfo")
    while f"{tmp_path}/shown " not in mounts.read_text():  # as soon as it has been born it fetches what it shows
        os.sched_yield()
    (tmp_path / "shown").rename(tmp_path / "old")
    (tmp_path / "new").rename(tmp_path / "shown")
    assert _told(plan) == ("new\n", "supervisor")
