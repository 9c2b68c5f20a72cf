"""Opening the ledger: who may see it, and what is not a ledger of ours."""

import os
import re
import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import (
    AccessRefused,
    LogLocked,
    LogTooNew,
    SkillsRuntimeError,
    StorageFailed,
    ValidationFailed,
)
from skills_runtime.ledger import Ledger, database
from skills_runtime.ledger.database import load_migrations, parse_queries, queries
from tests.support.users import Unprivileged
from tests.unit.ledger.samples import noted_connections, open_at, sample

FILES = ("ledger.db", "ledger.db-shm", "ledger.db-wal", "ledger.lock")


def _execute(state_home: Path, statement: str) -> Any:
    with closing(sqlite3.connect(state_home / "ledger.db", isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


def _modes(directory: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.lstat().st_mode) for path in directory.iterdir()}


def _refusal(state_home: Path) -> SkillsRuntimeError:
    with pytest.raises(SkillsRuntimeError) as caught:
        open_at(state_home).close()
    assert caught.value.hint
    return caught.value


def test_everything_is_for_the_owner_only_whatever_the_umask(unprivileged: Unprivileged) -> None:
    def work() -> tuple[int, dict[str, int]]:
        os.umask(0)
        home = unprivileged.path / "a" / "b"
        with open_at(home) as ledger:
            ledger.inbox.send("run_1", "steer", {})
            return stat.S_IMODE(home.stat().st_mode), _modes(home)

    assert unprivileged(work) == (0o700, dict.fromkeys(FILES, 0o600))


def test_files_that_others_could_read_are_closed(state_home: Path) -> None:
    open_at(state_home).close()
    (state_home / "ledger.db").chmod(0o644)
    (state_home / "ledger.db-wal").touch(mode=0o666)
    with open_at(state_home) as ledger:
        ledger.index.record(sample())
        assert {mode for name, mode in _modes(state_home).items() if name != "ledger.lock"} == {0o600}


def test_an_ordinary_user_is_refused_where_nothing_can_be_written(unprivileged: Unprivileged) -> None:
    def work() -> list[tuple[str, list[str]]]:
        results: list[tuple[str, list[str]]] = []
        for mode in (0o500, 0o000):
            parent = unprivileged.path / f"parent{mode}"
            parent.mkdir()
            parent.chmod(mode)
            for home in (parent, parent / "state"):
                with pytest.raises(AccessRefused) as caught:
                    open_at(home)
                results.append((caught.value.kind, []))
            parent.chmod(0o700)
            results[-1][1].extend(path.name for path in parent.iterdir())
        return results

    assert unprivileged(work) == [("permission", [])] * 4


def test_a_ledger_that_may_only_be_read_is_refused_when_written(unprivileged: Unprivileged) -> None:
    def work() -> str:
        open_at(unprivileged.path / "state").close()
        (unprivileged.path / "state" / "ledger.db").chmod(0o400)
        with pytest.raises(AccessRefused) as caught, open_at(unprivileged.path / "state") as ledger:
            ledger.inbox.send("run_1", "steer", {})
        return caught.value.hint

    assert unprivileged(work)


def test_a_directory_of_another_user_is_refused(unprivileged: Unprivileged) -> None:
    def work() -> SkillsRuntimeError:
        return _refusal(Path("/"))

    error = unprivileged(work)
    assert (error.kind, "another user" in error.message) == ("permission", True)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_directory_that_others_may_write_is_refused(state_home: Path, mode: int) -> None:
    state_home.mkdir()
    state_home.chmod(mode)
    assert isinstance(_refusal(state_home), AccessRefused)
    assert list(state_home.iterdir()) == []


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is not a database " * 500)


def _another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE runs (something TEXT)")


def _another_program_with_a_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")


def _directory(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.symlink_to("elsewhere.db")


@pytest.mark.parametrize("make", [_garbage, _another_program, _another_program_with_a_version, _directory, _link])
def test_what_is_not_a_ledger_is_refused_with_the_way_out(state_home: Path, make: Callable[[Path], None]) -> None:
    state_home.mkdir(mode=0o700)
    make(state_home / "ledger.db")
    error = _refusal(state_home)
    assert isinstance(error, StorageFailed)
    assert "skills-runtime ledger rebuild" in error.hint
    assert not (state_home / "elsewhere.db").exists()


def test_a_file_that_is_not_a_database_is_left_as_it_is(state_home: Path) -> None:
    state_home.mkdir(mode=0o700)
    _garbage(state_home / "ledger.db")
    before = (state_home / "ledger.db").read_bytes()
    _refusal(state_home)
    assert (state_home / "ledger.db").read_bytes() == before


def test_a_state_directory_that_is_a_file_is_refused(state_home: Path) -> None:
    state_home.write_text("x")
    assert isinstance(_refusal(state_home), StorageFailed)
    assert isinstance(_refusal(state_home / "below"), StorageFailed)


def test_a_state_directory_without_a_possible_name_is_refused(tmp_path: Path) -> None:
    assert isinstance(_refusal(tmp_path / "a\x00b"), ValidationFailed)


def test_a_damaged_ledger_is_reported_with_the_way_out(state_home: Path) -> None:
    with open_at(state_home) as ledger:
        ledger.index.record(sample())
    file = state_home / "ledger.db"
    file.write_bytes(file.read_bytes()[:100] + b"\xaa" * (file.stat().st_size - 100))
    assert "ledger rebuild" in _refusal(state_home).hint


def test_a_newer_ledger_is_refused_and_left_as_it_is(state_home: Path) -> None:
    open_at(state_home).close()
    _execute(state_home, "PRAGMA user_version = 99")
    error = _refusal(state_home)
    assert (type(error), error.kind, error.hint) == (LogTooNew, "log_too_new", "upgrade skills-runtime")
    assert _execute(state_home, "PRAGMA user_version") == [(99,)]


def test_the_schema_is_recorded_with_its_checksum(state_home: Path) -> None:
    open_at(state_home).close()
    open_at(state_home).close()
    (newest,) = load_migrations()[-1:]
    assert _execute(state_home, "PRAGMA user_version") == [(newest.version,)]
    steps = [(migration.version, migration.checksum) for migration in load_migrations()]
    assert _execute(state_home, "SELECT version, checksum FROM migrations") == steps


def test_a_schema_that_is_not_the_shipped_one_is_refused(state_home: Path) -> None:
    open_at(state_home).close()
    _execute(state_home, "UPDATE migrations SET checksum = 'sha256:other'")
    assert "step 1" in _refusal(state_home).message


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [migration.version for migration in load_migrations()] == list(range(1, len(load_migrations()) + 1))


def test_a_schema_that_fails_leaves_nothing_behind(state_home: Path) -> None:
    state_home.mkdir(mode=0o700)
    with closing(database.Database(state_home / "ledger.db", durability="full")) as opened:
        with pytest.raises(StorageFailed):
            opened.migrate("CREATE TABLE half (a); CREATE TABLE half (a);", 1, checksum="x", applied_at="now")
        assert opened.run("count_objects") == [{"objects": 0}]
        assert opened.run("user_version") == [{"user_version": 0}]


def test_threads_that_open_at_once_find_one_ledger(state_home: Path) -> None:
    def work(number: int) -> None:
        with open_at(state_home) as ledger:
            ledger.inbox.send("run_1", "steer", {"n": number})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))
    with open_at(state_home) as ledger:
        assert ledger.inbox.unacknowledged_count("run_1") == 16


