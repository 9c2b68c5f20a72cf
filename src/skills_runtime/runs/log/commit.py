"""Group commit: one thread per file system syncs many logs for many waiters together.

A few logs are synced one by one, each after the files it refers to; many share one `syncfs`. Commits requested in the
same iteration of an event loop are batched: none of them could continue before the next iteration, and a syncing disk
slows down the creation of files.
"""

import asyncio
import ctypes
import errno
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Protocol

import msgspec

from skills_runtime.errors import StorageFailed
from skills_runtime.ports import Disk
from skills_runtime.runs.log.chain import Position
from skills_runtime.storage import sync_path

# Magic numbers of file systems where `syncfs` is reliable: ext, XFS, Btrfs, F2FS, tmpfs.
SYNCFS_FILE_SYSTEMS = frozenset({0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x01021994})
_SYNCFS_ERRORS_SINCE = (5, 8)
"""The first Linux version whose `syncfs` reports write errors."""

SYNCFS_MIN_LOGS = 6
"""From this many logs on one `syncfs` is cheaper, though it also syncs the files of other programs."""
FULL_BATCH = 64
"""A batch of this many logs is synced at once."""

Waiter = asyncio.Future[None] | Future[None]
Waiters = Sequence[Waiter]
"""The waiters of one log."""
Companions = Mapping[str, set[str]]
"""Directories, and files in them, that must be durable before the log is."""


class SystemDisk:
    """The real disk."""

    def write(self, fd: int, data: bytes) -> int:
        """Append bytes; may write fewer than given."""
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        """Return only when the data is on stable storage."""
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file."""
        os.ftruncate(fd, size)


def can_sync_file_system(fd: int) -> bool:
    """Return whether `syncfs` works on this file system and reports errors."""
    if not _reports_sync_errors():
        return False
    buffer = ctypes.create_string_buffer(256)
    return _libc().fstatfs(fd, buffer) == 0 and int.from_bytes(buffer.raw[:4], sys.byteorder) in SYNCFS_FILE_SYSTEMS


def sync_file_system(fd: int) -> None:
    """Sync the whole file system; raise `OSError` for any write error since the descriptor was opened."""
    if _libc().syncfs(fd) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@cache
def _reports_sync_errors() -> bool:
    if sys.platform != "linux":
        return False
    major, minor, *_ = os.uname().release.split(".")
    return (int(major), int(minor)) >= _SYNCFS_ERRORS_SINCE


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def sync_files(directory: str, names: Iterable[str]) -> None:
    """Sync files of a directory, then the directory itself."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            sync_path(name, dir_fd=fd)
        os.fsync(fd)
    finally:
        os.close(fd)


