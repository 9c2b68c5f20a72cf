"""Run a command as a subreaper: processes it starts stay below it, even when they detach.

Used as `python -m tests.e2e.service.subreaper COMMAND...`.
"""

import os
import sys
import time
from collections.abc import Iterable

from skills_runtime.sandbox.supervision import process_tree
from skills_runtime.sandbox.supervision.supervisor import adopt_orphans

ADOPTING = (sys.executable, "-m", "tests.e2e.service.subreaper")
PATIENCE_SECONDS = 60.0


def strays(root: int, *, without: Iterable[int]) -> list[process_tree.Process]:
    """The living processes below one that adopts, leaving out those that belong there with everything below them."""
    return [
        descendant
        for descendant in process_tree.find_descendants(process_tree.list_processes(), root, without=frozenset(without))
        if not _is_dead(descendant.pid)
    ]


def outlast(root: int, *, without: Iterable[int]) -> list[str]:
    """Wait until nothing strays below a process; what still does after a long time comes back, in words."""
    import select

    belonging, deadline = frozenset(without), time.monotonic() + PATIENCE_SECONDS
    while processes := strays(root, without=belonging):
        try:
            ending = os.pidfd_open(processes[0].pid)
        except ProcessLookupError:
            continue
        try:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([ending], [], [], left)[0]:
                return [_words(one.pid) for one in strays(root, without=belonging)]
        finally:
            os.close(ending)
    return []


def _is_dead(pid: int) -> bool:
    """Whether it has ended, though nobody has taken note."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in ("Z", "X")
    except OSError:
        return True


def _words(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid}: {file.read(200).decode(errors='replace')}"
    except OSError:
        return f"{pid}: gone"


if __name__ == "__main__":
    adopt_orphans()
    os.execv(sys.argv[1], sys.argv[1:])
