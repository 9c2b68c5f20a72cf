"""Group commit: one thread for each file system makes many waiting logs, and many waiting producers, durable together.

A few logs are synced file by file; where many ask, they wait a moment for each other and share one call.
"""

import asyncio
import errno
import os
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

from skills_runtime.errors import StorageFailed
from skills_runtime.runs.log.disk import sync_whole

CROWD = 6
"""So many logs at once are synced by one call, though it also syncs what strangers have written there."""
CROWD_SECONDS, GATHER_SECONDS = 0.03, 0.01
"""Where a crowd has asked within so many seconds, a sync waits that long for more of them to come."""


class Flush(Protocol):
    """What has to reach the disk for one log; the log stays as it is until this is settled."""

    @property
    def number(self) -> int:
        """The number of the log."""
        ...

    @property
    def fd(self) -> int:
        """The descriptor of the log."""
        ...

    @property
    def is_on_one_disk(self) -> bool:
        """Whether one call for the file system of the log syncs all of it."""
        ...

    def sync(self) -> None:
        """Sync each file; raises `OSError`."""
        ...

    def settle(self, error: OSError | None) -> Exception | None:
        """Let go of the log, which is durable or has failed; returns what those who wait are told."""
        ...


class Committable(Protocol):
    """Something that can be made durable."""

    @property
    def number(self) -> int:
        """What was opened later has a higher one."""
        ...

    def begin_flush(self) -> Flush:
        """Everything so far; raises when the log has failed before."""
        ...


class Committer:
    """Lets all who ask for a log while its sync has not begun share that sync."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="log-committer")
        self._mutex = threading.Lock()
        self._queued: dict[Committable, Future[None]] = {}
        self._asked: deque[tuple[float, int]] = deque(maxlen=CROWD * 4)

    async def commit(self, log: Committable) -> None:
        """Return once all that `log` holds now is durable; who gives up waiting takes it from nobody else."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def tell(future: Future[None]) -> None:
            with suppress(RuntimeError):  # nobody waits in a loop that is closed
                loop.call_soon_threadsafe(_pass_on, future, done)

        self.request(log).add_done_callback(tell)
        await done

    def request(self, log: Committable) -> Future[None]:
        """A future, shared with others, that resolves once all that `log` holds now is durable."""
        with self._mutex:
            future = self._queued.get(log)
            if future is None:
                if not self._queued:  # else somebody comes for the others anyway
                    self._pool.submit(self._work)
                future = self._queued[log] = Future()
                future.set_running_or_notify_cancel()  # it is shared, so nobody may cancel it
                self._asked.append((time.monotonic(), log.number))
            return future

    def _work(self) -> None:
        """Make everything durable that is waiting."""
        if self._is_crowded():
            time.sleep(GATHER_SECONDS)
        with self._mutex:  # whoever asks from here on may have appended something this sync does not see
            taken, self._queued = self._queued, {}
        _sync(taken)

    def _is_crowded(self) -> bool:
        """Whether many logs have asked just now, so that waiting a moment lets more of them share one sync."""
        with self._mutex:
            since = time.monotonic() - CROWD_SECONDS
            return len({number for at, number in self._asked if at >= since}) >= CROWD


def _sync(taken: Mapping[Committable, Future[None]]) -> None:
    begun: list[tuple[Flush, Future[None]]] = []
    try:
        for log, future in taken.items():
            try:
                begun.append((log.begin_flush(), future))
            except StorageFailed as error:
                future.set_exception(error)
        done = _sync_together([flush for flush, _ in begun])
        for flush, future in begun:
            error = flush.settle(None if flush in done else _trouble(flush))
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
    except BaseException as error:
        for flush, future in begun:
            if not future.done():
                flush.settle(OSError(errno.EIO, str(error)))
        for future in taken.values():
            if not future.done():  # nobody may wait for ever
                future.set_exception(error)
        raise


def _sync_together(flushes: Sequence[Flush]) -> Sequence[Flush]:
    """Those of a crowd that one call has made durable."""
    crowd = [flush for flush in flushes if flush.is_on_one_disk] if len(flushes) >= CROWD else []
    if len(crowd) < CROWD:
        return ()
    try:
        # It tells of errors since its descriptor was opened, so the oldest knows of those of all others.
        sync_whole(min(crowd, key=lambda flush: flush.number).fd)
    except OSError:
        return ()  # perhaps a stranger's: each log is told of its own when it is synced by itself
    return crowd


def _trouble(flush: Flush) -> OSError | None:
    try:
        flush.sync()
    except OSError as error:
        return error
    return None


def _pass_on(source: Future[None], waiting: asyncio.Future[None]) -> None:
    if waiting.done():
        return  # cancelled meanwhile
    error = source.exception()
    if error is None:
        waiting.set_result(None)
    else:
        waiting.set_exception(error)


_mutex = threading.Lock()
_committers: dict[int, Committer] = {}


def committer(device: int) -> Committer:
    """The committer of this process for a file system: one that does not answer holds up no other."""
    with _mutex:
        if device not in _committers:
            _committers[device] = Committer()
        return _committers[device]


def _reset() -> None:
    global _mutex
    _mutex = threading.Lock()  # another thread may have held it when the process was forked
    _committers.clear()


os.register_at_fork(after_in_child=_reset)