class LogFlush(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The pending sync of one log, until it is settled."""

    number: int
    fd: int
    device: int
    """The file system of the log."""
    disk: Disk
    companions: Companions
    position: Position
    changes: int
    """The number of changes that are durable afterwards."""
    needed: bool
    end: Callable[["LogFlush", OSError | None], Exception | None]

    @property
    def is_on_one_disk(self) -> bool:
        """Whether one `syncfs` on the file system of the log would sync all of it."""
        if not self.needed or not isinstance(self.disk, SystemDisk):
            return False  # test disks observe every single sync
        try:
            return all(os.stat(directory).st_dev == self.device for directory in self.companions)  # noqa: PTH116 - for every run
        except OSError:
            return False  # its own sync reports the error

    def sync(self) -> None:
        """Sync the companions, then the log."""
        if self.needed:
            # The longest path first: what a directory holds is safe before the name that leads to it.
            for directory in sorted(self.companions, key=len, reverse=True):
                sync_files(directory, self.companions[directory])
            self.disk.sync(self.fd)

    def settle(self, error: OSError | None) -> Exception | None:
        """Finish the flush with the result of the sync."""
        return self.end(self, error)


class Flush(Protocol):
    """The pending sync of one log; the log stays open until it is settled."""

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
        """Whether one `syncfs` on the file system of the log would sync all of it."""
        ...

    def sync(self) -> None:
        """Sync each file; raises `OSError`."""
        ...

    def settle(self, error: OSError | None) -> Exception | None:
        """Finish the flush with the result of the sync; return the error for the waiters."""
        ...


class Committable(Protocol):
    """Something that can be made durable."""

    @property
    def number(self) -> int:
        """The number of the log, ascending in the order of opening."""
        ...

    def begin_flush(self) -> Flush:
        """Start a flush of everything so far; raise when the log has failed before."""
        ...


class Committer:
    """Batches commit requests: all waiters queued before a sync starts share it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="log-committer")
        self._mutex = threading.Lock()
        self._sync_lock = threading.Lock()
        self._queued: dict[Committable, list[Waiter]] = {}
        self._scheduled = False
        """Whether a sync of the queue is scheduled."""

    async def commit(self, log: Committable) -> None:
        """Wait until everything in `log` is durable; cancelling does not affect other waiters."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if self._queue(log, future) < FULL_BATCH:
            loop.call_soon(self._schedule)
        else:
            self._schedule()
        await future

    def sync_later(self, log: Committable) -> None:
        """Sync `log` though no caller waits for it."""
        with self._mutex:
            self._queued.setdefault(log, [])
        self._schedule()

    def request(self, log: Committable) -> Future[None]:
        """Return a future that resolves once everything in `log` is durable."""
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # a waiter cannot cancel the sync
        self._queue(log, future)
        self._schedule()
        return future

    def _queue(self, log: Committable, waiter: Waiter) -> int:
        """Queue a waiter for a log; return the number of queued logs."""
        with self._mutex:
            self._queued.setdefault(log, []).append(waiter)
            return len(self._queued)

    def _schedule(self) -> None:
        with self._mutex:
            if not self._queued or self._scheduled:
                return
            self._scheduled = True
        try:
            self._pool.submit(self._sync_queued)
        except RuntimeError:  # no thread can be started, for example at interpreter exit
            self._sync_queued()
        except BaseException:
            self._scheduled = False  # interrupted: the next request schedules again
            raise

    def _sync_queued(self) -> None:
        """Sync all queued logs."""
        with self._sync_lock:
            with self._mutex:  # later requests may cover appends that this sync misses
                batch, self._queued, self._scheduled = self._queued, {}, False
            sync_all(batch)


def sync_all(batch: Mapping[Committable, Waiters]) -> None:
    """Sync a batch of logs and notify their waiters."""
    # Waiters to notify; flushes to settle.
    waiting, flushes = dict(batch), dict[Committable, Flush]()
    try:
        for log in batch:
            try:
                flushes[log] = log.begin_flush()
            except StorageFailed as error:
                _notify({log: error}, waiting)
        synced = _sync_together(flushes)
        _notify({log: flushes.pop(log).settle(None) for log in synced}, waiting)
        for log in [*flushes]:
            error = _try_sync(flushes[log])
            _notify({log: flushes.pop(log).settle(error)}, waiting)
    except BaseException as error:
        for flush in flushes.values():
            flush.settle(OSError(errno.EIO, str(error)))
        _notify(dict.fromkeys(waiting, error), waiting)  # no waiter may hang
        raise


def _sync_together(flushes: Mapping[Committable, Flush]) -> Sequence[Committable]:
    """Sync many logs by one `syncfs`; return those that are durable."""
    group = [log for log, flush in flushes.items() if flush.is_on_one_disk] if len(flushes) >= SYNCFS_MIN_LOGS else []
    if len(group) < SYNCFS_MIN_LOGS:
        return ()
    # `syncfs` reports errors since its descriptor was opened, so the oldest descriptor covers all logs.
    fd = flushes[min(group, key=lambda log: log.number)].fd
    try:
        if not can_sync_file_system(fd):
            return ()
        sync_file_system(fd)
    except OSError:
        # Perhaps from another program's file: sync each log on its own to find out.
        return ()
    return group


def _try_sync(flush: Flush) -> OSError | None:
    try:
        flush.sync()
    except OSError as error:
        return error
    return None


def _notify(results: Mapping[Committable, BaseException | None], waiting: dict[Committable, Waiters]) -> None:
    """Notify the waiters of these logs; wakes each event loop only once."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Waiter, BaseException | None]]] = {}
    for log, error in results.items():
        for waiter in waiting.pop(log):
            if isinstance(waiter, asyncio.Future):
                loops.setdefault(waiter.get_loop(), []).append((waiter, error))
            else:
                _resolve(waiter, error)
    for loop, outcomes in loops.items():
        with suppress(RuntimeError):  # a closed loop has no waiters
            loop.call_soon_threadsafe(_resolve_all, outcomes)


def _resolve_all(outcomes: Iterable[tuple[Waiter, BaseException | None]]) -> None:
    for waiter, error in outcomes:
        if not waiter.done():  # it may have been cancelled
            _resolve(waiter, error)


def _resolve(waiter: Waiter, error: BaseException | None) -> None:
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(error)


_mutex = threading.Lock()
_committers: dict[int, Committer] = {}


def get_committer(device: int) -> Committer:
    """Return the committer for a file system; one per device, so that a hung disk blocks no other."""
    with _mutex:
        if device not in _committers:
            _committers[device] = Committer()
        return _committers[device]


def _reset() -> None:
    global _mutex
    # Another thread may have held it when the process was forked.
    _mutex = threading.Lock()
    _committers.clear()


os.register_at_fork(after_in_child=_reset)
