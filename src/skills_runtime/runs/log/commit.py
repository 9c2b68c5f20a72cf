"""Group commit: one thread per process makes many waiting logs, and many waiting producers, durable together.

One log on its own is synced at once; where many ask, they wait a moment for each other and share one call.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from skills_runtime.errors import StorageFailed
from skills_runtime.runs.log.disk import can_sync_whole, sync_whole

CROWD, CROWD_SECONDS, GATHER_SECONDS = 6, 0.03, 0.01
"""From so many logs that ask within so many seconds on, a sync waits that long for more of them to come."""
MANY_FILES = 16
"""So many files at once are synced by one call for the whole file system, which costs less than one for each."""


class Flush(Protocol):
    """What has to reach the disk for one log; the log stays as it is until this is settled."""

    @property
    def files(self) -> int:
        """How many files and directories those are."""
        ...

    @property
    def fd(self) -> int:
        """A descriptor on their file system."""
        ...

    @property
    def shares_disk(self) -> bool:
        """Whether they may be synced together with those of others."""
        ...

    def sync(self) -> None:
        """Sync each of them; raises `OSError`."""
        ...

    def settle(self, error: OSError | None) -> Exception | None:
        """Let go of the log, which is durable or has failed; returns what those who wait are told."""
        ...


class Committable(Protocol):
    """Something that can be made durable."""

    def begin_flush(self) -> Flush:
        """Everything appended so far; raises when the log has failed before."""
        ...


class Committer:
    """Lets all who ask for a log while its sync has not begun share that sync."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="log-committer")
        self._mutex = threading.Lock()
        self._queued: dict[Committable, Future[None]] = {}
        self._asked: deque[tuple[float, int]] = deque(maxlen=CROWD * 4)

    def request(self, log: Committable) -> Future[None]:
        """A future, shared with others, that resolves once all that `log` holds now is durable."""
        with self._mutex:
            future = self._queued.get(log)
            if future is None:
                future = self._queued[log] = Future()
                future.set_running_or_notify_cancel()  # it is shared, so nobody may cancel it
                self._asked.append((time.monotonic(), id(log)))
                self._pool.submit(self._work)
            return future

    def _is_crowded(self) -> bool:
        """Whether many logs have asked just now, so that waiting a moment lets more of them share one sync."""
        with self._mutex:
            since = time.monotonic() - CROWD_SECONDS
            return len({log for at, log in self._asked if at >= since}) >= CROWD

    def _work(self) -> None:
        """Make everything durable that is waiting."""
        if not self._queued:
            return  # whoever was asked before has taken it along
        if self._is_crowded():
            time.sleep(GATHER_SECONDS)
        with self._mutex:  # whoever asks from here on may have appended something this sync does not see
            taken, self._queued = self._queued, {}
        begun: list[tuple[Flush, Future[None]]] = []
        try:
            for log, future in taken.items():
                try:
                    begun.append((log.begin_flush(), future))
                except StorageFailed as error:
                    future.set_exception(error)
            _sync(begun)
        except BaseException as error:
            for future in taken.values():
                if not future.done():  # nobody may wait for ever
                    future.set_exception(error)
            raise


def _sync(begun: Sequence[tuple[Flush, Future[None]]]) -> None:
    flushes = [flush for flush, _ in begun]
    together = sum(flush.files for flush in flushes) >= MANY_FILES and _share_a_disk(flushes)
    failure = _trouble(lambda: sync_whole(flushes[0].fd)) if together else None
    for flush, future in begun:
        told = flush.settle(failure if together else _trouble(flush.sync))
        if told is None:
            future.set_result(None)
        else:
            future.set_exception(told)


def _trouble(sync: Callable[[], None]) -> OSError | None:
    try:
        sync()
    except OSError as error:
        return error
    return None


def _share_a_disk(flushes: Sequence[Flush]) -> bool:
    if not all(flush.shares_disk for flush in flushes):
        return False
    devices = {os.fstat(flush.fd).st_dev for flush in flushes}
    return len(devices) == 1 and can_sync_whole(flushes[0].fd)


_committer = Committer()


def committer() -> Committer:
    """The committer of this process."""
    return _committer


def _reset() -> None:
    global _committer
    _committer = Committer()


os.register_at_fork(after_in_child=_reset)
