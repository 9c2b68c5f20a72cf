"""Terminal sessions that outlive a run: whoever made them gives them to agents, and closes them in the end.

They live on an event loop of their own, in a thread of its own, for each `Agent.run` has another event loop.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import SandboxPlan
from skills_runtime.processes import Reading
from skills_runtime.tools.networks import Network
from skills_runtime.tools.terminals import RunSessions

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import EgressRecord

T = TypeVar("T")


class ExecSessions:
    """The sessions of exec_command for every run of the agents that were given this; it is a context manager.

    Their numbers are the same for all of these runs: a later one goes on with what an earlier one has started.
    """

    def __init__(self) -> None:
        self._sessions = RunSessions()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._lock = threading.Lock()

    async def start(self, plan: SandboxPlan) -> int:
        """Start a command on a terminal and return its number."""
        started: list[int] = []
        try:
            return await asyncio.wrap_future(self._submit(self._start(plan, started)))
        except asyncio.CancelledError:
            with suppress(ValidationFailed):  # closed by now, and this one with the others
                self._submit(self._close(started))  # nobody was told its number, so nobody could end it
            raise

    def program(self, number: int) -> str:
        """What runs under a number."""
        return self._sessions.program(number)

    async def write(self, number: int, data: bytes) -> int:
        """Type something; returns how much of it was taken."""
        return await asyncio.wrap_future(self._submit(self._sessions.write(number, data)))

    async def read(self, number: int, *, wait_ms: int) -> tuple[Reading, Mapping[str, Any]]:
        """What came since the last time, and the evidence of the fence."""
        return await asyncio.wrap_future(self._submit(self._sessions.read(number, wait_ms=wait_ms)))

    def untold(self, number: int) -> "Iterator[EgressRecord]":
        """Decisions about the network of a session that no run was told yet."""
        return self._sessions.untold(number)

    async def close(self, number: int) -> None:
        """End one session; harmless when it is forgotten already."""
        await asyncio.wrap_future(self._submit(self._sessions.close(number)))

    async def aclose(self) -> None:
        """End all of them for good; returns when nothing of them is left."""
        last = self._last()
        if last is not None:
            await asyncio.wrap_future(last)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        last = self._last()
        if last is not None:
            last.result()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    def _submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        with self._lock:
            if self._closed:
                work.close()
                raise ValidationFailed("these sessions were closed", hint="give the agent new ones")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=[self._loop], name="terminals", daemon=True).start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _last(self) -> "Future[None] | None":
        """Begin to close everything, once."""
        with self._lock:
            loop, self._loop, self._closed = self._loop, None, True
        if loop is None:
            return None
        last = asyncio.run_coroutine_threadsafe(self._finish(), loop)
        last.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
        return last

    async def _finish(self) -> None:
        """End what is under way, and then every session."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for other in others:
            other.cancel()
        if others:
            await asyncio.wait(others)
        await self._sessions.aclose()

    async def _start(self, plan: SandboxPlan, started: list[int]) -> int:
        started.append(await self._sessions.start(plan))
        return started[0]

    async def _close(self, numbers: list[int]) -> None:
        for number in numbers:
            await self._sessions.close(number)


class Lent(RunSessions):
    """Sessions that belong to somebody else, who closes them."""

    def __init__(self, sessions: ExecSessions) -> None:
        super().__init__()
        self._lender = sessions

    async def start(self, plan: SandboxPlan, network: Network | None = None) -> int:
        """Start a command on a terminal and return its number; it may outlive us, so nobody is asked about hosts."""
        return await self._lender.start(plan)

    def program(self, number: int) -> str:
        """What runs under a number."""
        return self._lender.program(number)

    async def write(self, number: int, data: bytes) -> int:
        """Type something; returns how much of it was taken."""
        return await self._lender.write(number, data)

    async def read(self, number: int, *, wait_ms: int) -> tuple[Reading, Mapping[str, Any]]:
        """What came since the last time, and the evidence of the fence."""
        return await self._lender.read(number, wait_ms=wait_ms)

    def untold(self, number: int) -> "Iterator[EgressRecord]":
        """Decisions about the network of a session that no run was told yet."""
        return self._lender.untold(number)

    async def close(self, number: int) -> None:
        """End a session and forget it."""
        await self._lender.close(number)

    async def aclose(self) -> None:
        """Leave them all open."""


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()
