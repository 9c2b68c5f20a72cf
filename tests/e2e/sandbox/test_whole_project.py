"""A cloned project of real size: branch, edit, test and commit in the sandbox, with nothing of it seen outside."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.processes import Finished, execute
from tests.e2e.sandbox.commands import LIMITS, command, git, plan, said
from tests.support.users import Unprivileged

MODULES = 300
EDITED = "package/part_03/module_103.py"
FEW = ("Makefile", "README.md", "pyproject.toml", "docs/index.md", ".editorconfig", ".github/workflows/test.yml",
       ".gitattributes", "tests/__init__.py", ".env.example")  # fmt: skip


def _files() -> Iterator[tuple[str, str]]:
    yield from ((name, f"# {name}\n") for name in FEW)
    yield ".gitignore", "__pycache__/\n"
    yield "tests/data/ca.pem", "-----BEGIN CERTIFICATE-----\n"
    for number in range(MODULES):
        part = f"package/part_{number % 10:02}"
        yield f"{part}/__init__.py", ""
        yield f"{part}/module_{number:03}.py", f"def value() -> int:\n    return {number}\n"
        test = f"from package.part_{number % 10:02}.module_{number:03} import value\n"
        test += "import unittest\n\n\nclass Test(unittest.TestCase):\n    def test(self):\n"
        yield f"tests/test_module_{number:03}.py", f"{test}        self.assertEqual(value() % 1000, {number})\n"
    yield "package/__init__.py", ""


def _clone(place: Path) -> Path:
    """A clone of a project; its history, its remote and its ignored files are as a user has them."""
    origin, workspace = place / "origin", place / "project"
    for name, text in _files():
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        (origin / name).write_text(text)
    git(place, "init", "-q", "-b", "main", str(origin))
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "first")
    git(place, "clone", "-q", str(origin), str(workspace))
    return workspace


async def _step(workspace: Path, line: str, *edited: str) -> None:
    """Run one command; until it has ended, git shows outside no file but those that it edits."""
    running: asyncio.Task[Finished] = asyncio.create_task(execute(command(plan(workspace, line)), LIMITS))
    while not running.done():
        seen = await asyncio.to_thread(_status, workspace)
        assert {one[3:] for one in seen} <= set(edited), (line, seen)
    finished = await running
    assert (finished.exit_code, finished.quarantined) == (0, ()), said(finished)


def _status(workspace: Path) -> set[str]:
    # Without a lock of its own, which the command would meet.
    done = subprocess.run(
        ["git", "--no-optional-locks", "status", "--porcelain"],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    return set(done.stdout.splitlines())


def _work(workspace: Path) -> None:
    async def steps() -> None:
        await _step(workspace, "git status --porcelain > /tmp/s; test ! -s /tmp/s")
        await _step(workspace, "git switch -qc topic")
        # `sed -i` would write a temporary file of its own beside it.
        await _step(workspace, f"sed 's/return 103/return 1103/' {EDITED} > /tmp/new; cat /tmp/new > {EDITED}", EDITED)
        assert _status(workspace) == {f" M {EDITED}"}
        await _step(workspace, "python3 -m unittest discover -q -s tests -t .", EDITED)
        await _step(workspace, "git diff --stat | grep 1; git add -A", EDITED)
        await _step(workspace, "git commit -qm 'Return more'; git log --oneline | grep 'Return more'", EDITED)
        assert _status(workspace) == set()
        await _step(workspace, "git switch -q main; git merge -q topic; git branch -qd topic", EDITED)

    asyncio.run(steps())
    assert _status(workspace) == set()
    assert git(workspace, "show", "--stat", "--format=%s").split()[:3] == ["Return", "more", EDITED]
    assert "1 file changed, 1 insertion(+), 1 deletion(-)" in git(workspace, "show", "--stat")
    git(workspace, "fsck", "--strict")


def test_branch_edit_test_and_commit(tmp_path: Path) -> None:
    _work(_clone(tmp_path.resolve()))


@pytest.mark.slow
def test_the_same_as_an_ordinary_user(unprivileged: Unprivileged) -> None:
    unprivileged(lambda: _work(_clone(unprivileged.path)))
