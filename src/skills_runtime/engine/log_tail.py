"""Read a log from any offset as frames of an event stream, up to its current end."""

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
"""How much is read, buffered or sent at a time."""


class Frame(NamedTuple):
    """One event: its sequence number, its line as written, and its server-sent event."""

    seq: int
    line: bytes
    text: bytes
    is_last: bool
    """Whether it is the last event of the run."""


def build_frame(seq: int, event_type: str, line: bytes) -> Frame:
    """Build a server-sent event: `id` is the sequence number, `event` the type, `data` the line."""
    name = event_type if event_type.isidentifier() and event_type.isascii() else "message"
    data = line.replace(b"\r", b" ") if b"\r" in line else line  # a bare CR would end the line of a message
    text = b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, name.encode(), data)
    return Frame(seq, line, text, event_type in TERMINAL_TYPES)


class LogTail:
    """A position in a log that advances as it is read; incomplete lines are left until they are complete."""

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
        """Return the next frames, about `limit` bytes; none if nothing more is written yet."""
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
            frame = self._parse_frame(line.data)
            self._offset = line.offset + len(line.data) + 1
            self.seq += 1
            self.ended = frame.is_last
            yield frame

    def _parse_frame(self, line: bytes) -> Frame:
        try:
            wire = decode_wire(line)
        except msgspec.MsgspecError as error:
            raise LogCorrupt(f"line {self.seq + 1} of the log is not an event", seq=self.seq) from error
        if self._header.version > 0 and wire.seq != self.seq:
            raise LogCorrupt(f"line {self.seq + 1} of the log is out of order", seq=self.seq)
        return build_frame(self.seq, wire.type, line)

    def close(self) -> None:
        """Close the file; safe to repeat."""
        self._closing.close()
