"""What a command can do to the next look at its workspace: close directories, make too many, put links in the way."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.errors import SandboxError, ToolError
from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from tests.e2e.sandbox.arena import SECRET, Arena, new_arena, state_beside
from tests.support.users import Unprivileged

MANY = "for a in range(72):\n  for b in range(70): os.makedirs(f'zz/{a}/{b}')"
HOOK = "write('nested/.git/hooks/pre-commit')"
KERNEL_FILES = ("kpageflags", "kpagecount", "slabinfo", "vmallocinfo", "timer_list", "pagetypeinfo")


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


def test_a_secret_in_a_directory_that_was_closed_stays_hidden(unprivileged: Unprivileged) -> None:
    def run() -> str:
        arena = new_arena(unprivileged.path)
        arena.run("os.chmod('src', 0)")
        return arena.run("os.chmod('src', 0o755); print(read('src/.env.production'))").stdout

    assert SECRET not in unprivileged(run)


def test_hooks_in_a_directory_that_was_closed_stay_as_they_are(unprivileged: Unprivileged) -> None:
    def run() -> bool:
        arena = new_arena(unprivileged.path)
        (arena.workspace / "nested").chmod(0)  # as a command can, which then is told as unknown
        arena.run("os.chmod('nested', 0o755)\n" + HOOK)
        (arena.workspace / "nested").chmod(0o755)
        return (arena.workspace / "nested/.git/hooks/pre-commit").exists()

    assert not unprivileged(run)


def test_a_command_that_closes_a_directory_ends_like_any_other(unprivileged: Unprivileged) -> None:
    def run() -> str:
        arena = new_arena(unprivileged.path)
        try:
            arena.run("os.chmod('nested', 0)")
        except ToolError as error:
            return str(error)
        return ""

    assert unprivileged(run) == ""


@pytest.mark.slow
def test_a_secret_is_hidden_however_many_directories_there_are(arena: Arena) -> None:
    (arena.workspace / "code/app").mkdir(parents=True)
    (arena.workspace / "code/app/.env").write_text(SECRET)
    arena.run(MANY)
    assert SECRET not in arena.run("print(read('code/app/.env'))").stdout


@pytest.mark.slow
def test_hooks_are_kept_however_many_directories_there_are(arena: Arena) -> None:
    hooks = arena.workspace / "code/inner/.git/hooks"
    hooks.mkdir(parents=True)
    arena.run(MANY)
    arena.run("write('code/inner/.git/hooks/pre-commit')")
    assert not (hooks / "pre-commit").exists()


def test_a_directory_that_became_a_link_to_the_old_root_has_nothing_made_outside(arena: Arena) -> None:
    swapped = arena.workspace / "swapped"
    swapped.mkdir()
    (swapped / ".env").touch()
    fence = OsSandbox(
        build_policy("workspace-write", arena.workspace, CAREFUL),
        find_adapters("bubblewrap"),
        {},
        state=state_beside(arena.workspace),
    )
    plan = fence.plan(ProcessRequest(argv=("/bin/true",), cwd=arena.workspace, environment={}))
    # A command that runs in the same workspace at the same time can do this at any moment.
    swapped.rename(arena.workspace / "aside")
    swapped.symlink_to(f"/oldroot{arena.outside}")
    command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
    with pytest.raises(SandboxError):
        asyncio.run(execute(command, Limits(wall_seconds=20.0, grace_seconds=0.2)))
    assert not (arena.outside / ".env").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel does not show it to others")
@pytest.mark.parametrize("name", KERNEL_FILES)
def test_what_the_kernel_shows_to_administrators_is_hidden(name: str, arena: Arena) -> None:
    if not Path("/proc", name).exists():
        pytest.fail(f"this kernel has no /proc/{name}")
    outcome = arena.run(f"if open('/proc/{name}', 'rb').read(8): reached()")
    assert not outcome.reached


def test_the_keys_of_a_user_are_not_listed(unprivileged: Unprivileged) -> None:
    def run() -> bool:
        return new_arena(unprivileged.path).run("if open('/proc/keys', 'rb').read(8): reached()").reached

    assert not unprivileged(run)
