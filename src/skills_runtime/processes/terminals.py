"""Commands on a terminal: job control, resizing, signals, and an exact end.

`Sessions` holds several of them by number.
"""

import asyncio
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, Self

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.ports import Quarantined
from skills_runtime.processes.capture import Capture, Captured
from skills_runtime.processes.command import MEBIBYTE, Command, no_capacity_error
from skills_runtime.processes.descriptors import Reader, Writer
from skills_runtime.processes.supervised import Supervised, prepare, supervise

Size = tuple[int, int]
"""Rows and columns."""

DEFAULT_SIZE: Size = (24, 80)
DEFAULT_GRACE = 2.0
MAX_SIDE = 65535


class SessionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a session runs, and how it ended if not."""

    running: bool
    exit_code: int | None = None
    signal: int | None = None
    survivors: tuple[int, ...] = ()
    """Processes that this user may not signal."""
    quarantined: tuple[Quarantined, ...] = ()
    """New files that programs outside the sandbox would obey, and that were moved aside."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Output since the last read; when `status` says ended, nothing follows."""

    output: Captured
    status: SessionStatus


class Companion(Protocol):
    """Resources that live as long as a session, such as its network."""

    def on_start(self) -> None:
        """Start: the descriptors have been passed to the command."""
        ...

    async def close(self, *, drain: bool = False) -> None:
        """Release the resources; `drain` lets open transfers finish after a normal exit."""
        ...


