"""What the server has started, on disk: enough for the next one to recognise every process of a server that died."""

import os
from pathlib import Path

import msgspec

from skills_runtime.processes.server.place import REGISTRY, Place
from skills_runtime.sandbox.supervision import tree

MARKER = "SKILLS_RUNTIME_SDK_RUNTIME_EXEC_SESSION_MARKER"
"""The environment variable that the processes of a session carry; its value is random, and no secret."""


class Known(msgspec.Struct, frozen=True):
    """A process: its number alone could be another's by now, together with its start it cannot."""

    pid: int
    started: int
    """In ticks since the machine was started."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    marker: str
    processes: tuple[Known, ...] = ()
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


def load(place: Place) -> Entries:
    """What the last server left; nothing that makes no sense names a process."""
    data = place.read(REGISTRY)
    if data is None:
        return Entries(machine=this_machine())
    try:
        return msgspec.json.decode(data, type=Entries)
    except (msgspec.DecodeError, RecursionError):
        return Entries(machine=this_machine())


class Registry:
    """The sessions of the server that runs now; every change is on disk before it returns."""

    def __init__(self, place: Place, *, last_session_id: int = 0) -> None:
        self._place = place
        self._machine = this_machine()
        self._last = last_session_id
        self._entries: dict[int, Entry] = {}
        self._save()

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return self._place.path / REGISTRY

    def __len__(self) -> int:
        return len(self._entries)

    def begin(self, *, created_at_ms: int) -> tuple[int, Entry]:
        """Note a session before it starts, so that no process is ever without its line."""
        self._last += 1
        entry = Entry(marker=os.urandom(16).hex(), created_at_ms=created_at_ms)
        self._entries[self._last] = entry
        self._save()
        return self._last, entry

    def note(self, number: int, pid: int) -> None:
        """Remember the first process of a session, which may drop its marker at any time."""
        process = tree.look(pid)
        if process is not None:
            known = Known(process.pid, process.started)
            self._entries[number] = msgspec.structs.replace(self._entries[number], processes=(known,))
            self._save()

    def end(self, *numbers: int) -> None:
        """Forget sessions of which nothing is left."""
        ended = [number for number in numbers if number in self._entries]
        for number in ended:
            del self._entries[number]
        if ended:
            self._save()

    def _save(self) -> None:
        entries = Entries(machine=self._machine, last_session_id=self._last, exec_sessions=self._entries)
        self._place.write(REGISTRY, msgspec.json.format(msgspec.json.encode(entries)) + b"\n")
