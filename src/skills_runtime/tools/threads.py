"""Functions that are not async, each in a thread that nobody has to wait for.

No thread can be ended from outside. The threads of asyncio hold up whoever closes the event loop until they have ended
by themselves, and the interpreter as well; these do not. A call that was cancelled or is out of time leaves its thread
behind: the function goes on until it returns, and what it returns is dropped.
"""

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")
Job = Callable[[], Callable[[], object]]
"""Does something, and returns what tells of it."""

MAX_IDLE = 16
"""Threads that are kept for the next call."""

_idle: list["_Worker"] = []
"""Only ever appended to and popped from, which no other thread can come between."""
os.register_at_fork(after_in_child=_idle.clear)  # a child has the list, but not the threads


async def in_thread(function: Callable[..., T], /, **arguments: Any) -> T:
    """Call a function in a thread and return what it returns; a cancelled call does not wait for it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    call = partial(contextvars.copy_context().run, function, **arguments)

    def work() -> Callable[[], object]:
        with _Outcome(done) as outcome:
            outcome.value = call()
        return partial(loop.call_soon_threadsafe, outcome.settle)

    _worker().take(work)
    return await done


class _Outcome(Generic[T]):
    """What a function returns or raises, on its way to whoever called it."""

    value: T

    def __init__(self, done: "asyncio.Future[T]") -> None:
        self._done = done
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        # Raised again where the function was called; there a StopIteration would mean something else.
        self._error = RuntimeError(f"StopIteration: {error}") if isinstance(error, StopIteration) else error
        return True

    def settle(self) -> None:
        """Hand it over, unless nobody waits for it any more."""
        if self._done.done():
            return
        if self._error is not None:
            self._done.set_exception(self._error)
        else:
            self._done.set_result(self.value)


class _Worker:
    """A thread that does one job after another."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        threading.Thread(target=self._run, name="tool", daemon=True).start()

    def take(self, job: Job) -> None:
        """Do this next."""
        self._jobs.put(job)

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            tell = self._jobs.get()()
            goes_on = len(_idle) < MAX_IDLE
            if goes_on:
                _idle.append(self)  # before anybody is told, so that the next call finds it
            with suppress(RuntimeError):  # the event loop is closed: nobody waits for this any more
                tell()
            del tell  # what it holds is not kept until the next job comes


def _worker() -> _Worker:
    try:
        return _idle.pop()
    except IndexError:
        return _Worker()
