"""Real processes, tagged so that every one of them can be found again, and a check that nothing is left of a test."""

import os
import select
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from skills_runtime.processes import Command, shell_command
from skills_runtime.processes.launcher import dismiss
from skills_runtime.sandbox.supervision import process_tree

TAG = "TEST_TAG"
PATIENCE_MS = 10_000


class Tagged:
    """Makes commands whose processes carry one tag."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.tag = uuid.uuid4().hex

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "PS1": "ready> ", "TERM": "dumb", TAG: self.tag}

    def __call__(self, *argv: str, stdin: bytes = b"") -> Command:
        return Command(argv, self.cwd, self.environment, stdin)

    def shell(self, text: str, *, stdin: bytes = b"") -> Command:
        return self(*shell_command(text), stdin=stdin)

    def alive(self) -> list[int]:
        """The processes with the tag that still live, whoever their parent is."""
        return [
            process.pid
            for process in process_tree.find_marked(process_tree.list_processes(), f"{TAG}={self.tag}".encode())
        ]


@pytest.fixture
def command(tmp_path: Path) -> Tagged:
    return Tagged(tmp_path)


def children() -> set[int]:
    """The processes this one is the parent of, zombies too."""
    own = os.getpid()
    return {process.pid for process in process_tree.list_processes().values() if process.parent == own}


def descriptors(*, sockets: bool) -> dict[str, str]:
    """What is open in this process, and where it leads."""
    found: dict[str, str] = {}
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing itself
            target = str(entry.readlink())
            if sockets or not target.startswith("socket:"):
                found[entry.name] = target
    return found


def resident() -> int:
    """The bytes of memory this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def threads() -> set[str]:
    return {entry.name for entry in Path("/proc/self/task").iterdir()}


def wait_for_end(pid: int) -> None:
    """Return when the process has ended; fails when it does not."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(PATIENCE_MS), f"process {pid} does not end"
    finally:
        os.close(descriptor)


@pytest.fixture(autouse=True)
def nothing_left(command: Tagged) -> Iterator[None]:
    """No process, descriptor or thread of a test outlives it, save the launcher and its sockets."""
    before, running = descriptors(sockets=False), threads()
    yield
    assert command.alive() == []
    assert descriptors(sockets=False).items() <= before.items()  # those of earlier tests may be closed at any time
    until = time.monotonic() + PATIENCE_MS / 1000
    while not threads() <= running and time.monotonic() < until:
        os.sched_yield()  # a thread that was joined is listed until the kernel has put it away
    assert threads() <= running  # those of earlier tests may end at any time


@pytest.fixture(autouse=True, scope="module")
def no_launcher_left() -> Iterator[None]:
    """When the launcher is let go it ends, and neither it nor anything it was used for is left."""
    dismiss()
    opened, born = descriptors(sockets=True), children()
    yield
    dismiss()
    assert descriptors(sockets=True).items() <= opened.items()  # what other tests left may be closed meanwhile
    for pid in children() - born:
        wait_for_end(pid)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
    assert children() <= born
