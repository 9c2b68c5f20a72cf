"""Run one command in the sandbox, connected to the streams of this process, and write its evidence.

The command gets neither our environment nor our file descriptors: output is copied.
"""

import asyncio
import os
import select
import stat
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import msgspec

from skills_runtime.cli.program import interrupts, write_error
from skills_runtime.errors import EXIT_CODES, AccessRefused, SkillsRuntimeError, ValidationFailed
from skills_runtime.ports import ProcessRequest, SandboxPlan
from skills_runtime.processes import Finished, Limits, Stream, ThrottledOutput, execute_plan
from skills_runtime.sandbox import OsSandbox, ResourceLimits, SandboxPolicy, quarantine_report
from skills_runtime.sandbox.egress import EgressCallbacks, EgressRecord, EgressUsage
from skills_runtime.storage import write_atomic
from skills_runtime.text import readable_line

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
MAX_PENDING_BYTES = 1 << 20
"""Bytes buffered for a slow reader; beyond this the command is paused."""
STREAM_FDS: Mapping[Stream, int] = {"stdout": 1, "stderr": 2}
CHUNK_BYTES = 1 << 16
GRACE_SECONDS = 0.3
T = TypeVar("T")
MAX_NAMED = 3
MAX_DECISIONS = 1000
"""Decisions recorded individually; all are counted."""


