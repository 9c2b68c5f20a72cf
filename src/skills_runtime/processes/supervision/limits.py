"""Limits of the kernel on a command that is being fenced in: set from outside, before it begins.

The fence tells the number of its first process on one descriptor, and lets the command begin when it is told so on
another. A program that sets limits and becomes the command would cost an extra start for every command.
"""

import errno
import json
import os
import resource
import select
import signal
import time
from collections.abc import Mapping
from typing import Any

PATIENCE = 20.0
"""Seconds that a fence has to get as far as telling."""


class Limiting:
    """The limits of one command, and the two channels to its fence."""

    def __init__(self, asked: "Mapping[str, Any] | None") -> None:
        self._asked = asked
        self._ours: list[int] = []
        self._theirs: list[int] = []
        if asked is None:
            return
        self._told, tells = os.pipe2(os.O_CLOEXEC)
        waits, self._go = os.pipe2(os.O_CLOEXEC)
        self._ours, self._theirs = [self._told, self._go], [tells, waits]

    def handed_over(self) -> "list[tuple[Any, ...]]":
        """What the fence is given, under the numbers it was told."""
        if self._asked is None:
            return []
        numbers = (self._asked["tells"], self._asked["waits"])
        return [(os.POSIX_SPAWN_DUP2, *pair) for pair in zip(self._theirs, numbers, strict=True)]

    def set(self, fence: int) -> None:
        """Set the limits and let the command begin; a fence that cannot be limited is killed before it does."""
        self._close(self._theirs)
        if self._asked is None:
            return
        try:
            first = self._first_process()
            _limit(first, self._asked["values"])
            os.write(self._go, b"x")
        except BaseException:
            os.kill(fence, signal.SIGKILL)
            raise

    def close(self) -> None:
        """Let go of the channels."""
        self._close(self._theirs)
        self._close(self._ours)

    def _first_process(self) -> int:
        deadline, text = time.monotonic() + PATIENCE, b""
        while (number := _number_in(text)) is None:
            if not select.select([self._told], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            if not (piece := os.read(self._told, 4096)):
                raise EndedEarly
            text += piece
        return number

    @staticmethod
    def _close(descriptors: "list[int]") -> None:
        while descriptors:
            os.close(descriptors.pop())


class EndedEarly(Exception):
    """The fence ended before it had a process; it has said itself why."""


def _limit(process: int, values: "list[tuple[str, int]]") -> None:
    try:
        _set(process, values)
    except PermissionError:
        if os.geteuid() != 0:
            raise
        _as_its_owner(process, values)  # an administrator in a container may not limit the processes of others


def _set(process: int, values: "list[tuple[str, int]]") -> None:
    for name, wanted in values:
        kind = getattr(resource, f"RLIMIT_{name.upper()}")
        most = resource.prlimit(process, kind)[1]
        value = wanted if most == resource.RLIM_INFINITY else min(wanted, most)  # only an administrator could raise it
        resource.prlimit(process, kind, (value, value))


def _as_its_owner(process: int, values: "list[tuple[str, int]]") -> None:
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
        ids = {line.split(":")[0]: int(line.split()[1]) for line in file if line.startswith(("Uid:", "Gid:"))}
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(ids["Gid"], ids["Gid"], ids["Gid"])
            os.setresuid(ids["Uid"], ids["Uid"], ids["Uid"])
            _set(process, values)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or errno.EPERM)
        finally:
            os._exit(errno.EPERM)
    if refused := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise OSError(refused, os.strerror(abs(refused)))


def _number_in(text: bytes) -> "int | None":
    try:
        return json.loads(text)["child-pid"]
    except ValueError:  # not all of it has come
        return None
