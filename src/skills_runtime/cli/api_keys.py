"""The keys of the service as the command line changes them; every change is in the audit log."""

from collections.abc import Iterable
from contextlib import closing

from skills_runtime.cli.machine import login_name
from skills_runtime.clock import SystemClock
from skills_runtime.config import state_home
from skills_runtime.service.access.keys import ApiKey, KeyFile
from skills_runtime.service.audit import AuditEntry, AuditLog


def make_key(name: str, scopes: Iterable[str]) -> tuple[ApiKey, str]:
    """A new key and its text."""
    key, text = _keys().create(name, tuple(scopes))
    _note("key_created", key)
    return key, text


def all_keys() -> tuple[ApiKey, ...]:
    """Every key there is."""
    return _keys().list()


def revoke_key(name_or_id: str) -> ApiKey:
    """Make a key worthless."""
    key = _keys().revoke(name_or_id)
    _note("key_revoked", key)
    return key


def _keys() -> KeyFile:
    return KeyFile(state_home(), SystemClock().now)


def _note(what: str, key: ApiKey) -> None:
    about = {"key": key.id, "name": key.name, "scopes": list(key.scopes)}
    with closing(AuditLog(state_home())) as log:
        log.add(AuditEntry(time=SystemClock().now(), what=what, who=login_name(), details=about))
