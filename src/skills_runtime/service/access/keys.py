"""API keys: each has a name and scopes, is kept only as a digest, and can be revoked at any time."""

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
"""How exactly the last use is remembered."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(rf"{PREFIX}_([0-9a-f]{{12}})_[A-Za-z0-9_-]{{43}}")


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a key; the key itself is shown once, when it is made."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    digest: str
    """SHA-256; a key has 256 random bits, so nothing slower is needed to keep it from being guessed."""
    created_at: str
    last_used_at: str | None = None
    revoked_at: str | None = None


class KeyFile:
    """The keys of one user on one machine; changes made by another process are seen at once."""

    def __init__(self, state: Path, now: Callable[[], str]) -> None:
        self._path = service_directory(state) / FILE
        self._now = now
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, ApiKey] = {}

    def list(self) -> tuple[ApiKey, ...]:
        """Every key there is, the revoked ones too, in the order in which they were made."""
        return tuple(self._read().values())

    def create(self, name: str, scopes: Iterable[str]) -> tuple[ApiKey, str]:
        """A new key, and its text, which is kept nowhere."""
        scope_names = set(scopes)
        key_scopes: tuple[Scope, ...] = tuple(scope for scope in SCOPES if scope in scope_names)
        if unknown := sorted(scope_names - set(SCOPES)):
            raise ValidationFailed(f"{unknown[0][:80]!a} is no scope", hint=f"scopes are: {', '.join(SCOPES)}")
        if not _NAME.fullmatch(name):
            raise ValidationFailed(f"{name[:80]!a} is no name for a key", hint="take letters, digits, `.`, `_` and `-`")
        if not key_scopes:
            raise ValidationFailed("a key without a scope opens nothing", hint=f"scopes are: {', '.join(SCOPES)}")
        key_id = secrets.token_hex(6)
        text = f"{PREFIX}_{key_id}_{secrets.token_urlsafe(32)}"
        key = ApiKey(id=key_id, name=name, scopes=key_scopes, digest=_digest(text), created_at=self._now())
        with lock_private(self._path):
            keys = self._read()
            if any(existing.name == name and existing.revoked_at is None for existing in keys.values()):
                raise ValidationFailed(f"there is a key named `{name}` already", hint="revoke it, or take another name")
            self._write({**keys, key_id: key})
        return key, text

    def revoke(self, name_or_id: str) -> ApiKey:
        """Make a key worthless."""
        with lock_private(self._path):
            keys = self._read()
            open_keys = [key for key in keys.values() if key.revoked_at is None and name_or_id in (key.id, key.name)]
            if not open_keys:
                name = name_or_id[:80]
                hint = "`keys list` shows the keys there are"
                raise NotFound(f"there is no key {name!a}", hint=hint, resource="key", name=name)
            revoked = msgspec.structs.replace(open_keys[0], revoked_at=self._now())
            self._write({**keys, revoked.id: revoked})
        return revoked

    def find(self, text: str) -> ApiKey | None:
        """The key that this is the text of, unless there is none or it was revoked."""
        matched = _KEY.fullmatch(text)
        key = self._read().get(matched[1]) if matched else None
        # The comparison takes as long for a wrong key as for a right one.
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
