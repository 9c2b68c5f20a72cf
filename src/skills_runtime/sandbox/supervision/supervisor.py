"""Keeps one command at a time: starts it, tells how it ended, and lets nothing it started live on.

Every orphan below a supervisor becomes its child. So when it has no child left there is no descendant left either,
whatever they did to detach themselves: that is the only proof of the end that is needed. Runtime and supervisor tell
each other one JSON object a line.
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
from .resource_usage import Watching
from .spawn import SpawnFailed, spawn

MAX_DESCRIPTORS = 3 + 8
"""Standard input, output and error, and what else a command may be handed over."""
FIRST_PAUSE, LAST_PAUSE = 0.005, 0.5
PATIENCE = 1.0
"""Seconds after which processes that may not be signalled are left alone and reported."""
FALLING_SECONDS = 0.2
"""How long a fence may take to fall by itself, with everything behind it."""
UNSEEN = 0
"""Stands for processes of other users that the system does not even show."""
_CHILD_SUBREAPER = 36


def supervise(control: socket.socket) -> None:
    """Serve the runtime at the other end of `control`, one command after the other, until it hangs up."""
    adopt_orphans()
    woken = wake_on_child_exit()
    groups = Groups()
    try:
        while _serve(control, woken, groups):
            pass
    finally:
        groups.close()


def _serve(control: socket.socket, woken: int, groups: Groups) -> bool:
    """Start a command and keep it until nothing of it is left; true when another one may follow."""
    try:
        _, streams, _, _ = socket.recv_fds(control, 1, MAX_DESCRIPTORS)  # they go before each request
    except ConnectionResetError:
        streams = []
    for stream in streams:
        os.set_inheritable(stream, False)  # noqa: FBT003 - it has no name
    hearing = Hearing(control)
    request = hearing.first()
    if request is None:
        return False
    watching = Watching(request["watch"])  # before anything can be written
    try:
        started = _start(request, streams, groups)
    except SpawnFailed as error:
        tell(control, {"failed": error.step, "errno": error.number})
        return True
    finally:
        for stream in streams:
            os.close(stream)
    tell(control, {"started": started})
    survivors = _Supervision(control, hearing, watching, started=started, request=request).run(woken)
    removed = None if survivors else watching.remove_excess()
    tell(control, {"gone": sorted(survivors), "counted": groups.counted(), "removed": removed})
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
        groups.spare()


class _Supervision:
    """One command under way."""

    def __init__(
        self,
        control: socket.socket,
        hearing: "Hearing",
        watching: Watching,
        *,
        started: int,
        request: "Mapping[str, Any]",
    ) -> None:
        self._control = control
        self._hearing = hearing
        self._main = started
        self._grace: float = request["grace"]
        self._layers: int = request["layers"]
        self._watching = watching
        self._kill_at: float | None = None
        self._asked: set[tuple[int, int, int]] = set()
        self._exited = False
        self._ended = False
        self._pause = FIRST_PAUSE
        self._alone = False

    def run(self, woken: int) -> "set[int]":
        """Return when no process is left but those, if any, that this user may not signal."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(woken, select.POLLIN)
        self._obey(poll)  # what came together with the request makes nothing readable any more
        while True:
            self._reap()
            if self._alone:
                # Tell of what was too quick to be seen, unless something else has ended the command.
                if not self._ended and (limit := self._watching.exceeded_at_last()):
                    tell(self._control, {"exceeded": limit})
                return set()
            self._watch()
            survivors = self._press()
            if survivors:
                return survivors
            for descriptor, _ in poll.poll(self._wait_ms()):
                if descriptor == woken:
                    os.read(woken, 512)
                else:
                    self._obey(poll)

    def _reap(self) -> None:
        reaped = False
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                reaped = True
                if found[0] == self._main:
                    self._exited = True
                    tell(self._control, {"exited": os.waitstatus_to_exitcode(found[1])})
        except ChildProcessError:
            self._alone = True
            return
        if reaped and self._exited and self._layers:
            self._hurry(FALLING_SECONDS)  # the kernel is ending what was behind the fence already
        elif reaped and self._exited:
            self._end(signal.SIGTERM, self._grace)

    def _obey(self, poll: select.poll) -> None:
        for message in self._hearing.more():
            if "end" in message:
                self._ended = True
                self._end(message["first"], message["end"])
            else:
                group = [process for process in self._tree() if process.group == message["group"]]
                process_tree.send(group, message["signal"])
        if self._hearing.over:
            poll.unregister(self._control)
            self._end(signal.SIGTERM, self._grace)

    def _end(self, first: int, grace: float) -> None:
        """Ask everybody to end, each of them once; the time they have only ever becomes less."""
        self._hurry(grace)
        # One that was just being forked when the others were asked has not heard of it.
        new = [process for process in self._askable() if (first, process.pid, process.started) not in self._asked]
        self._asked.update((first, one.pid, one.started) for one in new)
        process_tree.send(new, first)
        process_tree.send(new, signal.SIGCONT)  # a stopped process hears nothing else

    def _hurry(self, grace: float) -> None:
        kill_at = time.monotonic() + grace
        self._kill_at = kill_at if self._kill_at is None else min(self._kill_at, kill_at)

    def _press(self) -> "set[int]":
        """Kill what is left when its time is over; returns the survivors when there is nothing more to hope for."""
        if self._kill_at is None or time.monotonic() < self._kill_at:
            return set()
        everybody = self._tree()
        refused = process_tree.send(everybody, signal.SIGKILL)
        hopeless = len(refused) == len(everybody) and time.monotonic() > self._kill_at + PATIENCE
        return refused or {UNSEEN} if hopeless else set()

    def _watch(self) -> None:
        """End a command at once that uses more than it may."""
        if self._kill_at is None and (limit := self._watching.exceeded(self._tree)):
            tell(self._control, {"exceeded": limit})
            self._ended = True
            self._kill_at = time.monotonic()

    def _askable(self) -> "list[process_tree.Process]":
        """Everybody but the processes of the fence: without them nobody could end in peace."""
        processes = process_tree.table()
        layers = 0 if self._exited else self._layers
        fence = process_tree.topmost(processes, os.getpid(), generations=layers)
        return [process for process in process_tree.below(processes, os.getpid()) if process.pid not in fence]

    def _wait_ms(self) -> "float | None":
        """How long to sleep when nothing happens; longer and longer while killed processes take their time."""
        if self._kill_at is None:
            return self._watching.wait_ms()
        left = self._kill_at - time.monotonic()
        if left > 0:
            return left * 1000 + 1
        self._pause = min(self._pause * 2, LAST_PAUSE)
        return self._pause * 1000

    def _tree(self) -> "list[process_tree.Process]":
        return process_tree.below(process_tree.table(), os.getpid())


