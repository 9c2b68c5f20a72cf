"""The newest frames of a log in bounded memory, joined once for everybody who is at the same place."""

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from skills_runtime.service.streams.tail import BATCH_BYTES, Frame

RECENT_BYTES = 1 << 20
"""How much of a log is kept; who is further behind reads the file."""


class Batch(NamedTuple):
    """Frames that follow each other, as bytes to send."""

    data: bytes
    next_seq: int
    ends: bool


class Recent:
    """Frames from `first` up to, not including, `next_seq`."""

    def __init__(self, first: int, *, limit: int = RECENT_BYTES) -> None:
        self.first = self.next_seq = first
        self._limit = limit
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._joined: dict[int, Batch] = {}

    def add(self, frames: Iterable[Frame]) -> None:
        """Take in what was read; the oldest give way."""
        self._joined.clear()
        for frame in frames:
            self._frames.append(frame)
            self._bytes += len(frame.text)
            self.next_seq = frame.seq + 1
        while self._bytes > self._limit and len(self._frames) > 1:
            gone = self._frames.popleft()
            self._bytes -= len(gone.text)
            self.first = gone.seq + 1

    def since(self, seq: int) -> Batch | None:
        """What follows `seq`, itself included, perhaps nothing; None when that is not kept any more."""
        if seq < self.first:
            return None
        if seq >= self.next_seq:
            return Batch(b"", seq, ends=False)
        batch = self._joined.get(seq)
        if batch is None:
            batch = self._joined[seq] = self._join(seq)
        return batch

    def _join(self, seq: int) -> Batch:
        texts: list[bytes] = []
        room = BATCH_BYTES
        frame = self._frames[0]
        for frame in islice(self._frames, seq - self.first, None):
            texts.append(frame.text)
            room -= len(frame.text)
            if room <= 0:
                break
        return Batch(b"".join(texts), frame.seq + 1, frame.ends)
