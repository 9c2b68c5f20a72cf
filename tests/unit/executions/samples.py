"""Skills that run by themselves, and executors for them."""

import json
import os
from pathlib import Path
from typing import Any

from skills_runtime.config.models import SandboxSettings
from skills_runtime.executions import ExecutionLimits, Executor, PoolLimits, Supplies
from skills_runtime.ports import Sandbox
from skills_runtime.sandbox import build_sandbox
from skills_runtime.skills import FilesystemSource, Library, Origin, Skill

ENTRIES = {"python": "run.py", "shell": "run.sh", "node": "run.js"}
ECHO = "import json, sys\nprint(json.dumps({'got': json.load(sys.stdin)}))\n"


def fence(workspace: Path) -> Sandbox:
    """The fence of the default settings."""
    return build_sandbox(SandboxSettings(), workspace=workspace, variables=dict(os.environ))


def make_skill(
    root: Path, code: str, *, name: str = "tried", runtime: str = "python", warm: bool = True, **fields: Any
) -> Skill:
    """A skill of one file, found as every skill is."""
    directory = root.resolve() / "skills" / name
    directory.mkdir(parents=True, exist_ok=True)
    about = {"name": name, "description": "Tried.", "runtime": {"type": runtime, "warm": warm}, **fields}
    (directory / "skill.yaml").write_text(json.dumps(about), encoding="utf-8")
    (directory / ENTRIES[runtime]).write_text(code, encoding="utf-8")
    return find(root, name)


def find(root: Path, name: str = "tried") -> Skill:
    """A skill that was made, as it is now."""
    library = Library([FilesystemSource(Origin("given", "given", "given"), root.resolve() / "skills")])
    return next(skill for skill in library.list() if skill.name == name)


def an_executor(
    root: Path, *, limits: ExecutionLimits | None = None, supplies: Supplies | None = None, **pool: Any
) -> Executor:
    """An executor over the real fence."""
    return Executor(
        root / "executions", fence, limits=limits, pool=PoolLimits(**pool) if pool else None, supplies=supplies
    )