class Hearing:
    """Messages from the runtime, one JSON object a line."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._rest = b""
        self.over = False

    def first(self) -> "dict[str, Any] | None":
        """Wait for a whole request with its inputs; nothing when the runtime has gone before it was complete."""
        while b"\n" not in self._rest:
            if not self._wait():
                return None
        line, _, self._rest = self._rest.partition(b"\n")
        request = json.loads(line)
        whole = sum(request["inputs"])
        while len(self._rest) < whole:
            if not self._wait():
                return None
        lengths, request["inputs"] = request["inputs"], []
        for length in lengths:
            request["inputs"].append(self._rest[:length])
            self._rest = self._rest[length:]
        return request

    def _wait(self) -> bool:
        """Take what comes next; false when the runtime has gone."""
        try:
            piece = self._control.recv(1 << 16)
        except ConnectionResetError:
            return False
        self._rest += piece
        return bool(piece)

    def more(self) -> "list[dict[str, Any]]":
        """The messages that have arrived since."""
        try:
            piece = self._control.recv(1 << 16, socket.MSG_DONTWAIT)
            self.over = not piece
        except BlockingIOError:
            piece = b""
        except ConnectionResetError:
            piece, self.over = b"", True
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [json.loads(line) for line in lines]


def tell(control: socket.socket, message: Mapping[str, Any]) -> None:
    """Send one message; a runtime that is gone needs none."""
    try:
        control.sendall(json.dumps(message).encode() + b"\n")
    except (BrokenPipeError, ConnectionResetError):
        return


def wake_on_child_exit() -> int:
    """A descriptor that becomes readable when a child has ended."""
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
