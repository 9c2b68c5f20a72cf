"""The number of mounts over a workspace is bounded, and what is beyond the bound is closed, not left open."""

import os
from pathlib import Path

from skills_runtime.sandbox import protective_mounts as protection
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.protected_paths import scan
from skills_runtime.sandbox.protective_mounts import MAX_MOUNTS, plan_protection, protection_gaps


def _repositories(above: Path, count: int, *, secret: bool = False) -> list[Path]:
    made = [above / f"r{number:03}" for number in range(count)]
    for number, path in enumerate(made):
        (path / ".git/hooks").mkdir(parents=True)
        os.utime(path / ".git", (number, number))
        if secret:
            (path / ".env").touch()
    return made


def _policy(workspace: Path, **values: object) -> SandboxPolicy:
    return SandboxPolicy(profile="workspace-write", workspace=workspace, **values)  # pyright: ignore[reportArgumentType]


def _mounts(found: protection.Protection) -> int:
    return sum(map(len, (found.closed, found.pinned, found.read_only, found.hidden_files)))


def test_few_repositories_are_protected_one_by_one(tmp_path: Path) -> None:
    made = _repositories(tmp_path / "vendor", 20)
    policy, findings = _policy(tmp_path), scan(tmp_path)
    found = plan_protection(policy, findings)
    assert found.closed == found.concealed == ()
    assert set(made) < set(found.pinned)
    assert protection_gaps(policy, findings) == ()


def test_many_repositories_take_a_bounded_number_of_mounts(tmp_path: Path) -> None:
    made = _repositories(tmp_path / "vendor", 600)
    policy, findings = _policy(tmp_path), scan(tmp_path)
    found = plan_protection(policy, findings)
    assert _mounts(found) <= MAX_MOUNTS + 50
    assert found.closed == (tmp_path / "vendor",)
    # Those used last stay writable, with their control files protected.
    assert made[-1] in found.pinned
    assert made[-1] / ".git/hooks" in found.read_only
    assert made[0] not in found.pinned
    (gap,) = protection_gaps(policy, findings)
    assert f"`{tmp_path}/vendor` is read-only" in str(gap)


def test_repositories_at_the_top_close_the_workspace_itself(tmp_path: Path) -> None:
    made = _repositories(tmp_path, 600)
    found = plan_protection(_policy(tmp_path), scan(tmp_path))
    assert found.closed == (tmp_path,)
    assert made[-1] in found.pinned


def test_a_few_too_many_are_closed_alone(tmp_path: Path) -> None:
    made = _repositories(tmp_path / "vendor", 110)
    found = plan_protection(_policy(tmp_path), scan(tmp_path))
    assert 0 < len(found.closed) <= 50
    assert set(found.closed) < set(made)


def test_what_holds_something_closed_is_not_opened_again(tmp_path: Path) -> None:
    outer = _repositories(tmp_path, 1)[0]
    os.utime(outer / ".git", (10_000, 10_000))
    _repositories(outer / "inner", 600)
    found = plan_protection(_policy(tmp_path), scan(tmp_path))
    assert found.closed == (outer / "inner",)
    assert outer in found.pinned


def test_secrets_beyond_the_bound_are_hidden_with_their_directory(tmp_path: Path) -> None:
    made = _repositories(tmp_path / "vendor", 600, secret=True)
    policy, findings = _policy(tmp_path), scan(tmp_path)
    found = plan_protection(policy, findings)
    assert _mounts(found) <= MAX_MOUNTS + 50
    hidden = {path.parent for path in found.hidden_files}
    assert hidden | set(found.concealed) == set(made)
    assert made[-1] in hidden
    assert made[0] in found.concealed
    assert [gap.promise for gap in protection_gaps(policy, findings)] == ["protected_paths", "secrets"]


def test_where_nothing_is_written_only_secrets_matter(tmp_path: Path) -> None:
    _repositories(tmp_path / "vendor", 600)
    found = plan_protection(_policy(tmp_path, access="read"), scan(tmp_path))
    assert found == protection.Protection()
