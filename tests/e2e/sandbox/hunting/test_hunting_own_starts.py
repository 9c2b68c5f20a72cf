"""What a command asks for and what it finds around it must not matter to who puts up its fence."""

import asyncio
import os
import re
import select
import signal
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Finished, Limits, PutUpBy, execute
from skills_runtime.processes.launcher import dismiss
from skills_runtime.processes.supervision import tree
from skills_runtime.sandbox import CAREFUL, Fence, adapters_named, policy_for
from tests.e2e.sandbox.arena import PYTHON, enclosure_by
from tests.e2e.sandbox.waiting import newborns
from tests.support.users import Unprivileged

LIMITS = Limits(wall_seconds=60.0, grace_seconds=0.2)
ECHO = ("/bin/echo", "ran")
MEBIBYTE = 1 << 20


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    dismiss()
    made = (tmp_path / "workspace").resolve()
    made.mkdir()
    return made


def _plan(workspace: Path, *argv: str, **limits: int) -> SandboxPlan:
    policy = policy_for("workspace-write", workspace, msgspec.structs.replace(CAREFUL, **limits))
    return Fence(policy, adapters_named("bubblewrap"), {}).plan(ProcessRequest(argv=argv or ECHO, cwd=workspace))


def _run(plan: SandboxPlan, put_up_by: PutUpBy = "supervisor") -> Finished:
    command = Command(plan.argv, plan.cwd, plan.environment, enclosure=enclosure_by(put_up_by, plan))
    return asyncio.run(execute(command, LIMITS))


def _told(plan: SandboxPlan) -> tuple[str, str | None]:
    done = _run(plan)
    return done.stdout.text() + done.stderr.text(), done.put_up_by


@pytest.mark.parametrize(
    "name", ["re\rturn", "tab\t", "line\n", "back\\040slash", "\x0b\x0c\x1c", "\N{LINE SEPARATOR}"]
)
def test_a_name_that_looks_like_the_end_of_a_line_is_a_name(name: str, workspace: Path) -> None:
    (workspace / name / ".git").mkdir(parents=True)
    said, put_up_by = _told(_plan(workspace, "/bin/touch", f"{name}/.git/new"))
    assert put_up_by == "supervisor"
    assert said.endswith("Read-only file system\n")


@pytest.mark.parametrize("put_up_by", ["supervisor", "program"])
def test_arguments_that_are_too_long_are_refused(put_up_by: PutUpBy, workspace: Path) -> None:
    plan = _plan(workspace, "/bin/echo", "x" * (32 * os.sysconf("SC_PAGE_SIZE")))
    with pytest.raises(ValidationFailed, match="longer than the system accepts"):
        _run(plan, put_up_by)


def test_a_command_may_have_hardly_any_files_open(workspace: Path) -> None:
    assert _told(_plan(workspace, open_files=8)) == ("ran\n", "supervisor")


def test_a_command_without_memory_to_spare_is_left_to_the_program(workspace: Path) -> None:
    assert _told(_plan(workspace, memory_bytes=64 * MEBIBYTE)) == ("ran\n", "supervisor")
    assert _told(_plan(workspace, memory_bytes=8 * MEBIBYTE)) == ("ran\n", "program")
    assert _told(_plan(workspace, memory_bytes=64 * MEBIBYTE)) == ("ran\n", "supervisor")


def test_the_first_process_uses_no_memory_of_the_command(unprivileged: Unprivileged) -> None:
    code = "import time; kept = b'x' * (14 << 20); time.sleep(0.4)"  # long enough to be looked at

    def run() -> tuple[str, str | None]:
        done = _run(_plan(unprivileged.path, PYTHON, "-I", "-S", "-c", code, memory_bytes=24 * MEBIBYTE))
        return done.ended_by, done.put_up_by

    assert unprivileged(run) == ("exit", "supervisor")


def test_without_a_path_no_program_of_the_workspace_is_taken_for_that_of_the_system(workspace: Path) -> None:
    (workspace / "echo").write_text("#!/bin/sh\nprintf 'of the workspace\n'\n")
    (workspace / "echo").chmod(0o755)
    plan = _plan(workspace, "echo", "of the system")
    options, *others = plan.enclosure.inputs
    without = re.sub(rb"--setenv\0PATH\0[^\0]*\0", b"", options)
    assert without != options
    enclosure = msgspec.structs.replace(plan.enclosure, inputs=(without, *others))
    assert _told(msgspec.structs.replace(plan, enclosure=enclosure)) == ("of the system\n", "supervisor")


def test_a_first_process_that_was_stopped_ends_with_its_supervisor(workspace: Path) -> None:
    assert _told(_plan(workspace)) == ("ran\n", "supervisor")
    spare = _awaited_spare()
    os.kill(spare.pid, signal.SIGSTOP)
    watched = os.pidfd_open(spare.pid)
    supervisor = tree.look(spare.parent)
    assert supervisor is not None
    for pid in (supervisor.parent, supervisor.pid):  # nobody is left who could see to it
        os.kill(pid, signal.SIGKILL)
    assert select.select([watched], [], [], 30)[0]
    os.close(watched)


def _awaited_spare() -> tree.Process:
    """The process that waits for the next command, as soon as it has a session of its own."""
    while not (found := [one for one in newborns() if one.group == one.pid]):
        os.sched_yield()
    return found[0]
