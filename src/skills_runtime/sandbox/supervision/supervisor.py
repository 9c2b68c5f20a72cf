"""Supervise one command at a time: start it, report its end, and let no descendant survive.

Orphans below a supervisor become its children, so once it has no child left, no descendant is left either, however
it detached: no other proof is needed. Runtime and supervisor exchange one JSON object per line.
"""

import ctypes
import json
import os
import select
import signal
import socket
import time
from collections.abc import Mapping
from typing import Any

from . import process_tree
from .control_groups import Groups
from .limit_watch import LimitWatch
from .spawn import SpawnFailed, spawn

MAX_DESCRIPTORS = 3 + 8
"""Standard input, output and error, and other inherited descriptors."""
FIRST_PAUSE, LAST_PAUSE = 0.005, 0.5
SURVIVOR_TIMEOUT_SECONDS = 1.0
"""Seconds after which processes that cannot be signaled are abandoned and reported."""
SANDBOX_EXIT_SECONDS = 0.2
"""Seconds the kernel gets to end a sandbox with everything in it."""
INVISIBLE_PROCESS = 0
"""Placeholder ID for processes of other users that `/proc` hides."""
_CHILD_SUBREAPER = 36


def supervise(control: socket.socket) -> None:
    """Serve the runtime at the other end of `control`, one command after another, until it closes it."""
    adopt_orphans()
    woken = wake_on_child_exit()
    groups = Groups()
    try:
        while _serve(control, woken, groups):
            pass
    finally:
        groups.close()


def _serve(control: socket.socket, woken: int, groups: Groups) -> bool:
    """Run a command until nothing of it is left; return whether another one may follow."""
    try:
        # The descriptors arrive before their request.
        _, streams, _, _ = socket.recv_fds(control, 1, MAX_DESCRIPTORS)
    except ConnectionResetError:
        streams = []
    for stream in streams:
        os.set_inheritable(stream, False)  # noqa: FBT003 - it has no name
    messages = MessageReader(control)
    request = messages.read_request()
    if request is None:
        return False
    watch = LimitWatch(request["watch"])  # created before anything can be written
    try:
        pid = _start(request, streams, groups)
    except SpawnFailed as error:
        send_message(control, {"failed": error.step, "errno": error.number})
        return True
    finally:
        for stream in streams:
            os.close(stream)
    send_message(control, {"started": pid})
    survivors = _Supervision(control, messages, watch, pid=pid, request=request).run(woken)
    removed = None if survivors else watch.remove_excess()
    send_message(control, {"gone": sorted(survivors), "counted": groups.read_counters(), "removed": removed})
    return not survivors


def _start(request: "Mapping[str, Any]", streams: "list[int]", groups: Groups) -> int:
    try:
        groups.enter(request["groups"])
    except OSError as error:
        groups.close()
        raise SpawnFailed("group", error) from error
    try:
        return spawn(request, streams)
    finally:
        groups.reset_oom_score()


