"""Signals that ask a command to stop: the first one is heard, the second one leaves the process."""

import asyncio
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FIRST_EXIT_CODE = 128


def exit_code_of(number: int) -> int:
    """What a process reports that a signal has stopped."""
    return _FIRST_EXIT_CODE + number


class Interruption:
    """Something to wait for that has the number of the signal once one came."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._came = asyncio.Event()

    async def wait(self) -> None:
        """Return when a signal has come."""
        await self._came.wait()

    def tell(self) -> None:
        """Wake those who wait."""
        self._came.set()


@contextmanager
def interrupts(leave: Callable[[], None]) -> Generator[Interruption]:
    """What Ctrl-C, SIGTERM or the end of the terminal sets; with a second signal the process calls `leave` and ends.

    That works even if the loop is stuck. Whoever started the command so that it outlives its terminal is heeded.
    """
    loop = asyncio.get_running_loop()
    interruption = Interruption()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if interruption.number is not None:
            if number == signal.SIGHUP:  # a terminal that goes away is told by the shell and by the system
                return
            leave()
            os._exit(exit_code_of(number))
        interruption.number = number
        loop.call_soon_threadsafe(interruption.tell)

    outlives = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    heard = [number for number in SIGNALS if number != signal.SIGHUP or not outlives]
    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
