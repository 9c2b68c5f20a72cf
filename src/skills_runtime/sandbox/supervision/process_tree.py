"""Find and signal processes in `/proc`, never one that merely reused a process ID."""

import os
import signal
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress

Table = Mapping[int, "Process"]


class Process:
    """One process; ID and start time together are unique."""

    __slots__ = ("group", "parent", "pid", "started")

    def __init__(self, pid: int, parent: int, group: int, started: int) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.started = started


def parse_stat(line: str) -> Process:
    """Parse a line of `/proc/<pid>/stat`."""
    # The name is in parentheses and may contain spaces and parentheses itself.
    identity, _, remainder = line.rpartition(")")
    fields = remainder.split()
    return Process(int(identity.split("(", 1)[0]), int(fields[1]), int(fields[2]), int(fields[19]))


def find_process(pid: int) -> "Process | None":
    """Return the process with this ID; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return parse_stat(file.read())
    except (FileNotFoundError, ProcessLookupError):
        return None


def list_processes() -> dict[int, Process]:
    """Return every process that this user can see."""
    numbers = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    return {pid: process for pid in numbers if (process := find_process(pid)) is not None}


def find_descendants(processes: Table, root: int, *, without: Container[int] = ()) -> list[Process]:
    """Return the descendants of a process, parents first, without the branches in `without`."""
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        # Zombies are included: a program whose first thread has ended looks like one while others continue.
        if process.pid not in without:
            children.setdefault(process.parent, []).append(process)
    descendants = list(children.get(root, ()))
    for process in descendants:
        descendants += children.get(process.pid, ())
    return descendants


def find_generations(processes: Table, root: int, *, generations: int) -> "set[int]":
    """Return the IDs of the children of a process, of their children, and so on for this many generations."""
    pids: set[int] = set()
    parents = {root}
    for _ in range(generations):
        parents = {process.pid for process in processes.values() if process.parent in parents}
        pids |= parents
    return pids


def find_marked(processes: Table, assignment: bytes) -> list[Process]:
    """Return the living processes that were started with this assignment in their environment."""
    matches: list[Process] = []
    for process in processes.values():
        with suppress(OSError), open(f"/proc/{process.pid}/environ", "rb") as file:
            if assignment in file.read().split(b"\0"):
                matches.append(process)
    return matches


def send_signal(processes: Iterable[Process], number: int) -> set[int]:
    """Signal these processes; return the IDs of those this user may not signal."""
    refused: set[int] = set()
    for process in processes:
        with suppress(ProcessLookupError):
            # A pidfd never refers to another process, so the check after opening it decides.
            descriptor = os.pidfd_open(process.pid)
            try:
                now = find_process(process.pid)
                if now is not None and now.started == process.started:
                    signal.pidfd_send_signal(descriptor, number)
            except PermissionError:
                refused.add(process.pid)
            finally:
                os.close(descriptor)
    return refused
