"""Every moment of an operation at which somebody could swap something, tried one after the other.

The system calls of `os` are counted, and just before the one whose turn it is the swap is made. Unlike the tests with
a second thread these always hit the narrow moments, between a look and the use of what was seen.
"""

import ctypes
import hashlib
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.payloads import FileOperation
from skills_runtime.runs.files.operations import RunFiles
from skills_runtime.runs.files.paths import HardLinkRule, isolated_policy
from skills_runtime.runs.files.scan import scan
from skills_runtime.runs.layout import SUBDIRECTORIES
from skills_runtime.storage.beneath import Opener

CALLS = (
    "open", "close", "stat", "fstat", "readlink", "rename", "mkdir", "rmdir", "unlink", "read", "readv", "write",
    "fsync", "scandir", "listdir",
)  # fmt: skip
MOST_CALLS = 400
OUTSIDE_DIGEST = hashlib.sha256(b"outside secret").hexdigest()

Attempt = Callable[[RunFiles], object]
ATTEMPTS: dict[str, Attempt] = {
    "read": lambda files: files.read("workspace/d/x", limit=100),
    "write": lambda files: files.write("workspace/d/x", b"written", create_dirs=False),
    "write below new directories": lambda files: files.write("workspace/d/new/deep/x", b"written", create_dirs=True),
    "read through a link": lambda files: files.read("workspace/d/up", limit=100),
    "delete": lambda files: files.delete("workspace/d/x"),
    "rename away": lambda files: files.rename("workspace/d/x", "workspace/y"),
    "rename to": lambda files: files.rename("workspace/z", "workspace/d/z"),
    "list": lambda files: [entry.name for entry in files.list("workspace/d").entries],
    "stat": lambda files: files.stat("workspace/d/x").size,
    "scan": lambda files: [file.size for file in scan(files.policy.base, ["workspace"]).files],
}


REAL = {name: getattr(os, name) for name in ("link", "unlink", "rename", "rmdir", "symlink")}
"""The calls that a swap makes, which are not counted."""


@dataclass(frozen=True)
class World:
    """A run directory, something outside, and what somebody does meanwhile."""

    run: Path
    outside: Path
    swap: Callable[[], None]
    hard_links: HardLinkRule

    def untouched(self) -> bool:
        names = {path.name: path.read_text() for path in self.outside.iterdir()}
        return names == {"x": "outside secret", "secret": "more"}


def make_world(directory: Path, kind: str) -> World:
    run, outside = directory / "run", directory / "outside"
    for name in SUBDIRECTORIES:
        (run / name).mkdir(parents=True)
    (run / "workspace" / "d").mkdir()
    (run / "workspace" / "d" / "x").write_text("inside")
    (run / "workspace" / "z").write_text("inside")
    outside.mkdir()
    (outside / "x").write_text("outside secret")
    (outside / "secret").write_text("more")
    # What guards against hard links would hide a mistake about the others.
    rule: HardLinkRule = "refuse" if kind == "hard link removed and made" else "allow"
    return World(run, outside, _swap(kind, run, outside), rule)


def _swap(kind: str, run: Path, outside: Path) -> Callable[[], None]:
    inner, other = run / "workspace" / "d" / "x", run / "archive" / "other"
    if kind == "hard link removed and made":
        inner.unlink()
        inner.hardlink_to(outside / "x")
        return lambda: REAL["unlink"](inner) if inner.exists() else REAL["link"](outside / "x", inner)
    if kind == "new directory for a link":
        return lambda: _replace_by_link(inner.with_name("new"), outside)
    if kind == "directory moved up":
        (run.parent / "run.json").write_text("outside secret")
        (run / "run.json").write_text("inside")
        (inner.parent / "up").symlink_to("../../run.json")
        return lambda: REAL["rename"](inner.parent, run / "d")
    if kind == "file for a pipe":
        os.mkfifo(other)
    elif kind == "directory for a link":
        inner = inner.parent
        other.symlink_to(outside)
    else:
        other.symlink_to(outside / "x")
    return lambda: _exchange(inner, other)


def _replace_by_link(directory: Path, outside: Path) -> None:
    with suppress(OSError):  # it is not made yet, or no longer empty
        REAL["rmdir"](directory)
        REAL["symlink"](outside, directory)


def _exchange(first: Path, second: Path) -> None:
    """Swap two names in one step, if both are still there."""
    ctypes.CDLL(None).renameat2(-100, os.fsencode(first), -100, os.fsencode(second), 2)


@contextmanager
def at_calls(turns: set[int], action: Callable[[], None]) -> Generator[list[str]]:
    """Make the swap before the calls whose turn it is; gives the names of all calls that were made."""
    calls: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, _counted(name, getattr(os, name), calls, turns, action))
        yield calls


def _counted(
    name: str, real: Callable[..., Any], made: list[str], turns: set[int], action: Callable[[], None]
) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        made.append(name)
        if len(made) in turns:
            action()
        return real(*arguments, **options)

    return call


def outcome(attempt: Attempt, world: World, opener: Opener, turns: set[int]) -> tuple[object, int]:
    """What came of the attempt, and how many calls it made."""
    records: list[FileOperation] = []
    policy = replace(isolated_policy(world.run), delete="allow", hard_links=world.hard_links)
    files = RunFiles(policy, records.append, opener=opener)
    with at_calls(turns, world.swap) as calls:
        try:
            result = attempt(files)
        except SkillsRuntimeError as error:
            result = error.kind
    assert OUTSIDE_DIGEST not in {digest for record in records for digest in (record.sha256, record.before_sha256)}
    return result, len(calls)


def check(directory: Path, kind: str, attempt: str, opener: Opener, turns: set[int]) -> int:
    world = make_world(directory, kind)
    try:
        result, count = outcome(ATTEMPTS[attempt], world, opener, turns)
        assert result != b"outside secret", turns
        assert "secret" not in (result if isinstance(result, list) else []), turns
        assert len("outside secret") not in (result if isinstance(result, list) else [result]), turns
        assert world.untouched(), turns
        return count
    finally:
        shutil.rmtree(directory)


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("kind", ["file for a link", "directory for a link", "file for a pipe"])
def test_a_swap_before_any_call_leads_nowhere_else(kind: str, attempt: str, opener: Opener, tmp_path: Path) -> None:
    for turn in range(1, MOST_CALLS):
        if turn > check(tmp_path / "w", kind, attempt, opener, {turn}):
            break
    else:
        raise AssertionError("the operation never ended")
    assert turn > 5


@pytest.mark.parametrize(
    ("kind", "attempt"),
    [("new directory for a link", "write below new directories"), ("directory moved up", "read through a link")],
)
def test_a_change_before_any_call_leads_nowhere_else(kind: str, attempt: str, opener: Opener, tmp_path: Path) -> None:
    test_a_swap_before_any_call_leads_nowhere_else(kind, attempt, opener, tmp_path)


@pytest.mark.parametrize("kind", ["file for a link", "directory for a link", "hard link removed and made"])
def test_a_swap_and_a_swap_back_before_any_two_calls_lead_nowhere_else(
    kind: str, opener: Opener, tmp_path: Path
) -> None:
    pairs = 0
    for first in range(1, check(tmp_path / "w", kind, "read", opener, set()) + 1):
        for second in range(first + 1, MOST_CALLS):
            if second > check(tmp_path / "w", kind, "read", opener, {first, second}):
                break
            pairs += 1
    assert pairs > 20
