"""Commands in the sandbox that `bwrap` builds: how they start and end, and what the workspace may look like."""

import asyncio
import os
import select
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import SandboxError, ValidationFailed
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from skills_runtime.sandbox.supervision import process_tree
from tests.e2e.sandbox.arena import state_beside
from tests.support.users import Unprivileged

LIMITS = Limits(wall_seconds=60.0, grace_seconds=0.2)
ECHO = ("/bin/echo", "ran")
MEBIBYTE = 1 << 20


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = (tmp_path / "workspace").resolve()
    (made / "sub").mkdir(parents=True)
    (made / "script").write_text("echo of a script\nexit 7\n")
    (made / "script").chmod(0o755)
    return made


def _plan(workspace: Path, *argv: str, **limits: int) -> SandboxPlan:
    policy = build_policy("workspace-write", workspace, msgspec.structs.replace(CAREFUL, **limits))
    return OsSandbox(policy, find_adapters("bubblewrap"), {}, state=state_beside(workspace)).plan(
        ProcessRequest(argv=argv or ECHO, cwd=workspace)
    )


def _run(plan: SandboxPlan) -> Finished:
    return asyncio.run(execute(Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup), LIMITS))


def _output(plan: SandboxPlan) -> str:
    done = _run(plan)
    return done.stdout.text() + done.stderr.text()


ENDS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "an exit code": (("sh", "-c", "exit 42"), 42, ""),
    "a signal": (("sh", "-c", "kill -TERM $$"), 143, ""),
    "the strongest signal": (("sh", "-c", "kill -KILL $$"), 137, ""),
    "both streams": (("sh", "-c", "echo out; echo err >&2"), 0, "out\nerr\n"),
    "a script without an interpreter": (("./script",), 7, "of a script\n"),
    "an orphan that outlives its parent": (("sh", "-c", "sleep 600 & echo gone"), 0, "gone\n"),
    "a signal to the first process": (("sh", "-c", "kill -KILL 1; echo alive"), 0, "alive\n"),
    "what is written is there": (("sh", "-c", "echo new > made; cat made; rm made"), 0, "new\n"),
}


@pytest.mark.parametrize(("argv", "code", "said"), ENDS.values(), ids=ENDS.keys())
def test_a_command_ends_as_it_would_outside(argv: tuple[str, ...], code: int, said: str, workspace: Path) -> None:
    done = _run(_plan(workspace, *argv))
    assert (done.exit_code, done.stdout.text() + done.stderr.text(), done.survivors) == (code, said, ())


def test_an_ordinary_user_runs_commands_too(unprivileged: Unprivileged) -> None:
    workspace = unprivileged.path / "workspace"

    def run() -> str:
        workspace.mkdir()
        return _output(_plan(workspace))

    assert unprivileged(run) == "ran\n"


def test_a_program_that_is_gone_by_then_is_named(workspace: Path) -> None:
    plan = _plan(workspace, "./script")
    (workspace / "script").unlink()
    done = _run(plan)
    assert (done.exit_code, done.stderr.text()) == (1, "bwrap: execvp ./script: No such file or directory\n")


@pytest.mark.parametrize(
    "name", ["re\rturn", "tab\t", "line\n", "back\\040slash", "\x0b\x0c\x1c", "\N{LINE SEPARATOR}"]
)
def test_a_name_that_looks_like_the_end_of_a_line_is_protected(name: str, workspace: Path) -> None:
    (workspace / name / ".git/hooks").mkdir(parents=True)
    assert _output(_plan(workspace, "/bin/touch", f"{name}/.git/hooks/new")).endswith("Read-only file system\n")


def test_arguments_that_are_too_long_are_refused(workspace: Path) -> None:
    plan = _plan(workspace, "/bin/echo", "x" * (32 * os.sysconf("SC_PAGE_SIZE")))
    with pytest.raises(ValidationFailed, match="longer than the system accepts"):
        _run(plan)


def test_a_command_may_have_little_memory(workspace: Path) -> None:
    assert _output(_plan(workspace, memory_bytes=8 * MEBIBYTE)) == "ran\n"


def test_without_a_path_no_program_of_the_workspace_is_taken_for_that_of_the_system(workspace: Path) -> None:
    (workspace / "echo").write_text("#!/bin/sh\nprintf 'of the workspace\n'\n")
    (workspace / "echo").chmod(0o755)
    assert _output(_plan(workspace, "echo", "of the system")) == "of the system\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can mount something")
@pytest.mark.parametrize("options", ["ro", "noexec", "nosuid,nodev", "noatime"])
def test_what_is_forbidden_in_a_mount_of_the_workspace_stays_so(options: str, workspace: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(workspace / "sub")], check=True)
    try:
        said = _output(_plan(workspace, "/bin/sh", "-c", f"grep ' {workspace}/sub ' /proc/self/mountinfo"))
    finally:
        subprocess.run(["umount", str(workspace / "sub")], check=True)
    assert {*options.split(","), "nosuid", "nodev"} <= set(said.split()[5].split(","))


def test_a_directory_that_became_a_link_meanwhile_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / ".vscode").mkdir(parents=True)
    (workspace / "sub/.vscode").mkdir()
    plan = _plan(workspace, "/bin/true")
    (workspace / "sub").rename(workspace / "aside")
    (workspace / "sub").symlink_to("../outside")
    with pytest.raises(SandboxError, match="changed while the sandbox was set up"):
        _run(plan)
    assert [path.name for path in outside.rglob("*")] == [".vscode"]


def test_a_command_ends_with_its_supervisor(workspace: Path) -> None:
    async def work() -> None:
        plan = _plan(workspace, "/bin/sh", "-c", "echo begun; exec sleep 600")
        begun = asyncio.Event()
        command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
        running = asyncio.ensure_future(execute(command, LIMITS, on_output=lambda _stream, _piece: begun.set()))
        await begun.wait()
        (sandbox,) = [
            one
            for one in process_tree.find_descendants(process_tree.list_processes(), os.getpid())
            if _runs(one.pid, "bwrap")
        ][:1]
        watched = os.pidfd_open(sandbox.pid)
        os.kill(sandbox.parent, signal.SIGKILL)
        assert select.select([watched], [], [], 30)[0]
        os.close(watched)
        await asyncio.wait([running])
        assert running.exception() is not None

    asyncio.run(work())


def _runs(pid: int, program: str) -> bool:
    return Path(f"/proc/{pid}/comm").read_text().strip() == program
