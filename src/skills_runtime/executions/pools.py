"""Processes that wait for executions: so many at most, for so long at most, and each for one skill under one policy."""

import asyncio
import secrets
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec

from skills_runtime.executions.jobs import MakeFence
from skills_runtime.executions.values import PoolLimits
from skills_runtime.executions.zygotes import Unusable, Zygote

RETRY_SECONDS = 60.0
"""How long no process is kept waiting after that has failed."""


class Kind(msgspec.Struct, frozen=True):
    """What a process may be used for."""

    skill: str
    skill_digest: str
    policy: str
    python: str
    readable: tuple[Path, ...] = ()


class Pool:
    """The waiting processes of one executor."""

    def __init__(self, stages: Path, fence: MakeFence, limits: PoolLimits) -> None:
        self._stages = stages
        self._fence = fence
        self._limits = limits
        self._idle: dict[Zygote, tuple[Kind, float]] = {}
        self._busy: dict[Zygote, Kind] = {}
        self._starting = 0
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._unfit: dict[str, float] = {}
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._idle) + len(self._busy) + self._starting

    def waiting(self, kind: Kind) -> Zygote | None:
        """A process that waits for exactly this; any thread may ask."""
        with self._lock:
            found = next(
                (one for one, (known, _) in reversed(self._idle.items()) if known == kind and one.usable), None
            )
            if found is not None:
                del self._idle[found]
                self._busy[found] = kind
            return found

    async def acquire(self, kind: Kind) -> Zygote:
        """A process for one execution; raises `Unusable` where none can be had."""
        now = self._loop.time()
        self._dismiss([zygote for zygote, (known, _) in tuple(self._idle.items()) if _is_outdated(known, kind)])
        if (found := self.waiting(kind)) is not None:
            return found
        if self._closed or now < self._unfit.get(kind.python, 0.0):
            raise Unusable("no process is kept waiting now")
        if len(self._busy) + self._starting >= self._limits.warm:
            raise Unusable("as many processes are kept as may be")
        self._dismiss(list(self._idle)[: max(0, self.size + 1 - self._limits.warm)])
        return await self._start(kind)

    def release(self, zygote: Zygote) -> None:
        """Take a process back after its execution, from any thread: it waits for the next one, or is ended."""
        with self._lock:
            self._idle[zygote] = (self._busy.pop(zygote), self._loop.time())
            quiet = zygote.usable and not self._closed and self._timer is not None
        if not quiet:
            self._loop.call_soon_threadsafe(self._released, zygote)

    async def aclose(self) -> None:
        """End every process that waits; those at work are ended when they are released."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._dismiss(list(self._idle))
        while self._closing:
            await asyncio.wait(self._closing)

    async def _start(self, kind: Kind) -> Zygote:
        self._starting += 1
        try:
            directory = self._stages / f"warm-{secrets.token_hex(8)}"
            zygote = await Zygote.start(directory, self._fence, kind.python, kind.readable)
        except Unusable:
            self._unfit[kind.python] = self._loop.time() + RETRY_SECONDS
            raise
        finally:
            self._starting -= 1
        self._busy[zygote] = kind
        return zygote

    def _dismiss(self, zygotes: Iterable[Zygote]) -> None:
        for zygote in list(zygotes):
            with self._lock:
                if self._idle.pop(zygote, None) is None:
                    continue  # somebody took it
            task = self._loop.create_task(zygote.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _released(self, zygote: Zygote) -> None:
        if self._closed or not zygote.usable:
            self._dismiss([zygote])
        else:
            self._watch()

    def _watch(self) -> None:
        if self._timer is None and self._idle:
            self._timer = self._loop.call_later(self._limits.idle_seconds, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        oldest = self._loop.time() - self._limits.idle_seconds
        self._dismiss([one for one, (_, since) in tuple(self._idle.items()) if since <= oldest or not one.usable])
        self._watch()


def _is_outdated(known: Kind, wanted: Kind) -> bool:
    """Whether it is for the same skill as it was before it changed."""
    return known.skill == wanted.skill and known != wanted
