"""A user who may have no more processes is told so at once."""

import asyncio
import resource
from pathlib import Path

from skills_runtime.errors import ToolError
from skills_runtime.processes import Command, Limits, execute
from skills_runtime.processes.launcher import dismiss
from tests.support.users import Unprivileged

LIMITS = Limits(wall_seconds=30.0, grace_seconds=0.2)


def _told_with(kind: int, most: int) -> str:
    dismiss()
    resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
    try:
        done = asyncio.run(asyncio.wait_for(execute(Command(("/bin/echo", "ran"), Path("/"), {}), LIMITS), 30))
    except ToolError as error:
        return str(error)
    return done.stdout.text()


def test_without_room_for_a_process_nothing_waits(unprivileged: Unprivileged) -> None:
    said = unprivileged(lambda: _told_with(resource.RLIMIT_NPROC, 0))
    assert said.startswith("no command can be started now: ")
