"""Small records that outlive the process: one JSON file each, on the disk before these return."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.errors import RequestConflict, StorageFailed, ValidationFailed
from skills_runtime.runs import DIRECTORY_MODE
from skills_runtime.storage import create_directories, write_atomic

Record = TypeVar("Record", bound=msgspec.Struct)
MAX_KEY_CHARS = 255
KEY_RETENTION_SECONDS = 14 * 24 * 3600.0
"""Who repeats a request does so sooner."""


class JsonStore(Generic[Record]):
    """Records of one type, by name; names are made by us."""

    def __init__(self, directory: Path, kind: type[Record]) -> None:
        self._directory = directory
        self._kind = kind
        create_directories(directory, mode=DIRECTORY_MODE)

    def get(self, name: str) -> Record | None:
        """Return the record of a name."""
        try:
            return msgspec.json.decode(self._path(name).read_bytes(), type=self._kind)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise StorageFailed(
                f"`{self._path(name)}` cannot be read: {error}", hint="restore it, or remove it"
            ) from error

    def add(self, name: str, record: Record) -> bool:
        """Write a record durably; false when there is one of this name already."""
        return self._write(name, record, replace=False)

    def put(self, name: str, record: Record) -> None:
        """Write a record durably in the place of what was there."""
        self._write(name, record, replace=True)

    def remove(self, name: str) -> bool:
        """Remove a record; false when there was none."""
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            return False
        return True

    def remove_older(self, seconds: float) -> None:
        """Remove records that were written longer ago than this."""
        now = datetime.fromisoformat(SystemClock().now()).timestamp()
        for path in self._directory.glob("*.json"):
            with suppress(OSError):
                if now - path.stat().st_mtime > seconds:
                    path.unlink()

    def all(self) -> Iterator[tuple[str, Record]]:
        """Every record that can be read, by name."""
        for path in sorted(self._directory.glob("*.json")):
            with suppress(StorageFailed):
                record = self.get(path.stem)
                if record is not None:
                    yield path.stem, record

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _write(self, name: str, record: Record, *, replace: bool) -> bool:
        try:
            write_atomic(self._path(name), msgspec.json.encode(record), replace=replace)
        except FileExistsError:
            return False
        except OSError as error:
            raise StorageFailed(f"`{self._path(name)}` could not be written: {error.strerror}") from error
        return True


class KeyedRun(msgspec.Struct, frozen=True):
    """The run that a key stands for, and the digest of its request."""

    run_id: str
    request: str


class IdempotencyKeys:
    """Idempotency keys of new runs: the first request under a key is carried out, every later one is the same run.

    The keys of each caller are apart.
    """

    def __init__(self, directory: Path) -> None:
        self._records = JsonStore(directory, KeyedRun)

    def claim(self, caller: str, key: str, run: KeyedRun) -> KeyedRun:
        """Let a key stand for a run; returns the one it stands for already if there is one."""
        name = _name(caller, key)
        existing = None if self._records.add(name, run) else self._records.get(name)
        if existing is None:
            return run
        if existing.request != run.request:
            raise RequestConflict(
                "the idempotency key was used for another request", hint="use a new key for a new request"
            )
        return existing

    def remove_expired(self) -> None:
        """Let keys of long ago stand for nothing any more."""
        self._records.remove_older(KEY_RETENTION_SECONDS)

    def release(self, caller: str, key: str, run_id: str) -> None:
        """Free a key whose run never came to be."""
        name = _name(caller, key)
        run = self._records.get(name)
        if run is not None and run.run_id == run_id:
            self._records.remove(name)


def _name(caller: str, key: str) -> str:
    if not key or len(key) > MAX_KEY_CHARS or not key.isprintable():
        raise ValidationFailed(
            f"an idempotency key must have 1 to {MAX_KEY_CHARS} printable characters", hint="use a random id"
        )
    return hashlib.sha256(f"{caller}\0{key}".encode(errors="replace")).hexdigest()