def test_another_writer_is_waited_for_and_then_told(state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_MILLISECONDS", 50)
    with open_at(state_home) as ledger, closing(sqlite3.connect(state_home / "ledger.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        for use in (lambda: ledger.inbox.send("run_1", "steer", {}), lambda: ledger.index.record(sample())):
            with pytest.raises(LogLocked, match="busy"):
                use()
        other.rollback()
        assert ledger.inbox.send("run_1", "steer", {}).position == 1


def test_closing_twice_is_harmless_and_using_it_afterwards_is_reported(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
    with pytest.raises(StorageFailed, match="closed"):
        ledger.index.list()
    with pytest.raises(StorageFailed, match="closed"):
        ledger.inbox.send("run_1", "steer", {})


def test_messages_are_synced_fully_and_the_index_only_normally(
    state_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = noted_connections(monkeypatch)

    def writer(write: Callable[[], object]) -> sqlite3.Connection:
        before = [connection.total_changes for connection in connections]
        write()
        (used,) = [
            connection
            for connection, changes in zip(connections, before, strict=True)
            if connection.total_changes > changes
        ]
        return used

    with open_at(state_home) as ledger:
        inbox = writer(lambda: ledger.inbox.send("run_1", "steer", {}))
        index = writer(lambda: ledger.index.record(sample()))
        receipt = writer(lambda: ledger.inbox.acknowledge(ledger.inbox.pending("run_1")[0].id, event_seq=1))
        assert receipt is inbox
        assert [connection.execute("PRAGMA synchronous").fetchone()[0] for connection in (inbox, index)] == [2, 1]
        assert [connection.execute("PRAGMA journal_mode").fetchone()[0] for connection in (inbox, index)] == [
            "wal",
            "wal",
        ]
        assert [connection.execute("PRAGMA busy_timeout").fetchone()[0] for connection in (inbox, index)] == [
            5000,
            5000,
        ]


def test_queries_are_found_by_name() -> None:
    assert parse_queries("-- about\n\n-- name: one\nSELECT 1;\n\n-- name: two\nSELECT\n  2;\n") == {
        "one": "SELECT 1;",
        "two": "SELECT\n  2;",
    }


def test_every_query_that_ships_is_understood_by_the_schema(state_home: Path) -> None:
    open_at(state_home).close()
    with closing(sqlite3.connect(state_home / "ledger.db")) as connection:
        for statement in queries().values():
            names = dict.fromkeys(set(re.findall(r"(?<!:):(\w+)", statement)))
            connection.execute(f"EXPLAIN {statement}", names).fetchall()
