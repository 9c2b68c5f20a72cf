"""The person at the terminal: what they type, line by line, without holding up the event loop."""

import asyncio
import os
import select
import signal
import sys
import termios
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress

from rich.console import Console, RenderableType
from rich.text import Text

Pause = Callable[[], AbstractAsyncContextManager[None]]
"""Makes everybody else silent while a `with` block lasts."""

_PIECE = 4096


def somebody_is_there() -> bool:
    """Whether a person reads what is said and can type an answer."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


class Terminal:
    """Asks one question at a time; who is cancelled while asking leaves the terminal usable."""

    def __init__(self, console: Console, pause: Pause, *, fd: int) -> None:
        self._console = console
        self._pause = pause
        self._fd = fd
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def floor(self) -> AsyncGenerator[None]:
        """Have the terminal alone; what was typed before the question was seen is no answer to it."""
        async with self._turn, self._pause():
            self.forget_typed()
            yield

    def forget_typed(self) -> None:
        """Drop what was typed before anybody asked for it."""
        with suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def show(self, *lines: RenderableType) -> None:
        """Write something above the place where the answer goes."""
        for line in lines:
            self._console.print(line)

    async def read(self, prompt: str) -> str | None:
        """The line somebody types behind the prompt, or nothing when they end the input."""
        self._console.print(Text(prompt, style="bold cyan"), end="")
        self._console.file.flush()
        try:
            line = await read_line(self._fd)
        except asyncio.CancelledError:
            self._console.print()
            raise
        if line is None:
            self._console.print()
        return line


async def read_line(fd: int) -> str | None:
    """The next line of a terminal without its end, or nothing at the end of the input."""
    typed = bytearray()
    while not typed.endswith(b"\n"):
        await _readable(fd)
        piece = _read(fd)
        if not piece:
            break
        typed += piece
    return _line(typed)


def wait_for_line(fd: int) -> str | None:
    """The same, where nothing else goes on meanwhile."""
    typed = bytearray()
    with _woken_by_signals() as woken:
        while not typed.endswith(b"\n"):
            # A signal that comes just before one waits would otherwise be heard only after the next line.
            readable, _, _ = select.select([fd, woken], [], [])
            if fd not in readable:
                os.read(woken, _PIECE)
                continue
            piece = _read(fd)
            if not piece:
                break
            typed += piece
    return _line(typed)


@contextmanager
def _woken_by_signals() -> Generator[int]:
    """A descriptor that becomes readable with every signal."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(before)
        os.close(read_end)
        os.close(write_end)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _PIECE)
    except OSError:  # how a terminal that was closed reports it
        return b""


def _line(typed: bytearray) -> str | None:
    return typed.decode(errors="replace").rstrip("\r\n") if typed else None


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)
