"""Run a command to its end: every byte in order, and no process left when the call returns.

A planned command with network access runs together with its proxy.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.ports import SandboxPlan
from skills_runtime.processes.capture import Capture
from skills_runtime.processes.claims import claim_plan, plan_claim
from skills_runtime.processes.command import Command, EndedBy, Finished, Limits, Stream, no_capacity_error
from skills_runtime.processes.descriptors import Reader, Writer
from skills_runtime.processes.supervised import Start, Supervised, prepare, supervise

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import EgressCallbacks, Gateway
    from skills_runtime.storage import Claim

OnOutput = Callable[[Stream, bytes], None]


class ThrottledOutput(msgspec.Struct, frozen=True):
    """A receiver with backpressure: while `ready` is not set, nothing is read from the command."""

    write: OnOutput
    ready: asyncio.Event


async def execute(
    command: Command,
    limits: Limits,
    *,
    on_output: OnOutput | ThrottledOutput | None = None,
    stop: asyncio.Event | None = None,
    source: int | None = None,
    on_start: Callable[[], None] | None = None,
) -> Finished:
    """Run a command until all its processes are gone; `on_output` receives every chunk as it arrives.

    It reads from the descriptor `source` if there is one, which the caller closes; otherwise it reads its `stdin`.
    `on_start` is called when its descriptors have been handed over, so that those of the caller can be closed.
    A cancelled call raises `CancelledError` when all is gone. Setting `stop` ends the command as well, but returns
    what it has written. Processes still there when the program itself exits are part of the call and are ended.
    """
    start = prepare(command, grace=limits.grace_seconds, niceness=limits.niceness)
    with ExitStack() as resources:
        execution = _Execution(limits, on_output, resources)
        await execution.start(start, source)
        if on_start is not None:
            on_start()
        await execution.wait(stop)
        return execution.result()


class _Execution:
    """A running command."""

    def __init__(self, limits: Limits, on_output: OnOutput | ThrottledOutput | None, resources: ExitStack) -> None:
        self._limits = limits
        self._on_output = on_output.write if isinstance(on_output, ThrottledOutput) else on_output
        self._ready = on_output.ready if isinstance(on_output, ThrottledOutput) else None
        self._resources = resources
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._changed = asyncio.Event()
        self._pieces: list[tuple[Stream, bytes]] = []
        self._captures: dict[Stream, Capture] = {
            "stdout": Capture(limits.output_bytes),
            "stderr": Capture(limits.output_bytes),
        }
        self._readers: dict[Stream, Reader] = {}
        self._ended_by: EndedBy = "exit"
        self._failing = False
        self._paused = False
        self._supervised: Supervised

    async def start(self, start: Start, source: int | None) -> None:
        """Pass the command and one end of each pipe to a supervisor."""
        with ExitStack() as theirs:
            streams = self._open(start.command.stdin, theirs, source)
            self._supervised = await supervise(start, streams, self._changed)
        self._resources.callback(self._supervised.close)

    async def wait(self, stop: asyncio.Event | None) -> None:
        """Deliver the output until all processes are gone."""
        if self._limits.wall_seconds is not None:
            timer = self._loop.call_later(self._limits.wall_seconds, self._end, "timeout")
            self._resources.callback(timer.cancel)
        if stop is not None:
            waiting = asyncio.ensure_future(stop.wait())
            waiting.add_done_callback(lambda task: None if task.cancelled() else self._end("cancelled"))
            self._resources.callback(waiting.cancel)
        try:
            while not self._supervised.gone:
                self._changed.clear()
                await self._changed.wait()
                self._deliver()
                self._pause_until_ready()
            for stream, reader in self._readers.items():
                for piece in reader.drain():
                    self._record(stream, piece)
        except BaseException:
            self._failing = True
            self._supervised.end(grace=self._limits.grace_seconds)
            await self._supervised.wait_until_gone()
            raise
        await self._supervised.wait_until_gone()

    def result(self) -> Finished:
        """Return the result, or raise why the command failed to start."""
        if self._supervised.failure is not None:
            raise self._supervised.failure
        return Finished(
            exit_code=self._supervised.exit_code,
            signal=self._supervised.signal,
            stdout=self._captures["stdout"].snapshot(),
            stderr=self._captures["stderr"].snapshot(),
            duration_ms=round((self._loop.time() - self._began) * 1000),
            ended_by="resource_limit" if self._supervised.exceeded else self._ended_by,
            survivors=self._supervised.survivors,
            exceeded=self._supervised.exceeded,
            counted=self._supervised.counted,
            quarantined=self._supervised.quarantined,
            removed=self._supervised.removed,
        )

    def _open(self, data: bytes, theirs: ExitStack, source: int | None) -> tuple[int, int, int]:
        try:
            stdin = self._input(data, theirs) if source is None else source
            return (stdin, self._output("stdout", theirs), self._output("stderr", theirs))
        except OSError as error:
            raise no_capacity_error(error) from error

    def _input(self, data: bytes, theirs: ExitStack) -> int:
        if not data:
            return theirs.enter_context(open(os.devnull, "rb", buffering=0)).fileno()
        read_end, write_end = os.pipe()
        theirs.callback(os.close, read_end)
        file = self._resources.enter_context(open(write_end, "wb", buffering=0))  # noqa: SIM115
        writer = Writer(write_end, on_drained=file.close)
        self._resources.callback(writer.discard)
        writer.send(data)
        return read_end

    def _output(self, stream: Stream, theirs: ExitStack) -> int:
        read_end, write_end = os.pipe()
        theirs.callback(os.close, write_end)
        self._resources.enter_context(open(read_end, "rb", buffering=0))  # noqa: SIM115
        self._readers[stream] = reader = Reader(read_end, partial(self._receive, stream))
        self._resources.callback(reader.stop)
        return write_end

    def _receive(self, stream: Stream, piece: bytes) -> None:
        # Passed on by the task that executes, not from here, so that an error in `on_output` reaches its caller.
        if not self._failing:
            self._pieces.append((stream, piece))
            self._changed.set()

    def _deliver(self) -> None:
        pieces, self._pieces = self._pieces, []
        for stream, piece in pieces:
            self._record(stream, piece)
        allowed = self._limits.total_bytes
        if allowed is not None and sum(capture.total for capture in self._captures.values()) > allowed:
            self._end("output_limit")

    def _pause_until_ready(self) -> None:
        if self._ready is None or self._ready.is_set() or self._paused:
            return
        self._paused = True
        for reader in self._readers.values():
            reader.pause()
        waiting = asyncio.ensure_future(self._ready.wait())
        waiting.add_done_callback(lambda task: None if task.cancelled() else self._resume())
        self._resources.callback(waiting.cancel)

    def _resume(self) -> None:
        self._paused = False
        for reader in self._readers.values():
            reader.resume()

    def _record(self, stream: Stream, piece: bytes) -> None:
        self._captures[stream].feed(piece)
        if self._on_output is not None:
            self._on_output(stream, piece)

    def _end(self, reason: EndedBy) -> None:
        """End the command for a reason, unless it has ended or is being ended already."""
        if self._ended_by == "exit" and not self._supervised.exited:
            self._ended_by = reason
            self._supervised.end(grace=self._limits.grace_seconds)


MakeEgressCallbacks = Callable[[], "EgressCallbacks"]
"""Creates the callbacks for the network of a command; called only if the command has a network."""


async def execute_plan(
    plan: SandboxPlan,
    limits: Limits,
    egress_callbacks: MakeEgressCallbacks,
    *,
    on_output: OnOutput | ThrottledOutput | None = None,
    stop: asyncio.Event | None = None,
    source: int | None = None,
) -> Finished:
    """Run a planned command until it, its network and all its processes are gone; see `execute`.

    A command whose network fails is ended, and the failure is raised.
    """
    async with plan_claim(plan):
        return await _execute_plan(plan, limits, egress_callbacks, on_output=on_output, stop=stop, source=source)


async def _execute_plan(
    plan: SandboxPlan,
    limits: Limits,
    egress_callbacks: MakeEgressCallbacks,
    *,
    on_output: OnOutput | ThrottledOutput | None,
    stop: asyncio.Event | None,
    source: int | None,
) -> Finished:
    if plan.egress is None:
        return await execute(build_command(plan), limits, on_output=on_output, stop=stop, source=source)
    from skills_runtime.sandbox.egress import Gateway

    stop_event = stop or asyncio.Event()
    failures: list[Exception] = []

    def on_failure(error: Exception) -> None:
        if not stop_event.is_set():  # a stopped command has lost its network anyway
            failures.append(error)
            stop_event.set()

    async with Gateway(plan.egress, egress_callbacks(), failed=on_failure) as gateway:
        command = build_command(plan, gateway.descriptors)
        finished = await execute(
            command, limits, on_output=on_output, stop=stop_event, source=source, on_start=gateway.start
        )
    if failures and finished.ended_by in ("exit", "cancelled"):
        failure = failures[0]
        # The last line of the sandbox has the reason.
        last_line = finished.stderr.text().strip().rpartition("\n")[2]
        if isinstance(failure, SandboxError) and last_line:
            raise SandboxError(f"{failure.message}: {last_line}", hint=failure.hint)
        raise failure
    return finished


class SessionCompanion:
    """Resources of a session: its claim of the workspace, and its network."""

    def __init__(self, claim: "Claim | None", gateway: "Gateway | None") -> None:
        self.claim = claim
        self.gateway = gateway

    def on_start(self) -> None:
        """Start the network: the descriptors have been passed to the command."""
        if self.gateway is not None:
            self.gateway.start()

    async def close(self, *, drain: bool = False) -> None:
        """Release the claim and close the network; `drain` lets open transfers finish after a normal exit."""
        if self.claim is not None:
            self.claim.release()
        if self.gateway is not None:
            await self.gateway.close(drain=drain)


@asynccontextmanager
async def session_resources(
    plan: SandboxPlan, egress_callbacks: MakeEgressCallbacks, claim: "Claim | None" = None
) -> AsyncGenerator[tuple[Command, SessionCompanion]]:
    """Yield the command of a plan and the resources of its session; release them if the start fails.

    Without a `claim`, which is the session's from now on, a sandboxed one makes its own.
    """
    companion = SessionCompanion(claim or await claim_plan(plan, "a session", lasting=True), None)
    try:
        if plan.egress is not None:
            from skills_runtime.sandbox.egress import Gateway

            companion.gateway = Gateway(plan.egress, egress_callbacks())
        descriptors = companion.gateway.descriptors if companion.gateway is not None else ()
        yield build_command(plan, descriptors), companion
    except BaseException:
        await companion.close()
        raise


def build_command(plan: SandboxPlan, descriptors: tuple[int, ...] = ()) -> Command:
    """Build the command that is executed for a plan."""
    return Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup, descriptors=descriptors)
