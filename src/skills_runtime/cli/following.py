"""The lines of a log, those that are there or all until the run ends."""

import asyncio
import signal
from collections.abc import Callable

from skills_runtime.runs import RunPaths, follow_lines, read_events

WriteLine = Callable[[bytes, int], None]
"""Takes a line without its newline, and its number from 0 on."""


def copy_lines(paths: RunPaths, start: int, write: WriteLine) -> None:
    """Every complete line from number `start` on."""
    _refuse_unreadable(paths)
    with paths.events.open("rb") as file:
        for number, line in enumerate(file):
            if number >= start and line.endswith(b"\n"):
                write(line[:-1], number)


def follow_log(paths: RunPaths, start: int, write: WriteLine) -> None:
    """The same, and then every line that comes, until the run ends."""
    _refuse_unreadable(paths)
    # Whoever only looks may be stopped anywhere: Ctrl-C ends the process at once instead of waiting for the watcher.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(_follow(paths, start, write))
    finally:
        signal.signal(signal.SIGINT, before)


async def _follow(paths: RunPaths, start: int, write: WriteLine) -> None:
    number = start
    async for line in follow_lines(paths, from_seq=start):
        write(line, number)
        number += 1


def _refuse_unreadable(paths: RunPaths) -> None:
    """A log of a newer version, or no log at all, is refused before a line of it is shown."""
    next(read_events(paths), None)
