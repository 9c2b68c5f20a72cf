"""Watch skills and report those that are added, changed or removed.

A change signaled by the operating system triggers a new scan, which reads only changed files if there is an index. A
scan is also repeated regularly, more often where the system cannot watch. Libraries returned earlier stay as they are.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.skills.library import Library
from skills_runtime.skills.problems import Problem
from skills_runtime.skills.skill import Skill


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """The changes since the last scan, and the library that has them."""

    library: Library
    added: tuple[Skill, ...] = ()
    changed: tuple[Skill, ...] = ()
    removed: tuple[Skill, ...] = ()
    problems: tuple[Problem, ...] = ()
    """New problems."""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.problems)


def compare_libraries(previous: Library, current: Library) -> Changes:
    """Compare two libraries; a skill is the same while its name and location are."""
    old, new = (
        {(skill.namespace, skill.name, skill.locator): skill for skill in library.list()}
        for library in (previous, current)
    )
    old_problems = {repr(problem) for problem in previous.problems()}
    return Changes(
        library=current,
        added=tuple(skill for key, skill in new.items() if key not in old),
        changed=tuple(skill for key, skill in new.items() if key in old and old[key] != skill),
        removed=tuple(skill for key, skill in old.items() if key not in new),
        problems=tuple(problem for problem in current.problems() if repr(problem) not in old_problems),
    )


SETTLE_MS = 20
"""How long nothing may change before a change is reported."""
WAIT_MS = 60
"""How long continuing changes are collected."""
HEARTBEAT_SECONDS = 1.0
"""How often to scan without a signal: a directory may have appeared where none was watched."""
POLL_SECONDS = 0.1
_MIN_IDLE_RATIO = 20
"""Pause between scans without a signal, as a multiple of the duration of a scan."""


async def watch_skills(
    open_library: Callable[[], Library],
    *,
    since: Library | None = None,
    stop: asyncio.Event | None = None,
    polling: bool = False,
) -> AsyncGenerator[Changes]:
    """Yield changes until `stop` is set, from now on or since the given library was scanned.

    `open_library` returns a new library that has not been scanned; it is called in another thread.
    """
    event = stop or asyncio.Event()
    previous, seconds = await asyncio.to_thread(_search, open_library if since is None else lambda: since)
    while not event.is_set():
        paths = previous.watched_directories()
        async with aclosing(_change_signals(paths, seconds, event, polling=polling)) as signals:
            async for _ in signals:
                current, seconds = await asyncio.to_thread(_search, open_library)
                changes = compare_libraries(previous, current)
                previous = current
                if changes:
                    yield changes
                if current.watched_directories() != paths:
                    break  # the set of directories changed: watch the new ones


def _search(open_library: Callable[[], Library]) -> tuple[Library, float]:
    start = time.monotonic()
    library = open_library()
    library.list()
    return library, time.monotonic() - start


async def _change_signals(
    paths: Sequence[Path], seconds: float, event: asyncio.Event, *, polling: bool
) -> AsyncGenerator[None]:
    """Yield once when the directories are being watched, for earlier changes, and once for each change."""
    watching = None if polling else _watch_directories(paths, seconds)
    stopped: asyncio.Future[Any] = asyncio.ensure_future(event.wait())
    change: asyncio.Future[Any] = stopped
    try:
        while not event.is_set():
            pause = asyncio.sleep(max(POLL_SECONDS, seconds * _MIN_IDLE_RATIO)) if watching is None else anext(watching)
            change = asyncio.ensure_future(pause)
            await asyncio.sleep(0)  # let the watcher start before the first scan
            yield
            await asyncio.wait({change, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if change.done() and change.exception() is not None:
                # Too many directories, or one was just removed: poll instead.
                watching = None
    finally:
        for waiting in (change, stopped):
            waiting.cancel()
        await asyncio.gather(change, stopped, return_exceptions=True)
        if watching is not None:
            await watching.aclose()


def _watch_directories(paths: Sequence[Path], seconds: float) -> "AsyncGenerator[Any] | None":
    """Watch each existing directory non-recursively: a link must not lead out of them."""
    try:
        from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]
    except ImportError:
        return None
    existing = [path for path in dict.fromkeys(paths) if path.is_dir()]
    if not existing:
        return None
    return awatch(
        *existing,
        watch_filter=None,
        debounce=WAIT_MS,
        step=SETTLE_MS,
        rust_timeout=int(1000 * max(HEARTBEAT_SECONDS, seconds * _MIN_IDLE_RATIO)),
        yield_on_timeout=True,
        recursive=False,
    )
