"""What was surveyed can be exchanged while the fence is put up: then no command begins, and nothing is left behind."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from tests.e2e.sandbox.arena import ORIGINAL, Arena, new_arena, state_beside
from tests.support.users import Unprivileged

Swap = Callable[[Arena], None]


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


def _plan(arena: Arena, *argv: str) -> SandboxPlan:
    fence = OsSandbox(
        build_policy("workspace-write", arena.workspace, CAREFUL),
        find_adapters("bubblewrap"),
        {},
        state=state_beside(arena.workspace),
    )
    request = ProcessRequest(argv=argv, cwd=arena.workspace, environment={}, readable=(arena.outside,))
    return fence.plan(request)


def _too_late(plan: SandboxPlan) -> SandboxPlan:
    """The plan for a start in which everything is exchanged only after the last look at what will be covered."""
    mounts = tuple((point, source, "") for point, source, _ in plan.setup.mounts)
    return msgspec.structs.replace(plan, setup=msgspec.structs.replace(plan.setup, mounts=mounts))


def _run(plan: SandboxPlan) -> Finished:
    command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
    return asyncio.run(execute(command, Limits(wall_seconds=20.0, grace_seconds=0.2)))


def _prepare(arena: Arena) -> None:
    for place in (arena.workspace / "swapped", arena.outside):
        (place / ".vscode").mkdir(parents=True)
        (place / ".env").write_text("KEY=1")


def _relative(arena: Arena) -> None:
    (arena.workspace / "swapped").rename(arena.workspace / "aside")
    (arena.workspace / "swapped").symlink_to("../outside")


def _old_root(arena: Arena) -> None:
    (arena.workspace / "swapped").rename(arena.workspace / "aside")
    (arena.workspace / "swapped").symlink_to(f"/oldroot{arena.outside}")


def _protected(arena: Arena) -> None:
    (arena.workspace / "swapped/.vscode").rename(arena.workspace / "aside")
    (arena.workspace / "swapped/.vscode").symlink_to("../../outside")


def _secret(arena: Arena) -> None:
    (arena.workspace / "swapped/.env").unlink()
    (arena.workspace / "swapped/.env").symlink_to("../../outside/file.txt")


def _workspace(arena: Arena) -> None:
    arena.workspace.rename(arena.base / "aside")
    arena.workspace.symlink_to(arena.outside)


SWAPS = (_relative, _old_root, _protected, _secret, _workspace)


def _refused(arena: Arena, swap: Swap, look: Callable[[SandboxPlan], SandboxPlan]) -> str:
    """How the start is refused when something was exchanged, and what it left outside."""
    _prepare(arena)
    plan = look(_plan(arena, "/bin/sh", "-c", "echo changed > ../outside/file.txt; echo ran"))
    swap(arena)
    before = sorted(arena.outside.iterdir())
    said = _failure(plan)
    assert sorted(arena.outside.iterdir()) == before
    assert (arena.outside / "file.txt").read_text() == ORIGINAL
    return said


def _failure(plan: SandboxPlan) -> str:
    """Why no command began: in our words, or in those of the fence where it fell by itself."""
    try:
        finished = _run(plan)
    except SandboxError as refusal:
        return str(refusal)
    assert "ran" not in finished.stdout.text()
    return finished.stderr.text()


def _as_it_is(plan: SandboxPlan) -> SandboxPlan:
    return plan


@pytest.mark.parametrize("look", [_as_it_is, _too_late])
@pytest.mark.parametrize("swap", SWAPS)
def test_no_command_begins_when_something_was_exchanged(
    swap: Swap, look: Callable[[SandboxPlan], SandboxPlan], arena: Arena
) -> None:
    said = _refused(arena, swap, look)
    assert re.search("changed while the sandbox was set up|cannot be kept free|^bwrap: ", said), said


def test_no_command_of_an_ordinary_user_begins_either(unprivileged: Unprivileged) -> None:
    def run() -> list[str]:
        return [_refused(new_arena(unprivileged.path), swap, _too_late) for swap in (_relative, _protected, _secret)]

    assert len(unprivileged(run)) == 3


def test_a_workspace_with_odd_names_is_as_planned(tmp_path: Path) -> None:
    odd = tmp_path / "a b\\c\td\ne"
    odd.mkdir()
    arena = new_arena(odd)
    _prepare(arena)
    assert _run(_plan(arena, "/bin/echo", "ran")).stdout.text() == "ran\n"


def test_what_is_readable_may_be_named_by_a_link(arena: Arena) -> None:
    link = arena.base / "link"
    link.symlink_to(arena.outside)
    fence = OsSandbox(
        build_policy("workspace-write", arena.workspace, CAREFUL),
        find_adapters("bubblewrap"),
        {},
        state=state_beside(arena.workspace),
    )
    request = ProcessRequest(
        argv=("/bin/cat", str(link / "file.txt")), cwd=arena.workspace, environment={}, readable=(link,)
    )
    assert _run(fence.plan(request)).stdout.text() == ORIGINAL
