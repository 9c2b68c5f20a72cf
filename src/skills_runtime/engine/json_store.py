"""Small things a service must not forget: one JSON file each, on the disk before anybody is told."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.engine.workspace import Workspace
from skills_runtime.errors import RequestConflict, StorageFailed, ValidationFailed
from skills_runtime.runs.layout import DIRECTORY_MODE
from skills_runtime.storage.files import make_directories, sync_path, write_new

Note = TypeVar("Note", bound=msgspec.Struct)


class JsonStore(Generic[Note]):
    """The notes of one kind, by name; names are made by us."""

    def __init__(self, directory: Path, kind: type[Note]) -> None:
        self._directory = directory
        self._kind = kind
        make_directories(directory, mode=DIRECTORY_MODE)

    def get(self, name: str) -> Note | None:
        """What was noted under a name."""
        try:
            return msgspec.json.decode(self._path(name).read_bytes(), type=self._kind)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise StorageFailed(
                f"`{self._path(name)}` cannot be read: {error}", hint="restore it, or remove it"
            ) from error

    def add(self, name: str, note: Note) -> bool:
        """Note something durably; false when there is a note of this name already."""
        return self._write(name, note, replacing=False)

    def put(self, name: str, note: Note) -> None:
        """Note something durably in the place of what was there."""
        self._write(name, note, replacing=True)

    def drop(self, name: str) -> bool:
        """Forget a note; false when there was none."""
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            return False
        return True

    def drop_older(self, seconds: float) -> None:
        """Forget what was noted longer ago than this."""
        now = datetime.fromisoformat(SystemClock().now()).timestamp()
        for path in self._directory.glob("*.json"):
            with suppress(OSError):
                if now - path.stat().st_mtime > seconds:
                    path.unlink()

    def all(self) -> Iterator[tuple[str, Note]]:
        """Every note that can be read, by name."""
        for path in sorted(self._directory.glob("*.json")):
            with suppress(StorageFailed):
                note = self.get(path.stem)
                if note is not None:
                    yield path.stem, note

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _write(self, name: str, note: Note, *, replacing: bool) -> bool:
        draft = self._directory / f".{name}.{os.urandom(6).hex()}"
        try:
            write_new(draft, msgspec.json.encode(note))
            sync_path(str(draft))
            if replacing:
                draft.replace(self._path(name))
            else:
                os.link(draft, self._path(name))  # a link is made whole, or not at all
            sync_path(str(self._directory))
        except FileExistsError:
            return False
        except OSError as error:
            raise StorageFailed(f"`{self._path(name)}` could not be written: {error.strerror}") from error
        finally:
            draft.unlink(missing_ok=True)
        return True


MAX_KEY_CHARS = 255
KEPT_SECONDS = 14 * 24 * 3600.0
"""Who repeats a request does so sooner."""


class KeyedRun(msgspec.Struct, frozen=True):
    """Which run a key stands for, and for which order."""

    run_id: str
    order: str


class IdempotencyKeys:
    """The keys that are taken, each caller's apart."""

    def __init__(self, home: Workspace) -> None:
        self._notes = JsonStore(home.notes / "keys", KeyedRun)

    def claim(self, caller: str, key: str, wanted: KeyedRun) -> KeyedRun:
        """Let a key stand for a run; returns the one it stands for already if there is one."""
        name = _name(caller, key)
        known = None if self._notes.add(name, wanted) else self._notes.get(name)
        if known is None:
            return wanted
        if known.order != wanted.order:
            raise RequestConflict(
                "the idempotency key was used for another request", hint="use a new key for a new request"
            )
        return known

    def forget_old(self) -> None:
        """Let keys of long ago stand for nothing any more."""
        self._notes.drop_older(KEPT_SECONDS)

    def release(self, caller: str, key: str, run_id: str) -> None:
        """Free a key whose run never came to be."""
        name = _name(caller, key)
        known = self._notes.get(name)
        if known is not None and known.run_id == run_id:
            self._notes.drop(name)


def _name(caller: str, key: str) -> str:
    if not key or len(key) > MAX_KEY_CHARS or not key.isprintable():
        raise ValidationFailed(
            f"an idempotency key must have 1 to {MAX_KEY_CHARS} printable characters", hint="use a random id"
        )
    return hashlib.sha256(f"{caller}\0{key}".encode(errors="replace")).hexdigest()
