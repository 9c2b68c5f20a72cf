"""Reading a log from any place on, as frames of an event stream, as far as it has been written."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import msgspec

from skills_runtime.errors import LogCorrupt
from skills_runtime.events import TERMINAL_TYPES, decode_wire
from skills_runtime.runs import RunPaths
from skills_runtime.runs.log import CHECKPOINTS, Checkpoints, open_for_reading, read_lines, read_log_header

BATCH_BYTES = 1 << 17
"""How much is read, kept or sent at a time."""


class Frame(NamedTuple):
    """One event: its number, its line as written, and the same as a message of an event stream."""

    seq: int
    line: bytes
    text: bytes
    is_last: bool
    """Whether nothing follows it."""


def frame_of(seq: int, event_type: str, line: bytes) -> Frame:
    """An event as a message: `id` is its number, `event` its type, `data` its line."""
    name = event_type if event_type.isidentifier() and event_type.isascii() else "message"
    data = line.replace(b"\r", b" ") if b"\r" in line else line  # a bare CR would end the line of a message
    text = b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, name.encode(), data)
    return Frame(seq, line, text, event_type in TERMINAL_TYPES)


class LogTail:
    """A place in a log that moves on as it is read; torn lines are left until they are whole."""

    def __init__(self, paths: RunPaths, *, from_seq: int = 0) -> None:
        self._closing = ExitStack()
        try:
            self._fd = self._closing.enter_context(open_for_reading(paths))
            self._header = read_log_header(self._fd)
            start = Checkpoints(paths.logs / CHECKPOINTS, self._header.run_id).find_before(from_seq, self._fd)
        except BaseException:
            self._closing.close()
            raise
        self.run_id = self._header.run_id
        self.seq = start.seq
        """The number of the next event."""
        self.ended = False
        self._from_seq = from_seq
        self._offset = start.offset

    def read(self, limit: int = BATCH_BYTES, *, max_frames: int | None = None) -> list[Frame]:
        """The next frames, about as many bytes as the limit; none when the rest is not written yet."""
        frames: list[Frame] = []
        remaining = limit
        if self.ended:
            return frames
        for frame in self._frames():
            if frame.seq < self._from_seq:
                continue
            frames.append(frame)
            remaining -= len(frame.text)
            if remaining <= 0 or len(frames) == max_frames:
                break
        return frames

    def _frames(self) -> Iterator[Frame]:
        if os.fstat(self._fd).st_size < self._offset:
            raise LogCorrupt("the log became shorter while it was followed")
        for line in read_lines(self._fd, self._offset, step=BATCH_BYTES):
            if not line.complete or self.ended:
                return
            frame = self._frame(line.data)
            self._offset = line.offset + len(line.data) + 1
            self.seq += 1
            self.ended = frame.is_last
            yield frame

    def _frame(self, line: bytes) -> Frame:
        try:
            wire = decode_wire(line)
        except msgspec.MsgspecError as error:
            raise LogCorrupt(f"line {self.seq + 1} of the log is not an event", seq=self.seq) from error
        if self._header.version > 0 and wire.seq != self.seq:
            raise LogCorrupt(f"line {self.seq + 1} of the log is out of order", seq=self.seq)
        return frame_of(self.seq, wire.type, line)

    def close(self) -> None:
        """Let go of the file; harmless when repeated."""
        self._closing.close()