def run_command(
    sandbox: OsSandbox,
    policy: SandboxPolicy,
    command: Sequence[str],
    variables: Mapping[str, str],
    evidence: str | None,
) -> int:
    """Run a command in the sandbox with the streams of this process; the exit code is its own."""
    plan = sandbox.plan(ProcessRequest(argv=tuple(command), cwd=policy.workspace, environment=variables))
    limits, network_log = policy.limits, NetworkLog()
    with evidence_file(evidence) as file:
        finished = asyncio.run(_run(plan, network_log.create_callbacks, limits))
        if file is not None:
            document = {
                **network_log.add_to(plan.evidence),
                "ended_by": finished.ended_by,
                "exceeded": finished.exceeded,
                "duration_ms": finished.duration_ms,
                "counted": dict(finished.counted),
                "quarantined": quarantine_report(finished.quarantined),
                **({"removed": finished.removed} if finished.removed is not None else {}),
            }
            file.write(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    if finished.quarantined:
        names = ", ".join(f"`{item.path}`" for item in finished.quarantined[:MAX_NAMED])
        more = len(finished.quarantined) - MAX_NAMED
        text = readable_line(f"{names} and {more} more" if more > 0 else names)
        sys.stderr.write(f"notice: new files that programs would execute were quarantined: {text}\n")
        sys.stderr.write("  restore them: skills-runtime sandbox accept\n")
    return _exit_code(finished, limits.wall_seconds)


async def _run(plan: SandboxPlan, create_callbacks: Callable[[], EgressCallbacks], limits: ResourceLimits) -> Finished:
    """Run the planned command until all its processes have ended; a signal stops it."""
    stop = asyncio.Event()
    with interrupts() as interruption:
        interrupted = asyncio.ensure_future(interruption.wait())
        interrupted.add_done_callback(lambda _: stop.set())
        try:
            return await _run_with_streams(plan, create_callbacks, limits, stop)
        finally:
            interrupted.cancel()


def _exit_code(finished: Finished, wall_seconds: float | None) -> int:
    """Return the exit code; report a command that exceeded a limit."""
    if finished.ended_by == "timeout":
        write_error(
            f"the command was ended after {wall_seconds:g} s", kind="timeout", hint="`--timeout` raises the limit"
        )
        return EXIT_CODES["timeout"]
    if finished.ended_by in ("output_limit", "resource_limit"):
        limit = finished.exceeded or "output"
        write_error(
            f"the command was ended: it exceeded its {limit} limit",
            kind="sandbox_denied",
            hint=(f"`--{limit}` raises the limit" if limit in ("memory", "disk") else "write to a file instead"),
        )
        return EXIT_CODES["sandbox_denied"]
    if finished.exit_code is not None:
        return finished.exit_code
    return 128 + (finished.signal or 0)


class NetworkLog:
    """Record network decisions; hosts are never asked about, because the terminal belongs to the command."""

    def __init__(self) -> None:
        self._account: EgressUsage | None = None
        self._decisions: list[EgressRecord] = []

    def create_callbacks(self) -> EgressCallbacks:
        """Create the callbacks that record every decision."""
        self._account = EgressUsage()
        return EgressCallbacks(record=self._record)

    def add_to(self, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the evidence with the network decisions added."""
        if self._account is None:
            return evidence
        decisions = [msgspec.to_builtins(decision) for decision in self._decisions]
        return {**evidence, "network": {**self._account.summary(), "decisions": decisions}}

    def _record(self, record: EgressRecord) -> None:
        if self._account is not None:
            self._account.add(record)
        if len(self._decisions) < MAX_DECISIONS:
            self._decisions.append(record)


# Streams


async def _run_with_streams(
    plan: SandboxPlan, create_callbacks: Callable[[], EgressCallbacks], limits: ResourceLimits, stop: asyncio.Event
) -> Finished:
    """Run a command with its streams joined to ours; the create_callbacks is made where it has a network."""
    writer = OutputWriter(limits.output_bytes, on_failure=stop.set)
    read_end, write_end = os.pipe()
    try:
        # Reading stdin may block forever, so a daemon thread does it.
        threading.Thread(target=_copy_stdin, args=(write_end,), daemon=True).start()
        bounds = Limits(
            wall_seconds=limits.wall_seconds,
            output_bytes=0,
            grace_seconds=GRACE_SECONDS,
            total_bytes=limits.output_bytes,
        )
        finished = await execute_plan(
            plan,
            bounds,
            create_callbacks,
            on_output=ThrottledOutput(writer.write, writer.has_room),
            stop=stop,
            source=read_end,
        )
    except SkillsRuntimeError:
        await writer.finish(stop)
        raise
    finally:
        os.close(read_end)
    await writer.finish(stop)
    writer.check()
    return finished


def _copy_stdin(write_end: int) -> None:
    try:
        while piece := _retry_when_ready(0, select.POLLIN, lambda: os.read(0, CHUNK_BYTES)):
            data = memoryview(piece)
            while data:
                data = data[os.write(write_end, data) :]
    except OSError:  # the command closed its input, or we have none
        return
    finally:
        os.close(write_end)


class OutputWriter:
    """Write output in a thread, in order and bounded; used only by the task that runs the command."""

    def __init__(
        self, allowed: int | None, *, on_failure: Callable[[], object], fds: Mapping[Stream, int] = STREAM_FDS
    ) -> None:
        self._remaining = allowed
        self._fds = fds
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[tuple[int, bytes]] = SimpleQueue()
        self._pending_bytes = 0
        self._is_started = False
        self._failure: OSError | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self.has_room = asyncio.Event()
        """Set while the buffer accepts more data."""
        self.has_room.set()

    def write(self, stream: Stream, data: bytes) -> None:
        """Queue data to write; raise `OSError` if an earlier write failed."""
        self.check()
        if self._remaining is not None:
            data = data[: self._remaining]
            self._remaining -= len(data)
        if not data:
            return
        if not self._is_started:
            self._is_started = True
            # Writing may block forever; a daemon thread does not keep the process alive.
            threading.Thread(target=self._write_queued, daemon=True).start()
        self._pending_bytes += len(data)
        self._idle.clear()
        if self._pending_bytes > MAX_PENDING_BYTES:
            self.has_room.clear()
        self._queue.put((self._fds[stream], data))

    def check(self) -> None:
        """Raise the error of an earlier write, if any."""
        if self._failure is not None:
            raise self._failure

    async def finish(self, stop: asyncio.Event) -> None:
        """Wait until everything is written, writing fails, or `stop` is set."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._idle, stop)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()

    def _write_queued(self) -> None:
        while True:
            number, data = self._queue.get()
            failure: OSError | None = None
            try:
                remaining = memoryview(data)
                while remaining:
                    remaining = remaining[
                        _retry_when_ready(number, select.POLLOUT, partial(os.write, number, remaining)) :
                    ]
            except OSError as error:
                failure = error
            with suppress(RuntimeError):  # the event loop has ended
                self._loop.call_soon_threadsafe(self._finish_write, len(data), failure)

    def _finish_write(self, size: int, failure: OSError | None) -> None:
        self._pending_bytes -= size
        if failure is not None and self._failure is None:
            self._failure = failure
            self._on_failure()
        if self._pending_bytes <= MAX_PENDING_BYTES:
            self.has_room.set()
        if not self._pending_bytes or self._failure is not None:
            self._idle.set()


def _retry_when_ready(number: int, event: int, call: Callable[[], T]) -> T:
    """Retry when the descriptor is ready: we may have inherited it in non-blocking mode."""
    while True:
        try:
            return call()
        except BlockingIOError:
            poll = select.poll()
            poll.register(number, event)
            poll.poll()


# Evidence


class EvidenceFile:
    """The evidence file: a name in a directory that is held open."""

    def __init__(self, path: Path, directory: int) -> None:
        self._path = path
        self._directory = directory

    def write(self, data: bytes) -> None:
        """Write the file; raise if the directory was moved meanwhile."""
        write_atomic(self._path.name, data, mode=0o666, durable=False, dir_fd=self._directory)
        try:
            moved = not os.path.samestat(self._path.parent.stat(), os.fstat(self._directory))
        except OSError:
            moved = True
        if moved:
            raise AccessRefused(
                f"the command has moved the directory of `{self._path}`, so the file there is not the evidence",
                hint="name a file outside the workspace",
            )


@contextmanager
def evidence_file(path: str | None) -> Generator[EvidenceFile | None]:
    """Open the evidence file before the command starts; raise if it is not writable."""
    if path is None:
        yield None
        return
    if not path.strip() or path.endswith("/") or "\0" in path:
        raise ValidationFailed("`--evidence` does not name a file", hint="give the path of a file")
    evidence_path = Path(os.path.abspath(path))
    directory = os.open(evidence_path.parent, _DIRECTORY)
    try:
        _refuse_unwritable(evidence_path, directory)
        yield EvidenceFile(evidence_path, directory)
    finally:
        os.close(directory)


def _refuse_unwritable(path: Path, directory: int) -> None:
    try:
        info = os.stat(path.name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        info = None
    if info is not None and not stat.S_ISREG(info.st_mode):
        raise ValidationFailed(
            f"`{path}` is not a regular file, so evidence is not written to it", hint="choose another file"
        )
    if not os.access(path.parent, os.W_OK):
        raise AccessRefused(f"no file can be created in the directory of `{path}`", hint="check the permissions")
