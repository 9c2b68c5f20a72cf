"""Terminal sessions: those of one run, and those that outlive it and belong to the caller.

Sessions that outlive a run live on an event loop in a thread of its own, because each `Agent.run` has another event
loop.
"""

import asyncio
import shlex
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import msgspec
from msgspec import Meta

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.ports import SandboxPlan, Secrets, SecretStream, ToolContext, ToolResult
from skills_runtime.processes import PtySession, Reading, Sessions, session_resources
from skills_runtime.tools.invoke import LIMIT, REDACTED, spill_large_values
from skills_runtime.tools.processes import (
    CommandNetwork,
    count_left_out,
    emit_decision,
    exit_status,
    note_quarantined,
    process_facts,
)

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import EgressRecord
    from skills_runtime.storage import Claim

TOKEN_BYTES = 4
"""Approximate number of bytes in a token."""
DEFAULT_YIELD_MS = 50
MAX_YIELD_MS = 10 * 60 * 1000
# Time between SIGHUP and SIGKILL; short, so that cancelling a run with open sessions takes less than a second.
GRACE_SECONDS = 0.3
WRITE_MS = 5000
"""How long a program may take to read its input."""

YieldMs = Annotated[
    int, Meta(ge=0, le=MAX_YIELD_MS, description="Milliseconds to wait for output, unless the program exits earlier.")
]
OutputTokens = Annotated[
    int,
    Meta(ge=1, description="Approximate amount of output to show; the rest is stored, except what `left_out` counts."),
]


class RunSessions:
    """Sessions of one run by number, each with its sandbox evidence; closed when work on the run stops."""

    def __init__(self) -> None:
        self._sessions = Sessions(grace_seconds=GRACE_SECONDS)
        self._open_sessions: dict[int, tuple[PtySession, Mapping[str, Any]]] = {}
        self._programs: dict[int, str] = {}
        self._networks: dict[int, CommandNetwork] = {}

    async def start(
        self, plan: SandboxPlan, network: CommandNetwork | None = None, claim: "Claim | None" = None
    ) -> int:
        """Start a command on a terminal and return its number; the session owns the `claim` if one is passed."""
        network = network or CommandNetwork()
        async with session_resources(plan, network.egress_callbacks, claim) as (command, companion):
            number = await self._sessions.start(command, companion=companion)
        if companion.claim is not None:
            companion.claim.holder = f"session `{number}`{network.run_suffix}"
        network.attach(number, companion.gateway)
        self._networks[number] = network
        self._open_sessions[number] = self._sessions.get(number), plan.evidence
        self._programs[number] = shlex.join(plan.argv)
        return number

    def program(self, number: int) -> tuple[str, Mapping[str, Any]]:
        """Return the command line of a session and the evidence of its sandbox."""
        _, evidence = self._find(number)
        return self._programs[number], evidence

    async def write(self, number: int, data: bytes) -> int:
        """Write to the terminal and return how many bytes the program accepted."""
        session, _ = self._find(number)
        return await session.write(data, timeout_ms=WRITE_MS)

    async def read(self, number: int, *, wait_ms: int) -> tuple[Reading, Mapping[str, Any]]:
        """Return the output since the last read and the sandbox evidence; forget a session that has ended."""
        session, evidence = self._find(number)
        reading = await session.read(timeout_ms=wait_ms)
        if not reading.status.running:
            await self.close(number)
        stop = self._networks[number].stop_error
        if stop is not None:
            raise stop
        return reading, self._networks[number].merge_evidence(evidence)

    def drain_network_records(self, number: int) -> "Iterator[EgressRecord]":
        """Yield the network decisions of a session that have not been recorded yet."""
        network = self._networks[number] if number in self._open_sessions else self._networks.pop(number, None)
        return network.drain_records() if network is not None else iter(())

    async def close(self, number: int) -> None:
        """End a session and forget it; do nothing if it is already forgotten."""
        self._open_sessions.pop(number, None)
        if number in self._sessions.numbers():
            await self._sessions.close(number)

    async def aclose(self) -> None:
        """End all sessions and wait until their processes are gone."""
        self._open_sessions.clear()
        self._networks.clear()
        await self._sessions.close_all()

    def _find(self, number: int) -> tuple[PtySession, Mapping[str, Any]]:
        # The registry drops sessions that ended without output, but the model has not been told yet.
        if number in self._open_sessions:
            return self._open_sessions[number]
        numbers = ", ".join(f"`{open_number}`" for open_number in self._open_sessions) or "none"
        raise NotFound(f"there is no session `{number}`", hint=f"open sessions: {numbers}")


class RedactedStreams:
    """Redacts session output; finds secrets that are split across two reads, too."""

    def __init__(self) -> None:
        self._streams: dict[int, SecretStream] = {}

    def redact(self, number: int, text: str, secrets: Secrets, *, last: bool) -> str:
        """Return the part of the next output that is safe to show; hold back a possible start of a secret."""
        stream = self._streams.setdefault(number, secrets.stream())
        if not last:
            return stream.feed(text)
        del self._streams[number]
        return stream.feed(text) + stream.finish()

    async def aclose(self) -> None:
        """Drop all buffered output."""
        self._streams.clear()


def get_run_sessions(context: ToolContext) -> RunSessions:
    """Return the sessions of the run that a call belongs to."""
    return context.scope.hold(RunSessions, RunSessions)


