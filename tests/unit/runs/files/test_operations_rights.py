"""What the system refuses an ordinary user is an error of ours, recorded, and leaves nothing behind."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from skills_runtime.errors import AccessRefused
from skills_runtime.events.payloads import FileOperation
from skills_runtime.runs.files.operations import RunFiles
from skills_runtime.runs.files.paths import HardLinkRule, isolated_policy
from skills_runtime.storage.beneath import Opener
from tests.support.users import NOBODY, Unprivileged

Attempt = Callable[[Callable[[RunFiles], object]], list[FileOperation]]


@pytest.fixture
def workspace(unprivileged: Unprivileged) -> Path:
    """A workspace that the ordinary user owns."""
    for name in ("workspace", "deliverables", "logs"):
        path = unprivileged.path / name
        path.mkdir()
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    return unprivileged.path / "workspace"


@pytest.fixture
def refused(unprivileged: Unprivileged, opener: Opener, workspace: Path) -> Attempt:
    """Tries something without rights, which must be refused; returns what was recorded."""
    assert workspace.is_dir()

    def attempt(action: Callable[[RunFiles], object]) -> list[FileOperation]:
        def child() -> list[tuple[str, bool, str | None]]:
            records: list[FileOperation] = []
            policy = replace(isolated_policy(unprivileged.path), delete="allow")
            with pytest.raises(AccessRefused) as error:
                action(RunFiles(policy, records.append, opener=opener))
            assert error.value.hint
            return [(record.op, record.ok, record.error) for record in records]

        return [FileOperation(op=op, path="", ok=ok, error=error) for op, ok, error in unprivileged(child)]

    return attempt


def permission(op: str) -> list[FileOperation]:
    return [FileOperation(op=op, path="", ok=False, error="permission")]


def test_an_unreadable_file_is_refused(refused: Attempt, workspace: Path) -> None:
    (workspace / "x").write_text("secret")
    (workspace / "x").chmod(0o000)
    assert refused(lambda files: files.read("workspace/x", limit=1)) == permission("read")


def test_a_directory_that_may_not_be_entered_is_refused(refused: Attempt, workspace: Path) -> None:
    (workspace / "closed").mkdir()
    (workspace / "closed" / "x").touch()
    (workspace / "closed").chmod(0o000)
    assert refused(lambda files: files.read("workspace/closed/x", limit=1)) == permission("read")
    assert refused(lambda files: files.list("workspace/closed")) == permission("list")
    (workspace / "closed").chmod(0o700)


def test_a_read_only_directory_is_not_written(refused: Attempt, workspace: Path) -> None:
    workspace.chmod(0o555)
    assert refused(lambda files: files.write("workspace/x", b"", create_dirs=True)) == permission("write")
    assert refused(lambda files: files.write("workspace/a/b/x", b"", create_dirs=True)) == permission("write")
    workspace.chmod(0o755)
    assert list(workspace.iterdir()) == []


def test_a_read_only_file_is_not_replaced_although_its_directory_may_be_written(
    refused: Attempt, workspace: Path
) -> None:
    (workspace / "x").write_text("keep")
    (workspace / "x").chmod(0o444)
    assert refused(lambda files: files.write("workspace/x", b"new", create_dirs=False)) == permission("write")
    assert (workspace / "x").read_text() == "keep"
    assert [path.name for path in workspace.iterdir()] == ["x"]


def test_a_file_in_a_read_only_directory_is_not_deleted_and_leaves_no_trash(
    refused: Attempt, workspace: Path, unprivileged: Unprivileged
) -> None:
    (workspace / "x").write_text("keep")
    workspace.chmod(0o555)
    assert refused(lambda files: files.delete("workspace/x")) == permission("delete")
    workspace.chmod(0o755)
    assert (workspace / "x").read_text() == "keep"
    assert list((unprivileged.path / "logs" / "trash").iterdir()) == []


def test_an_unreadable_file_is_deleted_without_a_digest(
    unprivileged: Unprivileged, opener: Opener, workspace: Path
) -> None:
    (workspace / "x").write_text("secret")
    (workspace / "x").chmod(0o000)

    def child() -> list[tuple[bool, int | None, str | None]]:
        records: list[FileOperation] = []
        policy = replace(isolated_policy(unprivileged.path), delete="allow")
        RunFiles(policy, records.append, opener=opener).delete("workspace/x")
        return [(record.ok, record.size, record.before_sha256) for record in records]

    if os.geteuid() == 0:
        os.chown(workspace / "x", NOBODY, NOBODY)
    assert unprivileged(child) == [(True, 6, None)]
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize(("hard_links", "expected"), [("allow", "inside"), ("refuse", "permission")])
def test_a_file_in_a_directory_that_may_not_be_listed_is_read_only_where_links_do_not_matter(
    hard_links: HardLinkRule, expected: str, unprivileged: Unprivileged, opener: Opener, workspace: Path
) -> None:
    (workspace / "d").mkdir()
    (workspace / "d" / "x").write_text("inside")
    (workspace / "d" / "x").chmod(0o644)
    (workspace / "d").chmod(0o111)

    def child() -> str:
        policy = replace(isolated_policy(unprivileged.path), hard_links=hard_links)
        try:
            return RunFiles(policy, lambda _: None, opener=opener).read("workspace/d/x", limit=100).decode()
        except AccessRefused as error:
            return error.kind

    assert unprivileged(child) == expected
    (workspace / "d").chmod(0o700)


def test_the_owner_of_a_replaced_file_is_kept(unprivileged: Unprivileged, opener: Opener, workspace: Path) -> None:
    (workspace / "x").touch()
    if os.geteuid() == 0:
        os.chown(workspace / "x", NOBODY, NOBODY)
    owner = (workspace / "x").stat().st_uid
    files = RunFiles(isolated_policy(unprivileged.path), lambda _: None, opener=opener)
    files.write("workspace/x", b"new", create_dirs=False)
    assert (workspace / "x").stat().st_uid == owner
