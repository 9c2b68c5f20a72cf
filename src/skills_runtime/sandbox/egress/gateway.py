"""The network of one command: its proxy, from before the command begins until nothing of it is left."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.ports import Egress
from skills_runtime.sandbox.egress.handover import Handover
from skills_runtime.sandbox.egress.proxy import serve_egress
from skills_runtime.sandbox.egress.record import Asker, EgressLimits, EgressPorts, Recorder, Resolver
from skills_runtime.sandbox.egress.stage import policy_of

DRAIN_SECONDS = 0.5
"""How long connections may take to end by themselves once the command is gone."""


class Doorman(msgspec.Struct, frozen=True, kw_only=True):
    """Who hears of every decision, and who is asked about a host that no rule names; nobody means no."""

    record: Recorder
    ask: Asker | None = None
    resolve: Resolver | None = None
    limits: EgressLimits = EgressLimits()


class Gateway:
    """Hands its `descriptors` to a command, serves it from `started` on, and lets go of everything in `close`.

    A proxy that fails lets nothing pass any more: `failure` says why, and `failed` is told.
    """

    def __init__(self, egress: Egress, doorman: Doorman, *, failed: Callable[[Exception], None] | None = None) -> None:
        self._ports = EgressPorts(
            policy=policy_of(egress),
            record=doorman.record,
            ask=doorman.ask if egress.unknown == "ask" else None,
            resolve=doorman.resolve,
            limits=doorman.limits,
        )
        self._failed = failed
        self._handover = Handover()
        self._listener: socket.socket | None = None
        self._serving: asyncio.Task[None] | None = None
        self.failure: Exception | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the command must be given, numbered on after the inputs of its fence."""
        return (self._handover.descriptor,)

    def started(self) -> None:
        """Begin to serve: the descriptors have been handed over."""
        self._handover.started()
        self._serving = asyncio.create_task(self._serve(), name="egress proxy")
        self._serving.add_done_callback(self._ended)

    async def close(self, *, drain: bool = False) -> None:
        """End the proxy with every connection; where the command has ended, they may `drain` for a moment."""
        serving = self._serving
        try:
            if serving is not None and drain:
                self._accept_no_more()
                await asyncio.wait([serving], timeout=DRAIN_SECONDS)
        finally:
            self._handover.close()
            if serving is not None:
                await _ended(serving)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(drain=kind is None)

    async def _serve(self) -> None:
        try:
            self._listener = await self._handover.listener()
            self._handover.go()
            await serve_egress(self._listener, self._ports)
        finally:
            self._handover.close()  # a command that still waits must not wait for ever

    def _accept_no_more(self) -> None:
        """Let the proxy end with its last connection; where there was no network, it sees that by itself."""
        if self._listener is not None:
            with suppress(OSError):  # it may be closed already
                self._listener.shutdown(socket.SHUT_RDWR)

    def _ended(self, serving: asyncio.Task[None]) -> None:
        error = None if serving.cancelled() else serving.exception()
        if error is not None:
            self.failure = error if isinstance(error, Exception) else SandboxError(f"the proxy failed: {error!r}")
            if self._failed is not None:
                self._failed(self.failure)


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end, however often somebody asks us to hurry."""
    hurried = False
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            hurried = True
    if hurried:
        raise asyncio.CancelledError
