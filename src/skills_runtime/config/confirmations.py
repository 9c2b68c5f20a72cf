"""The models of projects that the user has confirmed: a private list in the user's state directory.

Each entry allows one project to send one key to one host. An entry of version 1 names no project and allows all.
An unreadable list confirms nothing.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from skills_runtime.config.files import parse_origin
from skills_runtime.errors import StorageFailed
from skills_runtime.storage import lock_file, open_regular, read_at_most, write_atomic

CONFIRMATIONS_FILE = "confirmed-models.json"
LOCK_FILE = "confirmed-models.lock"
MAX_BYTES = 1 << 20
_VERSION = 2
_ANY_PROJECT = ""


class ModelAddress(NamedTuple):
    """Where a project sends conversations, and the variable whose key is sent with them."""

    base_url: str
    api_key_env: str
    project: str = _ANY_PROJECT
    """The directory of the project; empty for every project."""

    def entry(self) -> tuple[str, str, str]:
        """Return origin, variable and project: what a confirmation is about."""
        return (parse_origin(self.base_url), self.api_key_env, self.project)


class ModelConfirmations:
    """The addresses that the user has confirmed, each with its variable."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._path = state / CONFIRMATIONS_FILE

    def __contains__(self, address: ModelAddress) -> bool:
        try:
            confirmed = self._read()
            return any(
                address._replace(project=project).entry() in confirmed for project in (address.project, _ANY_PROJECT)
            )
        except (OSError, ValueError, RecursionError):
            return False

    def add(self, address: ModelAddress) -> bool:
        """Confirm an address and return whether it is new."""
        try:
            self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
            with lock_file(self._state / LOCK_FILE):
                confirmed = self._read()
                if address.entry() in confirmed:
                    return False
                data = {"version": _VERSION, "models": sorted({*confirmed, address.entry()})}
                write_atomic(self._path, (json.dumps(data, indent=2) + "\n").encode())
        except OSError as error:
            raise StorageFailed(f"`{self._path}` could not be written: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise StorageFailed(
                f"`{self._path}` cannot be used: {error}", hint="remove it, and confirm again"
            ) from error
        return True

    def _read(self) -> frozenset[tuple[str, str, str]]:
        try:
            descriptor = open_regular(self._path)
        except FileNotFoundError:
            return frozenset()
        try:
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise ValueError("others may write to it")
            data: Any = json.loads(read_at_most(descriptor, MAX_BYTES))
        finally:
            os.close(descriptor)
        value: Mapping[str, Any] = cast("Mapping[str, Any]", data) if isinstance(data, dict) else {}
        entries = value.get("models")
        if not isinstance(entries, list) or value.get("version") not in (1, _VERSION):
            raise ValueError("it is not a list of addresses")
        texts = [tuple(map(str, entry)) for entry in cast("list[list[Any]]", entries)]
        return frozenset(ModelAddress(*entry).entry() for entry in texts if len(entry) == value["version"] + 1)
