"""The process of the workspace runtime server; its sandbox and child agents follow the settings."""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from skills_runtime.errors import SkillsRuntimeError, ValidationFailed
from skills_runtime.processes.server import RuntimeDirectory, RuntimeServer, report_ready

if TYPE_CHECKING:
    from skills_runtime.ports import ProcessRequest, SandboxPlan

LOCK_SECONDS = 2.0
"""How long to wait for a process that holds the lock briefly."""


class SettingsSandbox:
    """The sandbox of the current settings, resolved for each command, however long the server has been running."""

    def __init__(self, workspace_root: Path) -> None:
        self._root = workspace_root

    def plan(self, request: "ProcessRequest") -> "SandboxPlan":
        """Plan the command in the current sandbox."""
        from skills_runtime.agent import LazySandbox
        from skills_runtime.config import resolve

        sandbox = LazySandbox(resolve(self._root), self._root)
        return sandbox.plan(request)


def main(arguments: Sequence[str]) -> NoReturn:
    """Serve the workspace named by the arguments until it is idle, then exit the process."""
    try:
        workspace_root, idle_seconds = Path(arguments[0]), float(arguments[1])
        with RuntimeDirectory.open(workspace_root, create=True) as directory:
            lock = _acquire_lock(directory)
            try:
                asyncio.run(_serve(directory, idle_seconds))
            finally:
                os.close(lock)
    except SkillsRuntimeError as error:
        sys.stderr.write(f"{error.kind}: {error.message}\n")
        report_ready(error)
        sys.exit(error.exit_code)
    sys.exit(0)


async def _serve(directory: RuntimeDirectory, idle_seconds: float) -> None:
    from skills_runtime.engine.served_children import RunChildren

    server = RuntimeServer(
        directory,
        SettingsSandbox(directory.workspace_root),
        RunChildren(directory.workspace_root),
        idle_seconds=idle_seconds,
    )
    await server.run(report_ready)


def _acquire_lock(directory: RuntimeDirectory) -> int:
    """Acquire the lock that only one server holds."""
    deadline = time.monotonic() + LOCK_SECONDS
    while (lock := directory.lock()) is None:
        if time.monotonic() > deadline:
            raise ValidationFailed(
                f"another server serves `{directory.workspace_root}`", hint="use that one: `RuntimeClient` finds it"
            )
        time.sleep(0.02)
    return lock
