"""The files that the run's tools read and wrote, from their records."""

import msgspec

from skills_runtime.events import Event, FileOperation

READS = frozenset({FileOperation})
"""The payloads this projection reads."""

ARROW = " -> "
"""Separates the two names in the record of a rename."""


class FileRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The last recorded operation on a path."""

    sha256: str
    size: int
    seq: int
    call_id: str | None = None


class FileRecords(msgspec.Struct):
    """The last write and the first read of each path; a file read before it was written was an input."""

    produced: dict[str, FileRecord] = {}
    consumed: dict[str, FileRecord] = {}
    removed: dict[str, str] = {}

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        match event.payload:
            case FileOperation(ok=True, op="write", sha256=str(digest)) as operation:
                self._produce(_operation_path(operation), _build_record(event, operation, digest))
            case FileOperation(ok=True, op="read", sha256=str(digest)) as operation:
                if _operation_path(operation) not in self.produced:
                    self.consumed.setdefault(_operation_path(operation), _build_record(event, operation, digest))
            case FileOperation(ok=True, op="delete", path=path):
                self._remove(_normalize_path(path))
            case FileOperation(ok=True, op="rename", path=path) as operation if path.count(ARROW) == 1:
                old, _, new = path.partition(ARROW)
                record = self._remove(_normalize_path(old))
                digest = operation.sha256 or (record.sha256 if record else None)
                if digest is not None:
                    self._produce(_normalize_path(new), _build_record(event, operation, digest))
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


def _operation_path(operation: FileOperation) -> str:
    return _normalize_path(operation.real_path or operation.path)


def _normalize_path(path: str) -> str:
    """Normalize a path: no empty and no `.` segments."""
    return path[: path.startswith("/")] + "/".join(part for part in path.split("/") if part not in ("", "."))


def _build_record(event: Event, operation: FileOperation, digest: str) -> FileRecord:
    return FileRecord(sha256=digest, size=operation.size or 0, seq=event.seq, call_id=operation.call_id)
