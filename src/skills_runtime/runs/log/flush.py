"""One sync of a log together with the files that it speaks of."""

import os
from collections.abc import Callable, Mapping

import msgspec

from skills_runtime.ports import Disk
from skills_runtime.runs.log.disk import SystemDisk, sync_files
from skills_runtime.runs.log.position import Position

Companions = Mapping[str, set[str]]
"""Directories, and files in them, that must be durable before the log is."""


class LogFlush(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What one log needs to have on the disk, from the moment its sync begins until it is settled."""

    number: int
    fd: int
    device: int
    """The file system of the log."""
    disk: Disk
    companions: Companions
    position: Position
    changes: int
    """How many changes of the log are durable afterwards."""
    needed: bool
    end: Callable[["LogFlush", OSError | None], Exception | None]

    @property
    def is_on_one_disk(self) -> bool:
        """Whether one call that syncs the whole file system of the log would sync all of it."""
        if not self.needed or not isinstance(self.disk, SystemDisk):
            return False  # on a disk that a test has put in place of the real one every sync counts
        try:
            return all(os.stat(one).st_dev == self.device for one in self.companions)  # noqa: PTH116 - for every run
        except OSError:
            return False  # its own sync tells what is wrong

    def sync(self) -> None:
        """Sync the companions, then the log."""
        if self.needed:
            # The longest path first: what a directory holds is safe before the name that leads to it.
            for directory in sorted(self.companions, key=len, reverse=True):
                sync_files(directory, self.companions[directory])
            self.disk.sync(self.fd)

    def settle(self, error: OSError | None) -> Exception | None:
        """Let go of the log, which is durable or has failed."""
        return self.end(self, error)