class _Supervision:
    """One running command."""

    def __init__(
        self,
        control: socket.socket,
        messages: "MessageReader",
        watch: LimitWatch,
        *,
        pid: int,
        request: "Mapping[str, Any]",
    ) -> None:
        self._control = control
        self._messages = messages
        self._main = pid
        self._grace: float = request["grace"]
        self._layers: int = request["layers"]
        self._limit_watch = watch
        self._kill_at: float | None = None
        self._signalled: set[tuple[int, int, int]] = set()
        self._exited = False
        self._ended = False
        self._pause = FIRST_PAUSE
        self._has_no_children = False

    def run(self, woken: int) -> "set[int]":
        """Wait until no process is left except those this user may not signal."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(woken, select.POLLIN)
        # A message that arrived together with the request does not make the socket readable again.
        self._handle_messages(poll)
        while True:
            self._reap()
            if self._has_no_children:
                # Report a limit that was exceeded between two measurements, unless something else has ended the
                # command.
                if not self._ended and (limit := self._limit_watch.find_exceeded_at_end()):
                    send_message(self._control, {"exceeded": limit})
                return set()
            self._check_limits()
            survivors = self._kill_remaining()
            if survivors:
                return survivors
            for descriptor, _ in poll.poll(self._wait_ms()):
                if descriptor == woken:
                    os.read(woken, 512)
                else:
                    self._handle_messages(poll)

    def _reap(self) -> None:
        reaped = False
        try:
            while (reaped_child := os.waitpid(-1, os.WNOHANG))[0]:
                reaped = True
                if reaped_child[0] == self._main:
                    self._exited = True
                    send_message(self._control, {"exited": os.waitstatus_to_exitcode(reaped_child[1])})
        except ChildProcessError:
            self._has_no_children = True
            return
        if reaped and self._exited and self._layers:
            # The kernel is already killing the processes inside.
            self._set_deadline(SANDBOX_EXIT_SECONDS)
        elif reaped and self._exited:
            self._terminate(signal.SIGTERM, self._grace)

    def _handle_messages(self, poll: select.poll) -> None:
        for message in self._messages.read_messages():
            if "end" in message:
                self._ended = True
                self._terminate(message["first"], message["end"])
            else:
                group = [process for process in self._tree() if process.group == message["group"]]
                process_tree.send_signal(group, message["signal"])
        if self._messages.is_closed:
            poll.unregister(self._control)
            self._terminate(signal.SIGTERM, self._grace)

    def _terminate(self, first: int, grace: float) -> None:
        # The deadline only ever moves forward.
        self._set_deadline(grace)
        # A process forked while the others were signaled has not received the signal.
        new = [
            process for process in self._terminable() if (first, process.pid, process.started) not in self._signalled
        ]
        self._signalled.update((first, process.pid, process.started) for process in new)
        process_tree.send_signal(new, first)
        # A stopped process handles no other signal.
        process_tree.send_signal(new, signal.SIGCONT)

    def _set_deadline(self, grace: float) -> None:
        kill_at = time.monotonic() + grace
        self._kill_at = kill_at if self._kill_at is None else min(self._kill_at, kill_at)

    def _kill_remaining(self) -> "set[int]":
        """Kill what is left after the deadline; return the survivors that cannot be killed."""
        if self._kill_at is None or time.monotonic() < self._kill_at:
            return set()
        processes = self._tree()
        refused = process_tree.send_signal(processes, signal.SIGKILL)
        hopeless = len(refused) == len(processes) and time.monotonic() > self._kill_at + SURVIVOR_TIMEOUT_SECONDS
        return refused or {INVISIBLE_PROCESS} if hopeless else set()

    def _check_limits(self) -> None:
        """End a command at once when it exceeds a limit."""
        if self._kill_at is None and (limit := self._limit_watch.find_exceeded_limit(self._tree)):
            send_message(self._control, {"exceeded": limit})
            self._ended = True
            self._kill_at = time.monotonic()

    def _terminable(self) -> "list[process_tree.Process]":
        """Return every process except those of the sandbox itself, which must outlive the command."""
        processes = process_tree.list_processes()
        layers = 0 if self._exited else self._layers
        sandbox = process_tree.find_generations(processes, os.getpid(), generations=layers)
        return [
            process for process in process_tree.find_descendants(processes, os.getpid()) if process.pid not in sandbox
        ]

    def _wait_ms(self) -> "float | None":
        """Return how long to sleep without events; grows while killed processes take their time."""
        if self._kill_at is None:
            return self._limit_watch.wait_ms()
        remaining = self._kill_at - time.monotonic()
        if remaining > 0:
            return remaining * 1000 + 1
        self._pause = min(self._pause * 2, LAST_PAUSE)
        return self._pause * 1000

    def _tree(self) -> "list[process_tree.Process]":
        return process_tree.find_descendants(process_tree.list_processes(), os.getpid())


class MessageReader:
    """Messages from the runtime, one JSON object per line."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._buffer = b""
        self.is_closed = False

    def read_request(self) -> "dict[str, Any] | None":
        """Wait for a complete request with its inputs; None when the runtime closed the connection before."""
        while b"\n" not in self._buffer:
            if not self._receive():
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        request = json.loads(line)
        total = sum(request["inputs"])
        while len(self._buffer) < total:
            if not self._receive():
                return None
        lengths, request["inputs"] = request["inputs"], []
        for length in lengths:
            request["inputs"].append(self._buffer[:length])
            self._buffer = self._buffer[length:]
        return request

    def _receive(self) -> bool:
        try:
            piece = self._control.recv(1 << 16)
        except ConnectionResetError:
            return False
        self._buffer += piece
        return bool(piece)

    def read_messages(self) -> "list[dict[str, Any]]":
        """Return the messages that have arrived since the last call."""
        try:
            piece = self._control.recv(1 << 16, socket.MSG_DONTWAIT)
            self.is_closed = not piece
        except BlockingIOError:
            piece = b""
        except ConnectionResetError:
            piece, self.is_closed = b"", True
        *lines, self._buffer = (self._buffer + piece).split(b"\n")
        return [json.loads(line) for line in lines]


def send_message(control: socket.socket, message: Mapping[str, Any]) -> None:
    """Send one message; ignored if the runtime is gone."""
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
    except (BrokenPipeError, ConnectionResetError):
        return


def wake_on_child_exit() -> int:
    """Return a descriptor that becomes readable when a child has ended."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return read_end


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, however it detached itself."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_CHILD_SUBREAPER, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0))) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
