"""The process behind the workspace runtime server: its fence and its child agents are those of the settings."""

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
"""How long somebody who only looks may hold the lock."""


class SettingsSandbox:
    """The fence that the settings ask for at the moment of each command, however long the server has been there."""

    def __init__(self, workspace_root: Path) -> None:
        self._root = workspace_root

    def plan(self, request: "ProcessRequest") -> "SandboxPlan":
        """The command behind the fence of now."""
        from skills_runtime.agent import LazySandbox
        from skills_runtime.config import resolve

        sandbox = LazySandbox(resolve(self._root), self._root)
        return sandbox.plan(request)


def main(arguments: Sequence[str]) -> NoReturn:
    """Serve the workspace named by the arguments until nobody needs it, then leave the process."""
    try:
        workspace_root, idle_seconds = Path(arguments[0]), float(arguments[1])
        with RuntimeDirectory.open(workspace_root, create=True) as runtime_place:
            lock = _acquire_lock(runtime_place)
            try:
                asyncio.run(_serve(runtime_place, idle_seconds))
            finally:
                os.close(lock)
    except SkillsRuntimeError as error:
        sys.stderr.write(f"{error.kind}: {error.message}\n")
        report_ready(error)
        sys.exit(error.exit_code)
    sys.exit(0)


async def _serve(runtime_place: RuntimeDirectory, idle_seconds: float) -> None:
    from skills_runtime.engine.served_children import RunChildren

    server = RuntimeServer(
        runtime_place,
        SettingsSandbox(runtime_place.workspace_root),
        RunChildren(runtime_place.workspace_root),
        idle_seconds=idle_seconds,
    )
    await server.run(report_ready)


def _acquire_lock(runtime_place: RuntimeDirectory) -> int:
    """The lock that only one server has."""
    deadline = time.monotonic() + LOCK_SECONDS
    while (lock := runtime_place.lock()) is None:
        if time.monotonic() > deadline:
            raise ValidationFailed(
                f"another server serves `{runtime_place.workspace_root}`", hint="use that one: `RuntimeClient` finds it"
            )
        time.sleep(0.02)
    return lock
