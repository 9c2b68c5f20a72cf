"""Runs one command in the sandbox with the streams of this process, and writes the evidence of it.

Nothing of this process's environment is passed on, and the command never gets the streams themselves.
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
"""Bytes that may wait for the reader of our output; beyond them the command is made to wait."""
STREAM_FDS: Mapping[Stream, int] = {"stdout": 1, "stderr": 2}
CHUNK_BYTES = 1 << 16
GRACE_SECONDS = 0.3
T = TypeVar("T")
MAX_NAMED = 3
MAX_DECISIONS = 1000
"""How many decisions are told one by one; all are counted."""


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
        sys.stderr.write(f"notice: new files that programs obey were set aside: {text}\n")
        sys.stderr.write("  keep them: skills-runtime sandbox accept\n")
    return _exit_code(finished, limits.wall_seconds)


async def _run(plan: SandboxPlan, create_callbacks: Callable[[], EgressCallbacks], limits: ResourceLimits) -> Finished:
    """Run the planned command until nothing of it is left; a signal stops it."""
    stop = asyncio.Event()
    with interrupts() as interruption:
        interrupted = asyncio.ensure_future(interruption.wait())
        interrupted.add_done_callback(lambda _: stop.set())
        try:
            return await _run_with_streams(plan, create_callbacks, limits, stop)
        finally:
            interrupted.cancel()


def _exit_code(finished: Finished, wall_seconds: float | None) -> int:
    """The exit code, after a word about a command that was not let go on."""
    if finished.ended_by == "timeout":
        write_error(
            f"the command was ended after {wall_seconds:g} s", kind="timeout", hint="`--timeout` gives it more time"
        )
        return EXIT_CODES["timeout"]
    if finished.ended_by in ("output_limit", "resource_limit"):
        limit = finished.exceeded or "output"
        write_error(
            f"the command was ended: it went beyond its limit of {limit}",
            kind="sandbox_denied",
            hint=(f"`--{limit}` gives it more" if limit in ("memory", "disk") else "write to a file instead"),
        )
        return EXIT_CODES["sandbox_denied"]
    if finished.exit_code is not None:
        return finished.exit_code
    return 128 + (finished.signal or 0)


class NetworkLog:
    """Hears of every decision; nobody can be asked about a host, for the terminal belongs to the command."""

    def __init__(self) -> None:
        self._account: EgressUsage | None = None
        self._decisions: list[EgressRecord] = []

    def create_callbacks(self) -> EgressCallbacks:
        """Who hears of every decision."""
        self._account = EgressUsage()
        return EgressCallbacks(record=self._record)

    def add_to(self, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """The evidence of the fence, with the decisions."""
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
        # Reading from what this process was given may block for ever, so nobody waits for it.
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
    except OSError:  # the command reads no more, or there is nothing to read from
        return
    finally:
        os.close(write_end)


class OutputWriter:
    """What may still be written, and what waits to be; made and used by the task that runs the command."""

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
        """Set while more can be taken."""
        self.has_room.set()

    def write(self, stream: Stream, data: bytes) -> None:
        """Take more to write, in order; raises `OSError` when an earlier piece could not be written."""
        self.check()
        if self._remaining is not None:
            data = data[: self._remaining]
            self._remaining -= len(data)
        if not data:
            return
        if not self._is_started:
            self._is_started = True
            # Writing may block for ever; then this process ends without waiting for it.
            threading.Thread(target=self._write_queued, daemon=True).start()
        self._pending_bytes += len(data)
        self._idle.clear()
        if self._pending_bytes > MAX_PENDING_BYTES:
            self.has_room.clear()
        self._queue.put((self._fds[stream], data))

    def check(self) -> None:
        """Raise what went wrong with writing, if something did."""
        if self._failure is not None:
            raise self._failure

    async def finish(self, stop: asyncio.Event) -> None:
        """Wait until everything is written, or cannot be, or nobody wants to wait any more."""
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
            with suppress(RuntimeError):  # nobody waits any more
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
    """Call again when it can go on, where the descriptor was given to this process as one that never blocks."""
    while True:
        try:
            return call()
        except BlockingIOError:
            poll = select.poll()
            poll.register(number, event)
            poll.poll()


# Evidence


class EvidenceFile:
    """Where evidence goes: a name in a directory that is held open."""

    def __init__(self, path: Path, directory: int) -> None:
        self._path = path
        self._directory = directory

    def write(self, data: bytes) -> None:
        """Put a file with this content under the name; raises when the directory is no longer where it was."""
        write_atomic(self._path.name, data, mode=0o666, durable=False, dir_fd=self._directory)
        try:
            moved = not os.path.samestat(self._path.parent.stat(), os.fstat(self._directory))
        except OSError:
            moved = True
        if moved:
            raise AccessRefused(
                f"the command has moved the directory of `{self._path}`, so what is there now is not the evidence",
                hint="name a file outside the workspace",
            )


@contextmanager
def evidence_file(path: str | None) -> Generator[EvidenceFile | None]:
    """The file for evidence, refused before anything is started if it cannot be written; nothing without a path."""
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
        raise ValidationFailed(f"`{path}` is no ordinary file, so evidence is not written to it", hint="name another")
    if not os.access(path.parent, os.W_OK):
        raise AccessRefused(f"no file can be made beside `{path}`", hint="check who may write there")
