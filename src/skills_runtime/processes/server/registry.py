"""Registry of the server's processes on disk: lets the next server recognize and end those of a dead one."""

import os
import select
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from signal import SIGKILL

import msgspec

from skills_runtime.processes.server.directory import REGISTRY, RuntimeDirectory
from skills_runtime.sandbox.supervision import process_tree

MARKER = "SKILLS_RUNTIME_SDK_RUNTIME_EXEC_SESSION_MARKER"
"""Environment variable that marks the processes of a session; its value is random but not secret."""


class ProcessIdentity(msgspec.Struct, frozen=True):
    """Identity of a process: its pid may be reused, but not together with its start time."""

    pid: int
    started: int
    """In clock ticks since boot."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A session."""

    marker: str
    processes: tuple[ProcessIdentity, ...] = ()
    """Its first process, in case that drops the marker."""
    created_at_ms: int = 0

    @property
    def assignment(self) -> bytes:
        """The marker as it stands in the environment of its processes."""
        return f"{MARKER}={self.marker}".encode()


class Entries(msgspec.Struct, frozen=True, kw_only=True):
    """The whole registry."""

    machine: str
    """The boot and the pid namespace that the process ids belong to."""
    last_session_id: int = 0
    """Numbers are never reused, so that an old one cannot mean a new session."""
    exec_sessions: dict[int, Entry] = {}


def this_machine() -> str:
    """Return the id of this boot and of the pid namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"


def load(runtime_dir: RuntimeDirectory) -> Entries:
    """Load the registry of the last server; an unreadable one is empty."""
    data = runtime_dir.read(REGISTRY)
    if data is None:
        return Entries(machine=this_machine())
    try:
        return msgspec.json.decode(data, type=Entries)
    except (msgspec.DecodeError, RecursionError):
        return Entries(machine=this_machine())


class Registry:
    """The sessions of the running server; every change is on disk before the call returns."""

    def __init__(self, runtime_dir: RuntimeDirectory, *, last_session_id: int = 0) -> None:
        self._runtime_dir = runtime_dir
        self._machine = this_machine()
        self._last = last_session_id
        self._entries: dict[int, Entry] = {}
        self._save()

    @property
    def path(self) -> Path:
        """Path of the registry."""
        return self._runtime_dir.path / REGISTRY

    def __len__(self) -> int:
        return len(self._entries)

    def begin(self, *, created_at_ms: int) -> tuple[int, Entry]:
        """Record a session before it starts, so that no process is ever unrecorded."""
        self._last += 1
        entry = Entry(marker=os.urandom(16).hex(), created_at_ms=created_at_ms)
        self._entries[self._last] = entry
        self._save()
        return self._last, entry

    def record_process(self, number: int, pid: int) -> None:
        """Record the first process of a session, which may drop its marker at any time."""
        process = process_tree.find_process(pid)
        if process is not None:
            identity = ProcessIdentity(process.pid, process.started)
            self._entries[number] = msgspec.structs.replace(self._entries[number], processes=(identity,))
            self._save()

    def end(self, *numbers: int) -> None:
        """Remove sessions whose processes are gone."""
        removed = [number for number in numbers if number in self._entries]
        for number in removed:
            del self._entries[number]
        if removed:
            self._save()

    def _save(self) -> None:
        entries = Entries(machine=self._machine, last_session_id=self._last, exec_sessions=self._entries)
        self._runtime_dir.write(REGISTRY, msgspec.json.format(msgspec.json.encode(entries)) + b"\n")


EXIT_TIMEOUT_MS = 5000
"""How long killed processes may take to exit."""

# Limits the attempts against processes that fork faster than they are killed.
ROUNDS = 100


class Cleanup(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ending the processes of a dead server."""

    sessions: int = 0
    """Sessions in the registry of the dead server."""
    ended: tuple[int, ...] = ()
    survivors: tuple[int, ...] = ()
    """Processes that this user may not signal, or that did not exit."""


def find_orphans(
    entries: Entries, table: process_tree.Table, *, machine: str, cleaner: int = 0
) -> list[process_tree.Process]:
    """Return the live processes of these sessions, except `cleaner` and its ancestors."""
    if entries.machine != machine:
        return []
    orphans: dict[int, process_tree.Process] = {}
    for entry in entries.exec_sessions.values():
        recorded = [
            process
            for identity in entry.processes
            if (process := table.get(identity.pid)) is not None and process.started == identity.started
        ]
        for process in (*process_tree.find_marked(table, entry.assignment), *recorded):
            processes = process_tree.find_descendants(table, process.pid, without={cleaner})
            orphans |= {orphan.pid: orphan for orphan in (process, *processes)}
    while cleaner in table:
        orphans.pop(cleaner, None)
        cleaner = table[cleaner].parent
    return list(orphans.values())


def end_orphans(entries: Entries) -> Cleanup:
    """Kill the processes of these sessions, and wait until they are gone."""
    machine = this_machine()
    killed: set[ProcessIdentity] = set()
    survivors: set[ProcessIdentity] = set()
    for _ in range(ROUNDS):
        processes = find_orphans(entries, process_tree.list_processes(), machine=machine, cleaner=os.getpid())
        fresh = [
            process for process in processes if ProcessIdentity(process.pid, process.started) not in killed | survivors
        ]
        if not fresh:
            break
        confirmed = _kill(fresh)
        killed |= confirmed
        survivors |= {ProcessIdentity(process.pid, process.started) for process in fresh} - confirmed
    return Cleanup(
        sessions=len(entries.exec_sessions),
        ended=tuple(sorted(identity.pid for identity in killed)),
        survivors=tuple(sorted(survivor.pid for survivor in survivors)),
    )


def _kill(processes: Sequence[process_tree.Process]) -> set[ProcessIdentity]:
    """Kill processes, and return those that are certainly gone."""
    exited: set[ProcessIdentity] = set()
    with ExitStack() as descriptors:
        watched: dict[int, ProcessIdentity] = {}
        for process in processes:
            identity = ProcessIdentity(process.pid, process.started)
            try:
                descriptor = os.pidfd_open(process.pid)
            except ProcessLookupError:
                exited.add(identity)
                continue
            descriptors.callback(os.close, descriptor)
            watched[descriptor] = identity
        process_tree.send_signal(processes, SIGKILL)
        return exited | _wait_for_exit(watched)


def _wait_for_exit(watched: dict[int, ProcessIdentity]) -> set[ProcessIdentity]:
    """Return the processes that exit in time."""
    poll = select.poll()
    for descriptor in watched:
        poll.register(descriptor, select.POLLIN)
    remaining = dict(watched)
    while remaining:
        ready = poll.poll(EXIT_TIMEOUT_MS)
        if not ready:
            break
        for descriptor, _ in ready:
            with suppress(KeyError):
                poll.unregister(descriptor)
            remaining.pop(descriptor, None)
    return set(watched.values()) - set(remaining.values())
