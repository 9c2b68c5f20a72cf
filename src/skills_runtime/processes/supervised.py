"""A command as seen through the socket of its supervisor: its start, its exit, and the end of all its processes."""

import asyncio
import json
import os
import socket
from collections.abc import Sequence
from signal import SIGKILL, SIGTERM, Signals
from typing import Any

import msgspec

from skills_runtime.clock import RandomIds
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.ports import Quarantined
from skills_runtime.processes.command import Command, check_command, find_program, lost_supervisor_error, start_error
from skills_runtime.processes.descriptors import Reader, Writer
from skills_runtime.processes.launcher import Groups, Launcher, engage
from skills_runtime.sandbox import CommandRecord, finish_record, record_command
from skills_runtime.sandbox.supervision import process_tree
from skills_runtime.storage import release_lock

MARKER = "SKILLS_RUNTIME_PROCESS"
"""Environment variable that identifies the processes of a command."""

_STRAY_SECONDS = 0.01


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A command for a supervisor to start."""

    command: Command
    program: str
    marker: str
    grace: float
    terminal: bool = False
    niceness: int = 0

    @property
    def groups(self) -> Groups:
        """The control groups that it will be in."""
        return tuple(group.parent for group in self.command.setup.control_groups)

    def request(self) -> bytes:
        """Encode the start message, followed by the inputs whose lengths it names."""
        setup, environment = self.command.setup, {**self.command.environment, MARKER: self.marker}
        message = {
            "program": _characters(self.program),
            "argv": [_characters(word) for word in self.command.argv],
            "cwd": _characters(str(self.command.cwd.absolute())),
            "environment": {_characters(name): _characters(value) for name, value in environment.items()},
            "terminal": self.terminal,
            "grace": self.grace,
            "lower": self.niceness,
            "inputs": [len(data) for data in setup.inputs],
            "groups": msgspec.to_builtins(setup.control_groups),
            "watch": msgspec.to_builtins(setup.watch),
            "limits": msgspec.to_builtins(setup.limits),
            "mounts": [[_characters(path) for path in mount] for mount in setup.mounts],
            "withheld": setup.withheld,
            "layers": setup.layers,
            "takes_terminal": setup.takes_terminal,
        }
        return b"".join((json.dumps(message).encode(), b"\n", *setup.inputs))


def _characters(text: str) -> str:
    """Map the bytes of a text to characters of the same number: JSON has no bytes, and paths may not be UTF-8."""
    return os.fsencode(text).decode("latin-1")


def prepare(command: Command, *, grace: float, terminal: bool = False, niceness: int = 0) -> Start:
    """Check a command and find its program."""
    check_command(command)
    program, marker = find_program(command), RandomIds().new("process")
    return Start(command=command, program=program, marker=marker, grace=grace, terminal=terminal, niceness=niceness)


class Supervised:
    """A command from its request until all its processes are gone."""

    def __init__(
        self,
        launcher: Launcher,
        control: socket.socket,
        *,
        start: Start,
        event: asyncio.Event,
        record: CommandRecord | None = None,
    ) -> None:
        self._launcher = launcher
        self._record = record
        self._loop = asyncio.get_running_loop()
        self._start = start
        self._changed = event
        self._partial_line = b""
        self._sent_more = False
        self._lost = False
        self.pid: int | None = None
        self._exit: int | None = None
        self.failure: SkillsRuntimeError | None = None
        self.survivors: tuple[int, ...] = ()
        self.exceeded: str | None = None
        self.counted: dict[str, int] = {}
        self.quarantined: tuple[Quarantined, ...] = ()
        self.removed: dict[str, Any] | None = None
        self.gone = False
        """Whether all processes are gone, and quarantined files are moved aside."""
        self._control = control
        self._writer = Writer(control.fileno())
        self._reader = Reader(control.fileno(), self._receive, on_end=self._on_lost)
        self._writer.send(start.request())

    @property
    def exited(self) -> bool:
        """Whether the program itself has exited; its child processes may still run."""
        return self._exit is not None

    @property
    def exit_code(self) -> int | None:
        """The exit code of the program, if it exited."""
        return self._exit if self._exit is not None and self._exit >= 0 else None

    @property
    def signal(self) -> int | None:
        """The signal that ended the program, if one did."""
        return -self._exit if self._exit is not None and self._exit < 0 else None

    def end(self, *, grace: float, first: Signals = SIGTERM) -> None:
        """Ask every process to end, and kill those left after the grace period."""
        self._send({"end": grace, "first": int(first)})

    def signal_group(self, group: int, number: Signals) -> None:
        """Signal the processes of the command that are in a process group."""
        self._send({"signal": int(number), "group": group})

    async def wait_until_gone(self) -> None:
        """Wait until all processes are gone; if cancelled, skip the grace period and re-raise at the end."""
        interruption: asyncio.CancelledError | None = None
        while not self.gone:
            self._changed.clear()
            try:
                await self._changed.wait()
            except asyncio.CancelledError as error:
                interruption = error
                self.end(grace=0)
        await self._end_strays()
        if interruption is not None:
            raise interruption

    async def _end_strays(self) -> None:
        """Kill the processes that a killed supervisor could not end."""
        assignment = f"{MARKER}={self._start.marker}".encode()
        refused: set[int] = set()
        while self._lost and (
            strays := [
                process
                for process in process_tree.find_marked(process_tree.list_processes(), assignment)
                if process.pid not in refused
            ]
        ):
            refused |= process_tree.send_signal(strays, SIGKILL)
            await asyncio.sleep(_STRAY_SECONDS)

    def close(self) -> None:
        """Release the supervisor if it has finished; otherwise disconnect, so that it ends the command."""
        self._reader.stop()
        # What became of the command is unknown: the next one finds its record.
        if self._record is not None:
            release_lock(self._record.lock)
            self._record = None
        unsent = self._writer.pending
        self._writer.discard()
        # A message that arrives after the end must not be taken for one about the next command.
        if self.gone and not (self._lost or self._sent_more or unsent or self.survivors):
            self._launcher.release(self._control, self._start.groups)
        else:
            self._control.close()

    def _send(self, message: dict[str, Any]) -> None:
        if not self.gone:
            self._sent_more = True
            self._writer.send(json.dumps(message).encode() + b"\n")

    def _receive(self, piece: bytes) -> None:
        *lines, self._partial_line = (self._partial_line + piece).split(b"\n")
        for line in lines:
            self._handle(json.loads(line))
        self._changed.set()

    def _handle(self, message: dict[str, Any]) -> None:
        match message:
            case {"started": pid}:
                self.pid = pid
            case {"exited": code}:
                self._exit = code
            case {"exceeded": limit}:
                self.exceeded = limit
            case {"gone": survivors, "counted": counted, "removed": removed}:
                self.survivors = tuple(survivors)
                self.counted, self.removed = counted, removed
                self._finish()
            case {"failed": step, "errno": number}:
                command = self._start.command
                self.failure = start_error(command.argv[0], command.cwd, step=step, number=number)
                self._finish()
            case _:
                raise AssertionError(message)

    def _finish(self) -> None:
        record, self._record = self._record, None
        quarantine = self._start.command.setup.quarantine
        if record is None or quarantine is None:
            self.gone = True
            return
        try:
            work = self._loop.run_in_executor(None, finish_record, quarantine, record)  # scans a whole tree
        except (ImportError, RuntimeError):  # no thread can be started
            work = self._loop.create_future()
            work.set_result(finish_record(quarantine, record))
        work.add_done_callback(self._on_finished)

    def _on_finished(self, work: "asyncio.Future[tuple[Quarantined, ...]]") -> None:
        if work.cancelled() or work.exception() is not None:
            problem = "the new files of the command could not be checked"
            self.quarantined = (Quarantined(path=str(self._start.command.cwd), problem=problem),)
        else:
            self.quarantined = work.result()
        self.gone = True
        self._changed.set()

    def _on_lost(self) -> None:
        if not self.gone:
            self._lost = self.gone = True
            self.failure = lost_supervisor_error(self._start.command.argv[0], self.pid)
        self._changed.set()


async def supervise(start: Start, streams: Sequence[int], event: asyncio.Event) -> Supervised:
    """Start a command; the returned object changes whenever `event` is set."""
    quarantine = start.command.setup.quarantine
    record = record_command(quarantine) if quarantine is not None else None
    try:
        launcher, control = await engage((*streams, *start.command.descriptors), start.groups)
    except BaseException:
        if record is not None:
            record.path.unlink(missing_ok=True)
            release_lock(record.lock)
        raise
    return Supervised(launcher, control, start=start, event=event, record=record)
