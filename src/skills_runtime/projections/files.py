"""Which files the run's tools wrote and read, by the records they left."""

import msgspec

from skills_runtime.events import Event
from skills_runtime.events.payloads import FileOperation


class FileRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The last recorded operation on a path."""

    sha256: str
    size: int
    seq: int
    call_id: str | None = None


class FileRecords(msgspec.Struct):
    """Last write and first read of each path; a file read before it was written was an input."""

    produced: dict[str, FileRecord] = {}
    consumed: dict[str, FileRecord] = {}
    removed: dict[str, str] = {}

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        match event.payload:
            case FileOperation(ok=True, op="write", sha256=str(digest)) as done:
                self.produced[done.path] = _record(event, done, digest)
                self.removed.pop(done.path, None)
            case FileOperation(ok=True, op="read", sha256=str(digest)) as done if done.path not in self.produced:
                self.consumed.setdefault(done.path, _record(event, done, digest))
            case FileOperation(ok=True, op="delete" | "rename", path=path):
                gone = self.produced.pop(path, None)
                if gone is not None:
                    self.removed[path] = gone.sha256
            case _:
                pass


def _record(event: Event, done: FileOperation, digest: str) -> FileRecord:
    return FileRecord(sha256=digest, size=done.size or 0, seq=event.seq, call_id=done.call_id)
