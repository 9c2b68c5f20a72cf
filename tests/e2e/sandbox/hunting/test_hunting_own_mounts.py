"""A first process that waits for its fence knows the machine as it is then, and keeps nothing of it busy."""

import asyncio
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.processes.launcher import dismiss
from skills_runtime.sandbox import CAREFUL, Fence, adapters_named, policy_for
from tests.e2e.sandbox.waiting import awaited_newborn

LIMITS = Limits(wall_seconds=60.0, grace_seconds=0.2)
Mounting = Callable[..., None]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can mount something")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    dismiss()
    made = (tmp_path / "workspace").resolve()
    (made / "sub").mkdir(parents=True)
    (made / "sub/below").touch()
    return made


@pytest.fixture
def mounted() -> Iterator[Mounting]:
    """Mounts a file system in memory; what is still there in the end is unmounted."""
    with ExitStack() as resources:

        def mount(place: Path, options: str = "rw") -> None:
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True)
            resources.callback(subprocess.run, ["umount", str(place)], check=False, stderr=subprocess.DEVNULL)

        yield mount


def _plan(workspace: Path, *argv: str) -> SandboxPlan:
    fence = Fence(policy_for("workspace-write", workspace, CAREFUL), adapters_named("bubblewrap"), {})
    return fence.plan(ProcessRequest(argv=argv, cwd=workspace))


def _run(plan: SandboxPlan) -> Finished:
    return asyncio.run(execute(Command(plan.argv, plan.cwd, plan.environment, enclosure=plan.enclosure), LIMITS))


def _told(workspace: Path, *argv: str) -> tuple[str, str | None]:
    done = _run(_plan(workspace, *argv))
    return done.stdout.text() + done.stderr.text(), done.put_up_by


def _spare(workspace: Path) -> int:
    """The process that waits for the next command."""
    assert _told(workspace, "/bin/true") == ("", "supervisor")
    return awaited_newborn()


@needs_root
def test_what_is_mounted_in_the_workspace_meanwhile_is_seen(workspace: Path, mounted: Mounting) -> None:
    _spare(workspace)
    mounted(workspace / "sub")
    (workspace / "sub/above").touch()
    assert _told(workspace, "/bin/ls", "sub") == ("above\n", "supervisor")


@needs_root
def test_a_workspace_that_is_mounted_meanwhile_is_that(workspace: Path, mounted: Mounting) -> None:
    _spare(workspace)
    mounted(workspace)
    (workspace / "new").touch()
    assert _told(workspace, "/bin/ls", "new") == ("new\n", "supervisor")


@needs_root
def test_what_is_made_read_only_meanwhile_cannot_be_written(workspace: Path, mounted: Mounting) -> None:
    mounted(workspace / "sub")
    _spare(workspace)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(workspace / "sub")], check=True)
    said, put_up_by = _told(workspace, "/bin/touch", "sub/file")
    assert put_up_by == "supervisor"
    assert "Read-only file system" in said


@needs_root
def test_a_disk_can_be_taken_away_while_a_process_waits(workspace: Path, mounted: Mounting, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted(disk)
    watched = os.pidfd_open(_spare(workspace))
    subprocess.run(["umount", str(disk)], check=True)
    assert select.select([watched], [], [], 30)[0]
    os.close(watched)


@needs_root
@pytest.mark.parametrize("options", ["ro", "noexec", "nosuid,nodev", "noatime"])
def test_what_is_forbidden_in_a_mount_stays_so(options: str, workspace: Path, mounted: Mounting) -> None:
    mounted(workspace / "sub", options)
    said, _ = _told(workspace, "/bin/sh", "-c", f"grep ' {workspace}/sub ' /proc/self/mountinfo")
    assert {*options.split(","), "nosuid", "nodev"} <= set(said.split()[5].split(","))


def test_a_process_that_waits_holds_nothing_but_its_conversation_and_its_ground(workspace: Path) -> None:
    spare = _spare(workspace)
    wanted = ["/dev/null"] * 3 + [f"/proc/{spare}", "/sys", "socket"]
    deadline = time.monotonic() + 30
    while _held(spare) != wanted and time.monotonic() < deadline:  # it tries everything once before it waits
        os.sched_yield()
    assert _held(spare) == wanted
    assert str(Path(f"/proc/{spare}/cwd").readlink()) == "/"


def _held(pid: int) -> list[str]:
    found: list[str] = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed again
            found.append(str(path.readlink()).partition(":")[0])
    return sorted(found)


def test_a_link_in_the_workspace_is_not_left_to_the_program_which_would_follow_it(
    workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / "sub/.vscode").mkdir()
    plan = _plan(workspace, "/bin/true")
    mounts = tuple(
        (point, source, covered if covered == str(workspace) else "")  # as if nobody had looked at the others
        for point, source, covered in plan.enclosure.mounts
    )
    plan = msgspec.structs.replace(plan, enclosure=msgspec.structs.replace(plan.enclosure, mounts=mounts))
    (workspace / "sub").rename(workspace / "aside")
    (workspace / "sub").symlink_to("../outside")
    (outside / ".vscode").mkdir()
    with pytest.raises(SandboxError, match="changed while the sandbox was put up"):
        _run(plan)
    assert [path.name for path in outside.rglob("*")] == [".vscode"]
