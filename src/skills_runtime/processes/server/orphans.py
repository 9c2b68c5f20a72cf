"""Ends what a server that died has left behind: processes that are certainly its own, and no others.

A process is ours when it carries the random marker of a session, or has the number and the start time that were noted
in this very boot; so are those it has started. Everything is signalled through a descriptor that names one process.
"""

import os
import select
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from signal import SIGKILL

import msgspec

from skills_runtime.processes.server.registry import Entries, Known, this_machine
from skills_runtime.sandbox.supervision import tree

PATIENCE_MS = 5000
"""How long killed processes may take to disappear."""

ROUNDS = 100
"""A process that forks faster than it is killed is given up at last."""


class Cleanup(msgspec.Struct, frozen=True, kw_only=True):
    """What was found and what became of it."""

    sessions: int = 0
    """Lines of the registry that a dead server has left."""
    ended: tuple[int, ...] = ()
    survivors: tuple[int, ...] = ()
    """Processes that this user may not signal, or that did not disappear."""


def orphans_of(entries: Entries, table: tree.Table, *, machine: str, cleaner: int = 0) -> list[tree.Process]:
    """The living processes of these sessions; whoever cleans up from within a session goes on, and those above it."""
    if entries.machine != machine:
        return []
    found: dict[int, tree.Process] = {}
    for entry in entries.exec_sessions.values():
        noted = [process for known in entry.processes if (process := _same(known, table)) is not None]
        for process in (*tree.marked(table, entry.assignment), *noted):
            below = tree.below(table, process.pid, without={cleaner})
            found |= {one.pid: one for one in (process, *below)}
    while cleaner in table:
        found.pop(cleaner, None)
        cleaner = table[cleaner].parent
    return list(found.values())


def end_orphans(entries: Entries) -> Cleanup:
    """Kill the processes of these sessions, and return when they are gone."""
    machine = this_machine()
    ended: set[Known] = set()
    survivors: set[Known] = set()
    for _ in range(ROUNDS):
        found = orphans_of(entries, tree.table(), machine=machine, cleaner=os.getpid())
        fresh = [one for one in found if Known(one.pid, one.started) not in ended | survivors]
        if not fresh:
            break
        gone = _kill(fresh)
        ended |= gone
        survivors |= {Known(one.pid, one.started) for one in fresh} - gone
    return Cleanup(
        sessions=len(entries.exec_sessions),
        ended=tuple(sorted(known.pid for known in ended)),
        survivors=tuple(sorted(known.pid for known in survivors)),
    )


def _same(known: Known, table: tree.Table) -> tree.Process | None:
    process = table.get(known.pid)
    return process if process is not None and process.started == known.started else None


def _kill(processes: Sequence[tree.Process]) -> set[Known]:
    """Kill these, and return those that are gone for certain."""
    gone: set[Known] = set()
    with ExitStack() as descriptors:
        watched: dict[int, Known] = {}
        for process in processes:
            known = Known(process.pid, process.started)
            try:
                descriptor = os.pidfd_open(process.pid)
            except ProcessLookupError:
                gone.add(known)
                continue
            descriptors.callback(os.close, descriptor)
            watched[descriptor] = known
        tree.send(processes, SIGKILL)
        return gone | _ended(watched)


def _ended(watched: dict[int, Known]) -> set[Known]:
    """Those of the processes that end within the time they have."""
    poll = select.poll()
    for descriptor in watched:
        poll.register(descriptor, select.POLLIN)
    left = dict(watched)
    while left:
        ready = poll.poll(PATIENCE_MS)
        if not ready:
            break
        for descriptor, _ in ready:
            with suppress(KeyError):
                poll.unregister(descriptor)
            left.pop(descriptor, None)
    return set(watched.values()) - set(left.values())
