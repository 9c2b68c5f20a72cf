"""Idempotency keys of new runs: the first order under a key is carried out, and every later one is the same run."""

import hashlib

import msgspec

from skills_runtime.errors import RequestConflict, ValidationFailed
from skills_runtime.service.work.home import Home
from skills_runtime.service.work.notes import Notes

MAX_KEY_CHARS = 255
KEPT_SECONDS = 14 * 24 * 3600.0
"""Who repeats a request does so sooner."""


class Claim(msgspec.Struct, frozen=True):
    """Which run a key stands for, and for which order."""

    run_id: str
    order: str


class Claims:
    """The keys that are taken, each caller's apart."""

    def __init__(self, home: Home) -> None:
        self._notes = Notes(home.notes / "keys", Claim)

    def claim(self, caller: str, key: str, wanted: Claim) -> Claim:
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
