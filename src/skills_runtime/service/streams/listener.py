"""One who follows a log: first from the file, then with everybody else."""

from pathlib import Path
from typing import Protocol

from skills_runtime.errors import RequestConflict
from skills_runtime.runs import RunPaths
from skills_runtime.service.streams.recent import Batch
from skills_runtime.service.streams.stream import LogStream
from skills_runtime.service.streams.tail import LogTail


class Room(Protocol):
    """Where those who follow logs meet."""

    def join(self, root: Path, tail: LogTail) -> LogStream:
        """The stream of a log; the tail is read on for it, or closed where another one is."""
        ...

    def leave(self, stream: LogStream | None) -> None:
        """Somebody stopped listening."""
        ...


class Listener:
    """Gets every event from `from_seq` on exactly once; whoever falls far behind reads the file again."""

    def __init__(self, paths: RunPaths, from_seq: int, room: Room) -> None:
        self._paths = paths
        self._seq = from_seq
        self._room: Room | None = room
        self._tail: LogTail | None = LogTail(paths, from_seq=from_seq)
        self._stream: LogStream | None = None
        self.over = False
        """Whether nothing follows what was handed out."""
        try:
            self._ready = self._from_file(self._tail)
        except BaseException:
            self._tail.close()
            raise
        if self._tail.seq < from_seq:
            self._tail.close()
            raise RequestConflict(
                f"the log has no event {from_seq - 1} yet", hint="follow it again without `Last-Event-ID` or `after`"
            )

    @property
    def has_nothing(self) -> bool:
        """Whether the run has ended and everything of it was seen before."""
        return self._ready is None and self._tail is not None and self._tail.ended

    async def next(self) -> bytes:
        """The next messages; no bytes are a sign of life, or the end when it is `over`."""
        ready, self._ready = self._ready, None
        while ready is None and not self.over:
            if self._tail is not None:
                ready = self._from_file(self._tail)
                if ready is None:
                    self._enter(self._tail)
            elif self._stream is None:
                self.over = True
            else:
                batch = self._stream.since(self._seq)
                if batch is None:
                    self._tail = LogTail(self._paths, from_seq=self._seq)
                elif batch.data:
                    ready = batch
                elif self._stream.over:
                    self.over = True
                elif not await self._stream.news(self._seq):
                    return b""
        return self._taken(ready)

    def close(self) -> None:
        """Stop listening; harmless when repeated."""
        if self._tail is not None:
            self._tail.close()
            self._tail = None
        if self._room is not None:
            self._room.leave(self._stream)
            self._room = self._stream = None

    def _enter(self, tail: LogTail) -> None:
        """Go on with everybody else; whoever follows the end of an ended log has seen all."""
        self._tail = None
        if tail.ended:
            tail.close()
            self.over = True
        elif self._stream is None and self._room is not None:
            self._stream = self._room.join(self._paths.root, tail)
        else:
            tail.close()

    def _from_file(self, tail: LogTail) -> Batch | None:
        frames = tail.read()
        if not frames:
            return None
        return Batch(b"".join(frame.text for frame in frames), frames[-1].seq + 1, frames[-1].ends)

    def _taken(self, batch: Batch | None) -> bytes:
        if batch is None:
            return b""
        self._seq, self.over = batch.next_seq, batch.ends
        return batch.data