class PtySession:
    """A program with a controlling terminal, until it has exited or is closed."""

    def __init__(self, *, output_bytes: int, grace_seconds: float) -> None:
        self._output_bytes = output_bytes
        self._grace = grace_seconds
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._write_lock = asyncio.Lock()
        self._unread = Capture(output_bytes)
        self._last_output = self._loop.time()
        try:
            master, slave = os.openpty()
        except OSError as error:
            raise no_capacity_error(error) from error
        # File objects are closed by the garbage collector even if the event loop dies first.
        self._master = open(master, "r+b", buffering=0)  # noqa: SIM115
        # Held open, so that reading never fails while a program has closed the terminal for a moment.
        self._slave = open(slave, "r+b", buffering=0)  # noqa: SIM115
        self._reader = Reader(master, self._receive)
        self._writer = Writer(master, on_drained=self._changed.set)
        self._supervised: Supervised | None = None
        self._finished = False
        self._companion_task: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        command: Command,
        *,
        size: Size = DEFAULT_SIZE,
        output_bytes: int = MEBIBYTE,
        grace_seconds: float = DEFAULT_GRACE,
        companion: Companion | None = None,
    ) -> Self:
        """Start a command on a new terminal and type its `stdin` first.

        The companion is closed with the session, even if the session is never read. If the start fails, the
        caller closes the companion.
        """
        _check(size)
        start = prepare(command, grace=grace_seconds, terminal=True)
        session = cls(output_bytes=output_bytes, grace_seconds=grace_seconds)
        try:
            session.resize(*size)
            slave = session._slave.fileno()
            session._supervised = supervised = await supervise(start, (slave, slave, slave), session._changed)
            if companion is not None:
                session._companion_task = asyncio.create_task(session._run_companion(companion))
                companion.on_start()
            await session._wait_until(lambda: supervised.pid is not None or supervised.gone)
            session._writer.send(_first_input(supervised, command))
        except BaseException:
            await session.close()
            raise
        return session

    @property
    def pid(self) -> int | None:
        """Process id of the program, once it has started."""
        return self._supervised.pid if self._supervised is not None else None

    @property
    def status(self) -> SessionStatus:
        """Current status; ended only when all processes are gone and the last output can be read."""
        self._finish_if_gone()
        supervised = self._supervised
        if supervised is None or not self._finished:
            return SessionStatus(running=not self._finished)
        return SessionStatus(
            running=False,
            exit_code=supervised.exit_code,
            signal=supervised.signal,
            survivors=supervised.survivors,
            quarantined=supervised.quarantined,
        )

    @property
    def unread(self) -> int:
        """Number of bytes since the last read."""
        self._finish_if_gone()
        return self._unread.total

    async def write(self, data: bytes, *, timeout_ms: int | None = None) -> int:
        """Type data; return how many bytes the terminal accepted before the timeout or the end."""
        async with self._write_lock:
            if not self.status.running:
                return 0
            already_sent = self._writer.written + self._writer.pending
            self._writer.send(data)
            try:
                await self._wait_until(lambda: not self._writer.pending or not self.status.running, timeout_ms)
            finally:
                self._writer.discard()
            return max(0, self._writer.written - already_sent)

    async def read(self, *, timeout_ms: int, until_idle_ms: int | None = None) -> Reading:
        """Return the output when the program ends, pauses for `until_idle_ms`, or the time is up."""
        deadline = self._loop.time() + timeout_ms / 1000
        while self.status.running:
            wake_at = deadline
            if until_idle_ms is not None and self._unread.total:
                wake_at = min(deadline, self._last_output + until_idle_ms / 1000)
            if wake_at <= self._loop.time():
                break
            await self._wait_for_change(wake_at)
        status = self.status
        capture, self._unread = self._unread, Capture(self._output_bytes)
        return Reading(output=capture.snapshot(), status=status)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal; `SIGWINCH` tells the foreground programs."""
        _check((rows, columns))
        if not self._finished:
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: signal.Signals) -> None:
        """Signal the foreground programs, as a key would; do nothing if the session has ended."""
        if self._supervised is not None and self.status.running:
            self._supervised.signal_group(os.tcgetpgrp(self._master.fileno()), signal.Signals(number))

    async def close(self) -> SessionStatus:
        """Hang up, and wait until all processes are gone."""
        try:
            if self._supervised is not None and not self._supervised.gone:
                self._supervised.end(grace=self._grace, first=signal.SIGHUP)
            if self._supervised is not None:
                await self._supervised.wait_until_gone()
        finally:
            self._finish_if_gone(closing=True)
            self._changed.set()
            if self._companion_task is not None:
                await asyncio.wait([self._companion_task])
        return self.status

    async def _run_companion(self, companion: Companion) -> None:
        try:
            await self._wait_until(lambda: not self.status.running)
            await companion.close(drain=True)
        finally:
            await companion.close()

    def _receive(self, piece: bytes) -> None:
        self._unread.feed(piece)
        self._last_output = self._loop.time()
        self._changed.set()

    def _finish_if_gone(self, *, closing: bool = False) -> None:
        """Read the last output and close the terminal, once all processes that could write to it are gone."""
        if self._finished or not (closing or (self._supervised is not None and self._supervised.gone)):
            return
        self._finished = True
        self._writer.discard()
        for piece in self._reader.drain():
            self._unread.feed(piece)
        self._reader.stop()
        self._master.close()
        self._slave.close()
        if self._supervised is not None:
            self._supervised.close()

    async def _wait_until(self, condition: Callable[[], bool], timeout_ms: int | None = None) -> None:
        deadline = None if timeout_ms is None else self._loop.time() + timeout_ms / 1000
        while not condition() and (deadline is None or self._loop.time() < deadline):
            await self._wait_for_change(deadline)

    async def _wait_for_change(self, deadline: float | None) -> None:
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await self._changed.wait()


def _first_input(supervised: Supervised, command: Command) -> bytes:
    """Return the input of the command, or raise why it has not started."""
    if supervised.failure is not None and supervised.pid is None:
        raise supervised.failure
    return command.stdin


def _check(size: Size) -> None:
    if not all(1 <= side <= MAX_SIDE for side in size):
        raise ValidationFailed(f"a terminal cannot have {size[0]} rows and {size[1]} columns", hint="try 24 and 80")


DEFAULT_COUNT = 16


class Sessions:
    """Sessions by number; a number is never reused."""

    def __init__(self, *, count: int = DEFAULT_COUNT, grace_seconds: float = DEFAULT_GRACE) -> None:
        self._count = count
        self._grace = grace_seconds
        self._sessions: dict[int, PtySession] = {}
        self._starting = 0
        self._last = 0

    async def start(self, command: Command, *, size: Size = DEFAULT_SIZE, companion: Companion | None = None) -> int:
        """Start a command on a terminal and return its number; ended sessions that were read are dropped."""
        self._forget_ended()
        if len(self._sessions) + self._starting >= self._count:
            raise ValidationFailed(
                f"there are {self._count} sessions already, which is the limit", hint="close one that is not needed"
            )
        self._starting += 1
        try:
            session = await PtySession.start(command, size=size, grace_seconds=self._grace, companion=companion)
        finally:
            self._starting -= 1
        self._last += 1
        self._sessions[self._last] = session
        return self._last

    def get(self, number: int) -> PtySession:
        """Return the session with this number."""
        try:
            return self._sessions[number]
        except KeyError:
            numbers = ", ".join(f"`{open_number}`" for open_number in self._sessions) or "none"
            raise NotFound(f"there is no session `{number}`", hint=f"open sessions: {numbers}") from None

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers in use, oldest first."""
        return tuple(self._sessions)

    async def close(self, number: int) -> SessionStatus:
        """End a session and forget it."""
        session = self.get(number)
        try:
            return await session.close()
        finally:
            self._sessions.pop(number, None)

    async def close_all(self) -> None:
        """End all sessions concurrently."""
        async with asyncio.TaskGroup() as group:
            for number in self.numbers():
                group.create_task(self.close(number))

    def _forget_ended(self) -> None:
        for number, session in tuple(self._sessions.items()):
            if not session.status.running and not session.unread:
                del self._sessions[number]
