"""A disk that fails where a test says so: the real system calls, except for the scripted ones."""

import os
import threading
from collections.abc import Mapping
from typing import Literal

Call = Literal["write", "sync", "truncate"]


class FaultyDisk:
    """Counts its calls and, at the scripted ones, fails, writes too little or pretends.

    Faults are set for the n-th call from now on, 1 being the next one; each happens once.
    """

    def __init__(self) -> None:
        self._counts: dict[Call, int] = {"write": 0, "sync": 0, "truncate": 0}
        self._errors: dict[tuple[Call, int], int] = {}
        self._sizes: dict[int, int] = {}
        self._pretend_sync = False
        self._lock = threading.Lock()

    @property
    def counts(self) -> Mapping[Call, int]:
        """How often each call was made, the failed ones included."""
        return dict(self._counts)

    def fail(self, call: Call, code: int, *, nth: int = 1) -> None:
        """Let the n-th such call fail with this errno, before it does anything."""
        self._errors[call, self._counts[call] + nth] = code

    def shorten_write(self, size: int, *, nth: int = 1) -> None:
        """Let the n-th write keep only its first `size` bytes, and say so."""
        self._sizes[self._counts["write"] + nth] = size

    def pretend_syncs(self) -> None:
        """Answer every sync from now on without doing it, as a disk with a lying cache does."""
        self._pretend_sync = True

    def write(self, fd: int, data: bytes) -> int:
        """Append bytes; may write fewer than given."""
        number = self._count("write")
        return os.write(fd, data[: self._sizes.get(number, len(data))])

    def sync(self, fd: int) -> None:
        """Return only when the data is on stable storage, unless told to pretend."""
        self._count("sync")
        if not self._pretend_sync:
            os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file."""
        self._count("truncate")
        os.ftruncate(fd, size)

    def _count(self, call: Call) -> int:
        with self._lock:
            self._counts[call] += 1
            number = self._counts[call]
            code = self._errors.pop((call, number), None)
        if code is not None:
            raise OSError(code, os.strerror(code))
        return number
