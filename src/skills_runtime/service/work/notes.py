"""Small things a service must not forget: one JSON file each, on the disk before anybody is told."""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.errors import StorageFailed
from skills_runtime.runs.atomic import write_new
from skills_runtime.runs.layout import DIRECTORY_MODE
from skills_runtime.runs.log.disk import make_directories, sync_path

Note = TypeVar("Note", bound=msgspec.Struct)


class Notes(Generic[Note]):
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
