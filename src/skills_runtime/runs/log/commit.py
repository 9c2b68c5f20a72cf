"""Group commit: a few threads per process make many waiting logs, and many waiting producers, durable together."""

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

THREADS = 4
"""Logs synced at the same time; the file system merges what it can."""


class Committable(Protocol):
    """Something that can be made durable."""

    def flush(self) -> None:
        """Make everything appended so far durable; raises when the disk says no."""
        ...


class Committer:
    """Lets all who ask for a log while its sync has not begun share that sync."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="log-committer")
        self._mutex = threading.Lock()
        self._queued: dict[Committable, Future[None]] = {}

    def request(self, log: Committable) -> Future[None]:
        """A future, shared with others, that resolves once all that `log` holds now is durable."""
        with self._mutex:
            future = self._queued.get(log)
            if future is None:
                future = self._queued[log] = self._pool.submit(self._flush, log)
            return future

    def _flush(self, log: Committable) -> None:
        with self._mutex:  # whoever asks from here on may have appended something this sync does not see
            del self._queued[log]
        log.flush()


_committer = Committer()


def committer() -> Committer:
    """The committer of this process."""
    return _committer


def _reset() -> None:
    global _committer
    _committer = Committer()


os.register_at_fork(after_in_child=_reset)
