"""A grant opens one thing to a command, and never what programs outside obey or where secrets lie."""

import asyncio
from pathlib import Path

import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import Grant, LimitName, ProcessRequest, RaisedLimit
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from skills_runtime.sandbox.policy import Profile

OBEYED = (
    ".bashrc", ".gitconfig", ".profile", ".zshenv", "other/.git", "other/.git/hooks", "other/.git/config",
    "other/.vscode", "other/.claude/settings.json", ".config/autostart", ".config/systemd/user",
)  # fmt: skip
ROUNDABOUT = ("other/../.ssh", "other/", "./other", "other//file", "other/.")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    real = tmp_path.resolve()
    for directory in ("workspace/.git/hooks", "home/other/.git/hooks", "home/.ssh"):
        (real / directory).mkdir(parents=True)
    return real


def _fence(place: Path, profile: Profile = "workspace-write") -> OsSandbox:
    policy = build_policy(profile, place / "workspace", CAREFUL)
    return OsSandbox(policy, find_adapters("bubblewrap"), {"HOME": str(place / "home")})


def _refused(fence: OsSandbox, grant: Grant) -> bool:
    try:
        fence.with_grant(grant)
    except SandboxError:
        return True
    return False


@pytest.mark.parametrize("name", OBEYED)
def test_no_grant_opens_to_writing_what_programs_obey(name: str, place: Path) -> None:
    assert _refused(_fence(place), Grant(writable=(str(place / "home" / name),)))


@pytest.mark.parametrize("name", [".git", ".git/hooks", ".vscode", ".bashrc"])
def test_no_grant_opens_what_is_protected_in_a_workspace_that_can_only_be_read(name: str, place: Path) -> None:
    assert _refused(_fence(place, "read-only"), Grant(writable=(str(place / "workspace" / name),)))


def test_hooks_cannot_be_written_by_a_grant_for_their_directory(place: Path) -> None:
    hooks = place / "workspace/.git/hooks"
    request = ProcessRequest(
        argv=("/bin/sh", "-c", "echo changed > .git/hooks/pre-commit"),
        cwd=place / "workspace",
        environment={},
        grant=Grant(writable=(str(hooks),)),
    )
    try:
        plan = _fence(place, "read-only").plan(request)
    except SandboxError:
        return
    command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
    asyncio.run(execute(command, Limits(wall_seconds=20.0, grace_seconds=0.2)))
    assert not (hooks / "pre-commit").exists()


@pytest.mark.parametrize("name", [".local/share", ".cargo"])
def test_no_grant_opens_a_directory_that_holds_secrets(name: str, place: Path) -> None:
    for secret in (".local/share/keyrings/login", ".cargo/credentials.toml"):
        (place / "home" / secret).parent.mkdir(parents=True, exist_ok=True)
        (place / "home" / secret).write_text("x")
    assert _refused(_fence(place), Grant(readable=(str(place / "home" / name),)))


@pytest.mark.parametrize("name", ["file_bytes", "memory_bytes", "open_files"])
def test_no_grant_raises_a_limit_beyond_what_a_kernel_takes(name: LimitName, place: Path) -> None:
    assert _refused(_fence(place), Grant(limits=(RaisedLimit(name, 1 << 70),)))


def test_a_path_that_is_too_long_is_refused_in_words(place: Path) -> None:
    request = ProcessRequest(
        argv=("/bin/true",), cwd=place / "workspace", environment={}, grant=Grant(writable=("/" + "a/" * 3000 + "b",))
    )
    told = None
    try:
        _fence(place).plan(request)
    except (SandboxError, OSError) as error:
        told = error
    assert isinstance(told, SandboxError)


@pytest.mark.parametrize("way", ROUNDABOUT)
def test_no_grant_is_taken_by_a_roundabout_path(way: str, place: Path) -> None:
    assert _refused(_fence(place), Grant(readable=(f"{place}/home/{way}",)))


@pytest.mark.parametrize("path", ["/proc/self/root", "/proc/self/cwd", "/dev/fd/3", "/sys/fs/cgroup", "/run/user/1000"])
def test_no_grant_opens_what_belongs_to_the_kernel(path: str, place: Path) -> None:
    assert _refused(_fence(place), Grant(readable=(path,)))


def test_no_grant_opens_what_lies_above_the_workspace(place: Path) -> None:
    assert all(_refused(_fence(place), Grant(readable=(str(above),))) for above in (place, *place.parents))
