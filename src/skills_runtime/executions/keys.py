"""Idempotency keys: the first request under a key is carried out, and every later one gets its result."""

import hashlib
import os
from pathlib import Path

import msgspec

from skills_runtime.errors import RequestConflict, ValidationFailed
from skills_runtime.executions.places import Place, sync_directory, write_new

MAX_KEY_CHARS = 255


class Taken(msgspec.Struct, frozen=True):
    """What a key stands for."""

    execution_id: str
    request: str
    """The digest of the request."""


def key_digest(key: str) -> str:
    """The name under which a key is kept; the key itself is nowhere."""
    if not key or len(key) > MAX_KEY_CHARS or not key.isprintable():
        raise ValidationFailed(
            f"an idempotency key must have 1 to {MAX_KEY_CHARS} printable characters", hint="use a random id"
        )
    return hashlib.sha256(key.encode()).hexdigest()


class Keys:
    """The keys of one place."""

    def __init__(self, place: Place) -> None:
        self._directory = place.runtime / "keys"

    def find(self, digest: str, request: str) -> str | None:
        """The execution that was begun under this key; another request under it is a conflict."""
        try:
            taken = msgspec.json.decode((self._directory / digest).read_bytes(), type=Taken)
        except FileNotFoundError:
            return None
        check_same(taken.request, request)
        return taken.execution_id

    def stands_for(self, digest: str, execution_id: str) -> bool:
        """Whether a key was given to this execution."""
        try:
            taken = msgspec.json.decode((self._directory / digest).read_bytes(), type=Taken)
        except (OSError, msgspec.MsgspecError):
            return False
        return taken.execution_id == execution_id

    def take(self, digest: str, request: str, execution_id: str) -> str | None:
        """Let the key stand for this execution; returns the other one if somebody was quicker."""
        aside = self._directory / f".{execution_id}"
        write_new(aside, msgspec.json.encode(Taken(execution_id, request)), durable=True)
        try:
            os.link(aside, self._directory / digest)  # a link is made whole, or not at all
            sync_directory(self._directory)
        except FileExistsError:
            return self.find(digest, request)
        finally:
            aside.unlink()
        return None

    def release(self, digest: str, execution_id: str) -> None:
        """Free a key whose execution never began, or is removed."""
        path: Path = self._directory / digest
        try:
            taken = msgspec.json.decode(path.read_bytes(), type=Taken)
        except FileNotFoundError:
            return
        if taken.execution_id == execution_id:
            path.unlink(missing_ok=True)


def check_same(known: str, request: str) -> None:
    """Refuse a request that is another one than the key stands for."""
    if known != request:
        raise RequestConflict(
            "the idempotency key was used for another request", hint="use a new key for a new request"
        )