async def read_session(
    context: ToolContext, number: int, *, wait_ms: int, max_tokens: int | None, note: str = ""
) -> ToolResult:
    """Read a session and return its output and status as a tool result."""
    sessions = get_run_sessions(context)
    reading, evidence = await sessions.read(number, wait_ms=wait_ms)
    for record in sessions.drain_network_records(number):
        emit_decision(record, context, number)
    status = reading.status
    code, kind = exit_status(status.exit_code, status.signal)
    dropped = count_left_out(stdout=reading.output)
    facts = process_facts(evidence, signal=status.signal, left_out=dropped, survivors=list(status.survivors))
    text = reading.output.text()
    streams = context.scope.hold(RedactedStreams, RedactedStreams)
    result = ToolResult(
        ok=kind is None,
        stdout=streams.redact(number, text, context.secrets, last=not status.running),
        stderr=note,
        exit_code=code,
        truncated=bool(reading.output.left_out),
        error_kind=kind,
    )
    if result.stdout != text:
        facts[REDACTED] = {"blob": context.keep(text.encode(errors="replace"))}
    trimmed = result
    if max_tokens is not None:
        trimmed = spill_large_values(result, context.keep, limit=min(max_tokens * TOKEN_BYTES, LIMIT))
    state = {"session_id": number if status.running else None, "running": status.running}
    trimmed = msgspec.structs.replace(trimmed, data={**state, **facts, **(trimmed.data or {})})
    return note_quarantined(trimmed, status.quarantined, context.run_id)


T = TypeVar("T")


class ExecSessions:
    """Sessions of exec_command shared by all runs of the agents that get this object; a context manager.

    Session numbers are shared: a later run can continue a session that an earlier run started.
    """

    def __init__(self) -> None:
        self._sessions = RunSessions()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._lock = threading.Lock()

    async def start(self, plan: SandboxPlan, claim: "Claim | None" = None) -> int:
        """Start a command on a terminal and return its number."""
        started: list[int] = []
        try:
            return await asyncio.wrap_future(self._submit(self._start(plan, started, claim)))
        except asyncio.CancelledError:
            # All sessions are closed already, this one included.
            with suppress(ValidationFailed):
                # The caller never got the number, so it could not end the session.
                self._submit(self._close(started))
            raise

    def program(self, number: int) -> tuple[str, Mapping[str, Any]]:
        """Return the command line of a session and the evidence of its sandbox."""
        return self._sessions.program(number)

    async def write(self, number: int, data: bytes) -> int:
        """Write to the terminal and return how many bytes the program accepted."""
        return await asyncio.wrap_future(self._submit(self._sessions.write(number, data)))

    async def read(self, number: int, *, wait_ms: int) -> tuple[Reading, Mapping[str, Any]]:
        """Return the output since the last read and the sandbox evidence."""
        return await asyncio.wrap_future(self._submit(self._sessions.read(number, wait_ms=wait_ms)))

    def drain_network_records(self, number: int) -> "Iterator[EgressRecord]":
        """Yield the network decisions of a session that no run has recorded yet."""
        return self._sessions.drain_network_records(number)

    async def close(self, number: int) -> None:
        """End a session; do nothing if it is already forgotten."""
        await asyncio.wrap_future(self._submit(self._sessions.close(number)))

    async def aclose(self) -> None:
        """End all sessions for good and wait until their processes are gone."""
        closing = self._start_closing()
        if closing is not None:
            await asyncio.wrap_future(closing)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        closing = self._start_closing()
        if closing is not None:
            closing.result()

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
                raise ValidationFailed("these sessions were closed", hint="pass new ones to the agent")
            if self._loop is None:
                loop = self._loop = asyncio.new_event_loop()

                def serve() -> None:
                    loop.run_forever()
                    loop.close()

                threading.Thread(target=serve, name="terminals", daemon=True).start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _start_closing(self) -> "Future[None] | None":
        """Start closing everything, once; return a future, or None if nothing was open."""
        with self._lock:
            loop, self._loop, self._closed = self._loop, None, True
        if loop is None:
            return None
        closing = asyncio.run_coroutine_threadsafe(self._finish(), loop)
        closing.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
        return closing

    async def _finish(self) -> None:
        """Cancel the pending operations, then end every session."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._sessions.aclose()

    async def _start(self, plan: SandboxPlan, started: list[int], claim: "Claim | None") -> int:
        started.append(await self._sessions.start(plan, claim=claim))
        return started[0]

    async def _close(self, numbers: list[int]) -> None:
        for number in numbers:
            await self._sessions.close(number)


class BorrowedSessions(RunSessions):
    """Shared sessions as one run uses them; the owner closes them."""

    def __init__(self, sessions: ExecSessions) -> None:
        super().__init__()
        self._owner = sessions

    async def start(
        self, plan: SandboxPlan, network: CommandNetwork | None = None, claim: "Claim | None" = None
    ) -> int:
        """Start a command on a terminal and return its number.

        The session may outlive the run, so it gets no callback that asks the user about hosts.
        """
        return await self._owner.start(plan, claim)

    def program(self, number: int) -> tuple[str, Mapping[str, Any]]:
        """Return the command line of a session and the evidence of its sandbox."""
        return self._owner.program(number)

    async def write(self, number: int, data: bytes) -> int:
        """Write to the terminal and return how many bytes the program accepted."""
        return await self._owner.write(number, data)

    async def read(self, number: int, *, wait_ms: int) -> tuple[Reading, Mapping[str, Any]]:
        """Return the output since the last read and the sandbox evidence."""
        return await self._owner.read(number, wait_ms=wait_ms)

    def drain_network_records(self, number: int) -> "Iterator[EgressRecord]":
        """Yield the network decisions of a session that no run has recorded yet."""
        return self._owner.drain_network_records(number)

    async def close(self, number: int) -> None:
        """End a session and forget it."""
        await self._owner.close(number)

    async def aclose(self) -> None:
        """Leave the sessions open: their owner closes them."""
