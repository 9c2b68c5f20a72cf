"""The audit log: who changed or decided what, and who was refused; a private, append-only file."""

import os
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import StorageFailed
from skills_runtime.runs import FILE_MODE
from skills_runtime.service.access.private_files import service_directory
from skills_runtime.storage import write_all

FILE = "audit.jsonl"


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of the audit log."""

    time: str
    what: str
    """`request`, `refused`, `key_created`, `key_revoked`, `started` or `stopped`."""
    who: str
    client: str = ""
    request_id: str = ""
    method: str = ""
    path: str = ""
    status: int = 0
    details: dict[str, Any] = {}


class AuditLog:
    """Append entries to the audit log of one user; safe with several processes."""

    def __init__(self, state: Path) -> None:
        self.path = service_directory(state) / FILE
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self.path, flags, FILE_MODE)
            os.fchmod(self._descriptor, FILE_MODE)
        except OSError as error:
            raise StorageFailed(f"`{self.path}` cannot be opened: {error.strerror}") from error

    def add(self, entry: AuditEntry) -> None:
        """Append one line."""
        try:
            write_all(self._descriptor, msgspec.json.encode(entry) + b"\n")
        except OSError as error:
            raise StorageFailed(f"`{self.path}` could not be written: {error.strerror}") from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)
