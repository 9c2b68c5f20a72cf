"""Terminal sessions of the server: they run in the sandbox and are kept until a client has read their end."""

import asyncio
import codecs
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from skills_runtime.errors import AccessRefused, NotFound, ValidationFailed
from skills_runtime.ports import Clock, ProcessRequest, Sandbox
from skills_runtime.processes.command import MEBIBYTE
from skills_runtime.processes.execute import session_resources
from skills_runtime.processes.server.registry import MARKER, Registry
from skills_runtime.processes.terminals import PtySession, Reading, SessionStatus, Size
from skills_runtime.sandbox import quarantine_report

if TYPE_CHECKING:
    from skills_runtime.sandbox.egress import EgressCallbacks, EgressUsage


def milliseconds(clock: Clock) -> int:
    """Return the milliseconds since 1970."""
    return int(datetime.fromisoformat(clock.now()).timestamp() * 1000)


class ServedNetwork:
    """Counts the network use of a session, if it has a network; there is no user to ask about hosts."""

    def __init__(self) -> None:
        self._account: EgressUsage | None = None

    def egress_callbacks(self) -> "EgressCallbacks":
        """Create the callbacks that record every decision."""
        from skills_runtime.sandbox.egress import EgressCallbacks, EgressUsage

        self._account = account = EgressUsage()
        return EgressCallbacks(record=account.add)

    def merge_evidence(self, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add the network summary to the sandbox evidence."""
        return evidence if self._account is None else {**evidence, "network": self._account.summary()}


Encoding = Literal["text", "base64"]

MAX_SESSIONS = 64
# Ended sessions whose end can be read again, because the answer may have been lost.
MAX_ENDED = 64

OUTPUT_BYTES = 8 * MEBIBYTE
"""Limit for unread output; more loses its middle, and says so."""

WRITE_MS = 5000
"""How long a program may take to read its input."""

DIED_OF_SIGNAL = 128
"""Added to the number of a signal, as shells do."""


class SessionOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Output of a session since the last read; `running` is false only when nothing follows."""

    session_id: int
    running: bool
    stdout: str
    stderr: str = ""
    """Always empty: a terminal has one stream."""
    exit_code: int | None = None
    signal: int | None = None
    truncated: bool = False
    left_out: int = 0
    """Bytes that were dropped because the session was not read for too long."""
    survivors: tuple[int, ...] = ()
    sandbox: Mapping[str, Any] = {}


class Session:
    """A session with its unread output."""

    def __init__(
        self,
        number: int,
        terminal: PtySession,
        request: ProcessRequest,
        evidence: Mapping[str, Any],
        network: ServedNetwork,
    ) -> None:
        self.number = number
        self.terminal = terminal
        self.argv = request.argv
        self._evidence = evidence
        self._network = network
        self.created_at_ms = 0
        self._buffer = bytearray()
        self._left_out = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def evidence(self) -> Mapping[str, Any]:
        """Sandbox evidence, with the network summary so far."""
        return self._network.merge_evidence(self._evidence)

    @property
    def running(self) -> bool:
        """Whether any of its processes is left."""
        return self.terminal.status.running

    async def read(
        self, *, wait_ms: int, limit: int, encoding: Encoding = "text", until_idle_ms: int | None = None
    ) -> SessionOutput:
        """Return at most `limit` bytes of new output; the rest follows with the next read."""
        if not self._buffer:
            self._buffer_reading(await self.terminal.read(timeout_ms=wait_ms, until_idle_ms=until_idle_ms))
        piece = bytes(self._buffer[:limit])
        del self._buffer[:limit]
        left_out, self._left_out = self._left_out, 0
        status = self.terminal.status
        is_final = not (status.running or self._buffer or self.terminal.unread)
        return SessionOutput(
            session_id=self.number,
            running=not is_final,
            stdout=b64encode(piece).decode() if encoding == "base64" else self._decoder.decode(piece, is_final),
            truncated=bool(left_out),
            left_out=left_out,
            sandbox={**self.evidence, "quarantined": quarantine_report(status.quarantined)}
            if status.quarantined and is_final
            else self.evidence,
            **(_exit_fields(status) if is_final else {}),
        )

    def _buffer_reading(self, reading: Reading) -> None:
        output = reading.output
        self._left_out += output.left_out
        gap = f"\n… {output.left_out} bytes left out …\n".encode() if output.left_out else b""
        self._buffer += output.head + gap + output.tail


def _exit_fields(status: SessionStatus) -> dict[str, Any]:
    code = DIED_OF_SIGNAL + status.signal if status.signal is not None else status.exit_code
    return {"exit_code": code, "signal": status.signal, "survivors": status.survivors}


class ServedSessions:
    """Sessions by number; numbers are never reused in this workspace."""

    def __init__(self, workspace_root: Path, sandbox: Sandbox, registry: Registry, clock: Clock) -> None:
        self._root = workspace_root
        self._sandbox = sandbox
        self._registry = registry
        self._clock = clock
        self._sessions: dict[int, Session] = {}
        self._ended: OrderedDict[int, SessionOutput] = OrderedDict()
        self._starting = 0

    async def spawn(self, request: ProcessRequest, *, size: Size) -> Session:
        """Start a command on a terminal in the sandbox."""
        if not request.cwd.is_relative_to(self._root):
            raise AccessRefused(f"`{request.cwd}` is outside the workspace", hint=f"start below `{self._root}`")
        self.remove_ended()
        if len(self._sessions) + self._starting >= MAX_SESSIONS:
            raise ValidationFailed(f"there are {MAX_SESSIONS} sessions already", hint="close one with `exec.close`")
        self._starting += 1
        try:
            session = await self._start(request, size)
        finally:
            self._starting -= 1
        self._sessions[session.number] = session
        return session

    async def read(
        self,
        number: int,
        *,
        wait_ms: int,
        limit: int,
        encoding: Encoding = "text",
        until_idle_ms: int | None = None,
    ) -> SessionOutput:
        """Read new output of a session; its end can be read again."""
        if number in self._ended:
            return self._ended[number]
        session = self.get(number)
        output = await session.read(wait_ms=wait_ms, limit=limit, encoding=encoding, until_idle_ms=until_idle_ms)
        if not output.running:
            self._forget(number, msgspec.structs.replace(output, stdout="", truncated=False, left_out=0))
        return output

    async def write(self, number: int, data: bytes) -> int:
        """Type data; return how many bytes were accepted."""
        return 0 if number in self._ended else await self.get(number).terminal.write(data, timeout_ms=WRITE_MS)

    def signal(self, number: int, signals: Signals) -> None:
        """Signal the foreground programs of a session."""
        self.get(number).terminal.signal(signals)

    def resize(self, number: int, rows: int, columns: int) -> None:
        """Change the size of a terminal."""
        self.get(number).terminal.resize(rows, columns)

    async def close(self, number: int) -> SessionOutput:
        """End a session and forget it; wait until its processes are gone."""
        if number in self._ended:
            return self._ended[number]
        session = self.get(number)
        status = await session.terminal.close()
        ending = SessionOutput(
            session_id=number, running=False, stdout="", sandbox=session.evidence, **_exit_fields(status)
        )
        self._forget(number, ending)
        return ending

    async def close_all(self) -> int:
        """End all sessions concurrently; return how many there were."""
        numbers = tuple(self._sessions)
        async with asyncio.TaskGroup() as group:
            for number in numbers:
                group.create_task(self.close(number))
        return len(numbers)

    def get(self, number: int) -> Session:
        """Return the session with this number."""
        try:
            return self._sessions[number]
        except KeyError:
            numbers = ", ".join(f"`{session}`" for session in self._sessions) or "none"
            raise NotFound(f"there is no session `{number}`", hint=f"open sessions: {numbers}") from None

    def all(self) -> tuple[Session, ...]:
        """Return the sessions whose end has not been read, oldest first."""
        return tuple(self._sessions.values())

    @property
    def running(self) -> int:
        """Number of sessions that run or are being started."""
        return self._starting + sum(session.running for session in self._sessions.values())

    def remove_ended(self) -> None:
        """Remove sessions from the registry whose processes are gone."""
        self._registry.end(*(number for number, session in self._sessions.items() if not session.running))

    async def _start(self, request: ProcessRequest, size: Size) -> Session:
        # Planning scans the workspace, which may take a while; other requests are served meanwhile.
        plan = await asyncio.to_thread(self._sandbox.plan, request)
        created_at_ms = milliseconds(self._clock)
        number, entry = self._registry.begin(created_at_ms=created_at_ms)
        environment = {**plan.environment, MARKER: entry.marker}
        plan = msgspec.structs.replace(plan, environment=environment)
        network = ServedNetwork()
        try:
            async with session_resources(plan, network.egress_callbacks) as (command, companion):
                terminal = await PtySession.start(command, size=size, output_bytes=OUTPUT_BYTES, companion=companion)
            if companion.claim is not None:
                companion.claim.holder = f"session `{number}` of the workspace server"
        except BaseException:
            self._registry.end(number)
            raise
        self._registry.record_process(number, terminal.pid or 0)
        session = Session(number, terminal, request, plan.evidence, network)
        session.created_at_ms = created_at_ms
        return session

    def _forget(self, number: int, ending: SessionOutput) -> None:
        self._sessions.pop(number, None)
        self._registry.end(number)
        self._ended[number] = ending
        while len(self._ended) > MAX_ENDED:
            self._ended.popitem(last=False)
