"""Keys and the token: kept as digests, private, revocable, seen by every process at once."""

import os
import stat
from pathlib import Path

import pytest

from skills_runtime.errors import AccessRefused, NotFound, StorageFailed, ValidationFailed
from skills_runtime.service.access.keys import KeyFile
from skills_runtime.service.access.token import (
    RunningService,
    find_services,
    register_service,
    service_token,
    unregister_service,
)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.minute = 0

    def now(self) -> str:
        return f"2026-01-01T00:{self.minute:02}:00.000000Z"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(tmp_path: Path, clock: Clock) -> KeyFile:
    return KeyFile(tmp_path, clock.now)


def test_a_key_is_recognized_and_only_its_digest_is_kept(tmp_path: Path, keys: KeyFile) -> None:
    key, text = keys.create("ci", ["execute", "read"])
    recognized = keys.find(text)
    assert recognized is not None
    assert (recognized.id, recognized.scopes) == (key.id, ("read", "execute"))
    stored_text = (tmp_path / "service" / "keys.json").read_text()
    assert text not in stored_text
    assert text[-43:] not in stored_text


@pytest.mark.parametrize("change", ["cut", "longer", "nothing", "upper"])
def test_a_changed_text_is_not_a_key(keys: KeyFile, change: str) -> None:
    _, text = keys.create("ci", ["read"])
    changed = {"cut": text[:-1], "longer": f"{text}a", "nothing": "", "upper": text.upper()}
    assert keys.find(changed[change]) is None


def test_a_key_with_the_secret_of_another_is_invalid(keys: KeyFile) -> None:
    (first, first_text), (_, other) = keys.create("a", ["read"]), keys.create("b", ["admin"])
    assert keys.find(f"srk_{first.id}_{other[-43:]}") is None
    assert keys.find(first_text) is not None


def test_a_revocation_by_another_process_counts_at_once(tmp_path: Path, keys: KeyFile, clock: Clock) -> None:
    _, text = keys.create("ci", ["read"])
    assert keys.find(text) is not None
    KeyFile(tmp_path, clock.now).revoke("ci")
    assert keys.find(text) is None
    assert keys.list()[0].revoked_at == clock.now()


def test_the_last_use_is_remembered_once_a_minute(tmp_path: Path, keys: KeyFile, clock: Clock) -> None:
    _, text = keys.create("ci", ["read"])
    assert keys.list()[0].last_used_at is None
    clock.minute = 5
    keys.find(text)
    before = (tmp_path / "service" / "keys.json").stat().st_ino
    keys.find(text)
    assert (tmp_path / "service" / "keys.json").stat().st_ino == before
    clock.minute = 6
    keys.find(text)
    assert keys.list()[0].last_used_at == "2026-01-01T00:06:00.000000Z"


def test_a_name_can_be_used_again_after_its_key_was_revoked(keys: KeyFile) -> None:
    keys.create("ci", ["read"])
    with pytest.raises(ValidationFailed):
        keys.create("ci", ["read"])
    keys.revoke("ci")
    keys.create("ci", ["read"])
    assert [key.revoked_at is None for key in keys.list()] == [False, True]


@pytest.mark.parametrize(
    ("name", "scopes"), [("", ["read"]), ("a/b", ["read"]), ("a", []), ("a", ["root"]), ("é", ["read"])]
)
def test_a_key_that_is_invalid_is_refused(keys: KeyFile, name: str, scopes: list[str]) -> None:
    with pytest.raises(ValidationFailed):
        keys.create(name, scopes)
    assert keys.list() == ()


def test_revoking_what_is_not_there_is_refused(keys: KeyFile) -> None:
    with pytest.raises(NotFound):
        keys.revoke("ci")


def test_a_file_of_keys_that_others_can_read_is_refused(tmp_path: Path, keys: KeyFile, clock: Clock) -> None:
    keys.create("ci", ["read"])
    (tmp_path / "service" / "keys.json").chmod(0o644)
    with pytest.raises(AccessRefused):
        KeyFile(tmp_path, clock.now).list()


def test_a_damaged_file_of_keys_grants_no_access(tmp_path: Path, keys: KeyFile, clock: Clock) -> None:
    _, text = keys.create("ci", ["read"])
    path = tmp_path / "service" / "keys.json"
    path.write_text("[{")
    with pytest.raises(StorageFailed):
        KeyFile(tmp_path, clock.now).find(text)


def test_the_token_stays_until_it_is_renewed(tmp_path: Path) -> None:
    token = service_token(tmp_path)
    assert service_token(tmp_path) == token
    assert stat.S_IMODE((tmp_path / "service" / "token").stat().st_mode) == 0o600
    assert service_token(tmp_path, renew=True) != token


def test_a_token_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    service_token(tmp_path)
    (tmp_path / "service" / "token").chmod(0o640)
    with pytest.raises(AccessRefused):
        service_token(tmp_path)


def test_a_service_is_found_while_it_lives(tmp_path: Path) -> None:
    server = RunningService(
        url="http://127.0.0.1:1", token="t", pid=os.getpid(), workspace_root="/w", started_at="2026"
    )
    register_service(tmp_path, 1, server)
    assert find_services(tmp_path) == (server,)
    assert server.link == "http://127.0.0.1:1/?token=t"
    unregister_service(tmp_path, 1, os.getpid() + 1)
    assert find_services(tmp_path) == (server,)
    unregister_service(tmp_path, 1, os.getpid())
    assert find_services(tmp_path) == ()
