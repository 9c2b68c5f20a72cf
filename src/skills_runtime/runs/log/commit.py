"""Group commit: one thread for each file system makes many waiting logs, and many waiting producers, durable together.

A few logs are synced file by file, each after the files it speaks of; many share one call. Those who ask in one turn of
an event loop wait for each other: none of them could go on before the loop comes round again, and a disk that syncs is
slow to make the files of the next. The system calls for all this come first.
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

SYNCFS_FILE_SYSTEMS = frozenset({0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x01021994})
"""File systems of the kernel (ext, XFS, Btrfs, F2FS, tmpfs), which sync all they hold when they are asked to."""
_SYNCFS_ERRORS_SINCE = (5, 8)
"""The first Linux whose sync of a whole file system says that something could not be written."""

SYNCFS_MIN_LOGS = 6
"""So many logs at once are synced by one call, though it also syncs what strangers have written there."""
FULL_BATCH = 64
"""So many do not wait for more."""

Waiter = asyncio.Future[None] | Future[None]
Waiters = Sequence[Waiter]
"""Those who wait for one log."""
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
    """Whether one call makes everything on this file system durable, and tells when it could not."""
    if not _reports_sync_errors():
        return False
    buffer = ctypes.create_string_buffer(256)
    return _libc().fstatfs(fd, buffer) == 0 and int.from_bytes(buffer.raw[:4], sys.byteorder) in SYNCFS_FILE_SYSTEMS


def sync_file_system(fd: int) -> None:
    """Make everything on a file system durable; an error since the descriptor was opened is raised."""
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
    """Make files of a directory durable, and after them the names it has."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            sync_path(name, dir_fd=fd)
        os.fsync(fd)
    finally:
        os.close(fd)


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
            return all(os.stat(directory).st_dev == self.device for directory in self.companions)  # noqa: PTH116 - for every run
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
        """Whether one call that syncs the whole file system of the log would sync all of it."""
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
        self._sync_lock = threading.Lock()
        self._queued: dict[Committable, list[Waiter]] = {}
        self._scheduled = False
        """Whether the thread is on its way to those who wait."""

    async def commit(self, log: Committable) -> None:
        """Return once all that `log` holds now is durable; who gives up waiting takes it from nobody else."""
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
        """A future that resolves once all that `log` holds now is durable."""
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # who does not want to wait any more cannot take the sync back
        self._queue(log, future)
        self._schedule()
        return future

    def _queue(self, log: Committable, waiter: Waiter) -> int:
        """Let somebody wait for a log; returns how many logs are waited for."""
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
        except RuntimeError:  # no thread can be begun, or none any more because the process ends
            self._sync_queued()
        except BaseException:
            self._scheduled = False  # somebody interrupts us: who asks next sends for the thread again
            raise

    def _sync_queued(self) -> None:
        """Make everything durable that is waiting."""
        with self._sync_lock:
            with self._mutex:  # whoever asks from here on may have appended something this sync does not see
                batch, self._queued, self._scheduled = self._queued, {}, False
            sync_all(batch)


def sync_all(batch: Mapping[Committable, Waiters]) -> None:
    """Make these logs durable, and tell all who wait for them."""
    waiting, flushes = dict(batch), dict[Committable, Flush]()  # who was not told yet; what was not settled
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
        _notify(dict.fromkeys(waiting, error), waiting)  # nobody may wait for ever
        raise


def _sync_together(flushes: Mapping[Committable, Flush]) -> Sequence[Committable]:
    """Those of a crowd that one call has made durable."""
    group = [log for log, flush in flushes.items() if flush.is_on_one_disk] if len(flushes) >= SYNCFS_MIN_LOGS else []
    if len(group) < SYNCFS_MIN_LOGS:
        return ()
    # It tells of errors since its descriptor was opened, so the oldest knows of those of all others.
    fd = flushes[min(group, key=lambda log: log.number)].fd
    try:
        if not can_sync_file_system(fd):
            return ()
        sync_file_system(fd)
    except OSError:
        return ()  # perhaps a stranger's: each log is told of its own when it is synced by itself
    return group


def _try_sync(flush: Flush) -> OSError | None:
    try:
        flush.sync()
    except OSError as error:
        return error
    return None


def _notify(results: Mapping[Committable, BaseException | None], waiting: dict[Committable, Waiters]) -> None:
    """Tell those who wait for these logs what came of it; an event loop is woken once, however many wait in it."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Waiter, BaseException | None]]] = {}
    for log, error in results.items():
        for waiter in waiting.pop(log):
            if isinstance(waiter, asyncio.Future):
                loops.setdefault(waiter.get_loop(), []).append((waiter, error))
            else:
                _resolve(waiter, error)
    for loop, outcomes in loops.items():
        with suppress(RuntimeError):  # nobody waits in a loop that is closed
            loop.call_soon_threadsafe(_resolve_all, outcomes)


def _resolve_all(outcomes: Iterable[tuple[Waiter, BaseException | None]]) -> None:
    for waiter, error in outcomes:
        if not waiter.done():  # else cancelled meanwhile
            _resolve(waiter, error)


def _resolve(waiter: Waiter, error: BaseException | None) -> None:
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(error)


_mutex = threading.Lock()
_committers: dict[int, Committer] = {}


def get_committer(device: int) -> Committer:
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
