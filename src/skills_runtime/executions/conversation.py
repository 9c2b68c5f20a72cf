"""What a thread and a process behind a fence say to each other, from the start of an execution to its end."""

import json
import os
import select
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import msgspec

from skills_runtime.executions.jobs import Job, Sink, Sinks, Stop, sealed_input

END = b"e"
PIECE = 1 << 16
MAX_MESSAGE = 1 << 16
PATIENCE_SECONDS = 1.0
"""How long a process may take to report after it was told to end an execution."""
LOOK_SECONDS = 0.5
"""How often a thread looks whether somebody else wants the execution to end."""


class Told(msgspec.Struct, frozen=True):
    """What the process said when an execution was over; nothing at all when it has ended itself."""

    exited: int | None = None
    usable: bool = False
    ready: bool = False


class Conversation:
    """One end of the socket, used by one thread at a time."""

    def __init__(self, control: socket.socket, fall: Callable[[], None]) -> None:
        self._control = control
        self._fall = fall
        """Ends the whole fence, which closes the other end."""
        self._prepared = False

    def close(self) -> None:
        """Have nothing more to say."""
        self._control.close()

    def is_ready(self, seconds: float) -> bool:
        """Whether the process has said in time that it waits."""
        readable, _, _ = select.select([self._control], [], [], seconds)
        if not readable:
            return False
        return self._hear().ready

    def hold(self, job: Job, sinks: Sinks, stop: Stop) -> Told | None:
        """Have an execution done and pass on what it writes; nothing where it was not even begun."""
        with ExitStack() as resources:
            reading: dict[int, Sink] = {}
            if not self._send(job, sinks, reading, resources):
                return None
            stop.on(self._end)
            told = self._follow(reading, stop, time.monotonic() + job.timeout_ms / 1000)
            for descriptor, sink in reading.items():
                _drain(descriptor, sink)
            return told

    def _send(self, job: Job, sinks: Sinks, reading: dict[int, Sink], resources: ExitStack) -> bool:
        """Hand over the streams and what to run; false when nobody is there to take them."""
        message = {"script": job.script, "argv": job.argv, "cwd": str(job.cwd), "environment": dict(job.environment)}
        data = json.dumps(message).encode()
        if len(data) > MAX_MESSAGE:
            return False
        with ExitStack() as theirs:
            streams = [sealed_input(job.stdin)]
            theirs.callback(os.close, streams[0])
            for sink in (sinks.stdout, sinks.stderr):
                read_end, write_end = os.pipe2(os.O_CLOEXEC)
                theirs.callback(os.close, write_end)
                resources.callback(os.close, read_end)
                reading[read_end] = sink
                streams.append(write_end)
            try:
                if job.script is not None and not self._prepared:
                    self._control.send(json.dumps({"cwd": str(job.cwd), "script": job.script}).encode())
                    self._prepared = True
                socket.send_fds(self._control, [data], streams)
            except OSError:
                return False
        return True

    def _follow(self, reading: dict[int, Sink], stop: Stop, deadline: float) -> Told:
        """Pass on the streams until the process reports, or is gone."""
        poll, control = select.poll(), self._control.fileno()
        for descriptor in (*reading, control):
            poll.register(descriptor, select.POLLIN)
        patience: float | None = None
        while True:
            now = time.monotonic()
            if stop.reason is None and now >= deadline:
                stop.set("timeout")
            if stop.reason is not None:
                patience = patience or now + PATIENCE_SECONDS
                if now >= patience:
                    patience = now + LOOK_SECONDS
                    self._fall()
            until = min(deadline if patience is None else patience, now + LOOK_SECONDS)
            for descriptor, _ in poll.poll((until - now) * 1000 + 1):
                if descriptor == control:
                    return self._hear()
                piece = os.read(descriptor, PIECE)
                if piece:
                    reading[descriptor].feed(piece)
                else:
                    poll.unregister(descriptor)

    def _hear(self) -> Told:
        try:
            data = self._control.recv(4096)
        except OSError:
            data = b""
        return _understood(data) if data else Told()

    def _end(self) -> None:
        with suppress(OSError):
            self._control.send(END)


def _understood(data: bytes) -> Told:
    return msgspec.json.decode(data, type=Told)


def _drain(descriptor: int, sink: Sink) -> None:
    """What is still in a pipe that nobody writes to any more."""
    os.set_blocking(descriptor, False)
    with suppress(BlockingIOError):
        while piece := os.read(descriptor, PIECE):
            sink.feed(piece)
