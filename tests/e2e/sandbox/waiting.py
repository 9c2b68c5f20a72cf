"""The first processes of fences below this one: those that wait for a command, and those of commands under way."""

import os
from pathlib import Path

from skills_runtime.processes.supervision import tree


def newborns() -> list[tree.Process]:
    """Processes below this one that have numbers of their own."""
    ours = space_of(os.getpid())
    return [one for one in tree.below(tree.table(), os.getpid()) if space_of(one.pid) not in (None, ours)]


def awaited_newborn() -> int:
    """The one that is ready for the next command, as soon as there is one."""
    while not (found := newborns()):
        os.sched_yield()
    return found[0].pid


def space_of(pid: int) -> str | None:
    """What tells the numbers of one fence from those of another; nothing when the process has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return None
