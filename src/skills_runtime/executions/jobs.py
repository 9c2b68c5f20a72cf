"""One job of an execution, where its streams go and what ends it, and running it in a process made for it."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.executions.inside.zygote import LOWER
from skills_runtime.executions.values import Written
from skills_runtime.ports import ProcessRequest, Sandbox, SandboxPlan
from skills_runtime.processes import Finished, Limits, execute_plan
from skills_runtime.sandbox.egress import Doorman

StopReason = Literal["timeout", "cancelled", "stdout_limit"]
EndedBy = Literal["exit", "timeout", "cancelled", "stdout_limit", "resource_limit", "lost"]
_MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A process to be started behind a fence."""

    argv: tuple[str, ...]
    script: str | None
    """The file that a Python process which is already there can run itself."""
    workspace: Path
    """What it may write."""
    cwd: Path
    environment: Mapping[str, str]
    """What it gets besides the little every process needs."""
    readable: tuple[Path, ...] = ()
    stdin: bytes
    timeout_ms: int

    def with_argv(self, argv: tuple[str, ...]) -> "Job":
        """The same with another command."""
        return msgspec.structs.replace(self, argv=argv)

    def __repr__(self) -> str:
        # Environment and input may hold secrets, and representations end up in logs.
        return f"Job(argv={self.argv!r}, cwd={str(self.cwd)!r})"


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended, when nothing it started is left."""

    ended_by: EndedBy
    exit_code: int | None
    exceeded: str | None = None
    isolation: Mapping[str, Any] = {}
    warm: bool = False
    note: str = ""
    """What the runtime has to say about an end that nobody expected."""


class Stop:
    """The wish to end a process: the first reason counts, and whoever runs it is told at once."""

    def __init__(self) -> None:
        self.reason: StopReason | None = None
        self._told: list[Callable[[], None]] = []

    def set(self, reason: StopReason) -> None:
        """Wish it."""
        if self.reason is None:
            self.reason = reason
            for tell in self._told:
                tell()

    def on(self, tell: Callable[[], None]) -> None:
        """Have something done when it is wished, or now if it was."""
        self._told.append(tell)
        if self.reason is not None:
            tell()


class Sink:
    """A stream on its way to a file: as much as is kept, and a count of the rest."""

    def __init__(self, path: Path | str, limit: int, *, beyond: Callable[[], None] = lambda: None) -> None:
        self._fd = os.open(path, _MAKING, 0o600)
        self._limit = limit
        self._beyond = beyond
        self._total = 0
        self.kept = bytearray()

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
        room = self._limit - len(self.kept)
        self._total += len(piece)
        if room > 0:
            part = piece[:room]
            self.kept += part
            os.write(self._fd, part)  # a short write is made up for at the end
        if self.overflowed:
            self._beyond()

    @property
    def overflowed(self) -> bool:
        """Whether there was more than is kept."""
        return self._total > self._limit

    def written(self) -> Written:
        """How much there was."""
        return Written(total=self._total, kept=len(self.kept))

    def sync(self) -> None:
        """Have the disk keep what was written."""
        if self._fd >= 0 and self.kept:
            os.fsync(self._fd)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Sinks:
    """Standard output and standard error of one process."""

    def __init__(self, stdout: Sink, stderr: Sink) -> None:
        self.stdout = stdout
        self.stderr = stderr

    def feed(self, stream: Literal["stdout", "stderr"], piece: bytes) -> None:
        """Take the next bytes of a stream."""
        (self.stdout if stream == "stdout" else self.stderr).feed(piece)

    def sync(self) -> None:
        """Have the disk keep both."""
        self.stdout.sync()
        self.stderr.sync()

    def close(self) -> None:
        """Let go of both."""
        self.stdout.close()
        self.stderr.close()


def sealed_input(data: bytes) -> int:
    """A descriptor to read the input from, which nobody can change, however large it is."""
    import fcntl

    fd = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | _SEAL_SEAL)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


_SEAL_SEAL = 1


MakeFence = Callable[[Path], Sandbox]
"""The fence around everything that runs in a directory."""
MakeDoorman = Callable[[], Doorman]
"""Whoever watches the network of a skill that has one."""

GRACE_SECONDS = 0.0
"""What is ended has had its time."""
KEPT_BYTES = 4096


def no_network() -> Doorman:
    """Refuse: a fence that opens the network needs somebody who watches it."""
    raise SandboxError("nobody watches the network of this execution", hint="give the executor a doorman")


def plan_of(job: Job, fence: MakeFence) -> SandboxPlan:
    """The process behind its fence, or the fence's refusal."""
    request = ProcessRequest(
        argv=job.argv, cwd=job.cwd, environment=job.environment, readable=job.readable, permissions="inherit"
    )
    return fence(job.workspace).plan(request)


async def run_fresh(job: Job, plan: SandboxPlan, sinks: Sinks, stop: Stop, doorman: MakeDoorman = no_network) -> Ended:
    """Run it until nothing is left of it."""
    limits = Limits(
        wall_seconds=job.timeout_ms / 1000, output_bytes=KEPT_BYTES, grace_seconds=GRACE_SECONDS, lower=LOWER
    )
    ending = asyncio.Event()
    stop.on(ending.set)
    source = sealed_input(job.stdin)
    try:
        finished = await execute_plan(plan, limits, doorman, on_output=sinks.feed, stop=ending, source=source)
    finally:
        os.close(source)
    return Ended(
        ended_by=_ended_by(finished, stop),
        exit_code=finished.exit_code if finished.signal is None else -finished.signal,
        exceeded=finished.exceeded,
        isolation=plan.evidence,
    )


def _ended_by(finished: Finished, stop: Stop) -> EndedBy:
    if finished.ended_by in ("cancelled", "output_limit"):
        return stop.reason or "cancelled"
    return "timeout" if finished.ended_by == "timeout" else _by_itself(finished)


def _by_itself(finished: Finished) -> EndedBy:
    return "resource_limit" if finished.ended_by == "resource_limit" else "exit"
