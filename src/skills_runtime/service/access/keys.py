"""API keys: each has a name and scopes, is stored only as a digest, and can be revoked at any time."""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from skills_runtime.errors import NotFound, StorageFailed, ValidationFailed
from skills_runtime.service.access.callers import SCOPES, Scope
from skills_runtime.service.access.private_files import lock_private, read_private, service_directory, write_private

PREFIX = "srk"
FILE = "keys.json"
USE_RECORD_INTERVAL = timedelta(minutes=1)
"""Precision of the recorded last use."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(rf"{PREFIX}_([0-9a-f]{{12}})_[A-Za-z0-9_-]{{43}}")


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """The stored part of a key; the key itself is shown only once, when it is created."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    digest: str
    """SHA-256; a key has 256 random bits, so no slow hash is needed."""
    created_at: str
    last_used_at: str | None = None
    revoked_at: str | None = None


class KeyFile:
    """The keys of one user on one machine; changes by other processes are visible at once."""

    def __init__(self, state: Path, now: Callable[[], str]) -> None:
        self._path = service_directory(state) / FILE
        self._now = now
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, ApiKey] = {}

    def list(self) -> tuple[ApiKey, ...]:
        """Return all keys, including revoked ones, in order of creation."""
        return tuple(self._read().values())

    def create(self, name: str, scopes: Iterable[str]) -> tuple[ApiKey, str]:
        """Create a key; return it with its secret text, which is not stored."""
        scope_names = set(scopes)
        key_scopes: tuple[Scope, ...] = tuple(scope for scope in SCOPES if scope in scope_names)
        if unknown := sorted(scope_names - set(SCOPES)):
            raise ValidationFailed(f"{unknown[0][:80]!a} is not a scope", hint=f"scopes are: {', '.join(SCOPES)}")
        if not _NAME.fullmatch(name):
            raise ValidationFailed(
                f"{name[:80]!a} is not a valid key name", hint="use letters, digits, `.`, `_` and `-`"
            )
        if not key_scopes:
            raise ValidationFailed("a key needs at least one scope", hint=f"scopes are: {', '.join(SCOPES)}")
        key_id = secrets.token_hex(6)
        text = f"{PREFIX}_{key_id}_{secrets.token_urlsafe(32)}"
        key = ApiKey(id=key_id, name=name, scopes=key_scopes, digest=_digest(text), created_at=self._now())
        with lock_private(self._path):
            keys = self._read()
            if any(existing.name == name and existing.revoked_at is None for existing in keys.values()):
                raise ValidationFailed(
                    f"there already is a key named `{name}`", hint="revoke it, or choose another name"
                )
            self._write({**keys, key_id: key})
        return key, text

    def revoke(self, name_or_id: str) -> ApiKey:
        """Revoke a key."""
        with lock_private(self._path):
            keys = self._read()
            open_keys = [key for key in keys.values() if key.revoked_at is None and name_or_id in (key.id, key.name)]
            if not open_keys:
                name = name_or_id[:80]
                hint = "`keys list` shows all keys"
                raise NotFound(f"there is no key {name!a}", hint=hint, resource="key", name=name)
            revoked = msgspec.structs.replace(open_keys[0], revoked_at=self._now())
            self._write({**keys, revoked.id: revoked})
        return revoked

    def find(self, text: str) -> ApiKey | None:
        """Return the key with this text, or `None` if it does not exist or was revoked."""
        matched = _KEY.fullmatch(text)
        key = self._read().get(matched[1]) if matched else None
        # Constant-time comparison, also for unknown keys.
        if not hmac.compare_digest(_digest(text), key.digest if key else "0" * 64) or key is None or key.revoked_at:
            return None
        self._record_use(key)
        return key

    def _record_use(self, key: ApiKey) -> None:
        now = self._now()
        if key.last_used_at and _time(now) - _time(key.last_used_at) < USE_RECORD_INTERVAL:
            return
        with lock_private(self._path):
            keys = self._read()
            if key.id in keys:
                self._write({**keys, key.id: msgspec.structs.replace(keys[key.id], last_used_at=now)})

    def _read(self) -> dict[str, ApiKey]:
        try:
            info = os.stat(self._path)  # noqa: PTH116 - done for every request
        except FileNotFoundError:
            return {}
        stamp = (info.st_ino, info.st_mtime_ns, info.st_size)
        if stamp != self._stamp:
            data = read_private(self._path) or b"[]"
            try:
                keys = msgspec.json.decode(data, type=tuple[ApiKey, ...])
            except msgspec.DecodeError as error:
                raise StorageFailed(f"`{self._path}` is damaged: {error}", hint="restore it, or remove it") from error
            self._keys, self._stamp = {key.id: key for key in keys}, stamp
        return self._keys

    def _write(self, keys: dict[str, ApiKey]) -> None:
        write_private(self._path, msgspec.json.encode(list(keys.values())))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
