"""What the server has started, on disk: enough for the next one to recognise and end what a dead server left."""

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
"""The environment variable that the processes of a session carry; its value is random, and no secret."""


class ProcessIdentity(msgspec.Struct, frozen=True):
    """A process: its number alone could be another's by now, together with its start it cannot."""

    pid: int
    started: int
    """In ticks since the machine was started."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    marker: str
    processes: tuple[ProcessIdentity, ...] = ()
    """The first of them, in case it drops its marker."""
    created_at_ms: int = 0

    @property
    def assignment(self) -> bytes:
        """What the environment of its processes holds."""
        return f"{MARKER}={self.marker}".encode()


class Entries(msgspec.Struct, frozen=True, kw_only=True):
    """The whole registry."""

    machine: str
    """Which boot and which view of the process table the numbers belong to."""
    last_session_id: int = 0
    """Numbers are never used again, so that an old one cannot mean a new session."""
    exec_sessions: dict[int, Entry] = {}


def this_machine() -> str:
    """The boot of the machine, and the process table this process sees."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"


def load(runtime_dir: RuntimeDirectory) -> Entries:
    """What the last server left; nothing that makes no sense names a process."""
    data = runtime_dir.read(REGISTRY)
    if data is None:
        return Entries(machine=this_machine())
    try:
        return msgspec.json.decode(data, type=Entries)
    except (msgspec.DecodeError, RecursionError):
        return Entries(machine=this_machine())


class Registry:
    """The sessions of the server that runs now; every change is on disk before it returns."""

    def __init__(self, runtime_dir: RuntimeDirectory, *, last_session_id: int = 0) -> None:
        self._runtime_dir = runtime_dir
        self._machine = this_machine()
        self._last = last_session_id
        self._entries: dict[int, Entry] = {}
        self._save()

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return self._runtime_dir.path / REGISTRY

    def __len__(self) -> int:
        return len(self._entries)

    def begin(self, *, created_at_ms: int) -> tuple[int, Entry]:
        """Note a session before it starts, so that no process is ever without its line."""
        self._last += 1
        entry = Entry(marker=os.urandom(16).hex(), created_at_ms=created_at_ms)
        self._entries[self._last] = entry
        self._save()
        return self._last, entry

    def record_process(self, number: int, pid: int) -> None:
        """Remember the first process of a session, which may drop its marker at any time."""
        process = process_tree.find_process(pid)
        if process is not None:
            identity = ProcessIdentity(process.pid, process.started)
            self._entries[number] = msgspec.structs.replace(self._entries[number], processes=(identity,))
            self._save()

    def end(self, *numbers: int) -> None:
        """Forget sessions of which nothing is left."""
        removed = [number for number in numbers if number in self._entries]
        for number in removed:
            del self._entries[number]
        if removed:
            self._save()

    def _save(self) -> None:
        entries = Entries(machine=self._machine, last_session_id=self._last, exec_sessions=self._entries)
        self._runtime_dir.write(REGISTRY, msgspec.json.format(msgspec.json.encode(entries)) + b"\n")


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


def find_orphans(
    entries: Entries, table: process_tree.Table, *, machine: str, cleaner: int = 0
) -> list[process_tree.Process]:
    """The living processes of these sessions; whoever cleans up from within a session goes on, and those above it."""
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
    """Kill the processes of these sessions, and return when they are gone."""
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
    """Kill these, and return those that are gone for certain."""
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
    """Those of the processes that end within the time they have."""
    poll = select.poll()
    for descriptor in watched:
        poll.register(descriptor, select.POLLIN)
    remaining = dict(watched)
    while remaining:
        ready = poll.poll(PATIENCE_MS)
        if not ready:
            break
        for descriptor, _ in ready:
            with suppress(KeyError):
                poll.unregister(descriptor)
            remaining.pop(descriptor, None)
    return set(watched.values()) - set(remaining.values())
