"""Which files the run's tools wrote and read, by the records they left."""

import msgspec

from skills_runtime.events import Event, FileOperation

READS = frozenset({FileOperation})
"""The payloads this projection looks at."""

ARROW = " -> "
"""Between the two names in the record of a rename."""


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
                self._produce(_place(done), _record(event, done, digest))
            case FileOperation(ok=True, op="read", sha256=str(digest)) as done:
                if _place(done) not in self.produced:
                    self.consumed.setdefault(_place(done), _record(event, done, digest))
            case FileOperation(ok=True, op="delete", path=path):
                self._remove(_name(path))
            case FileOperation(ok=True, op="rename", path=path) as done if path.count(ARROW) == 1:
                old, _, new = path.partition(ARROW)
                record = self._remove(_name(old))
                digest = done.sha256 or (record.sha256 if record else None)
                if digest is not None:
                    self._produce(_name(new), _record(event, done, digest))
            case _:
                pass

    def _produce(self, name: str, record: FileRecord) -> None:
        self.produced[name] = record
        self.removed.pop(name, None)

    def _remove(self, name: str) -> FileRecord | None:
        record = self.produced.pop(name, None)
        if record is not None:
            self.removed[name] = record.sha256
        return record


def _place(operation: FileOperation) -> str:
    return _name(operation.real_path or operation.path)


def _name(path: str) -> str:
    """One spelling for one place: no empty and no `.` segments."""
    return path[: path.startswith("/")] + "/".join(part for part in path.split("/") if part not in ("", "."))


def _record(event: Event, operation: FileOperation, digest: str) -> FileRecord:
    return FileRecord(sha256=digest, size=operation.size or 0, seq=event.seq, call_id=operation.call_id)
