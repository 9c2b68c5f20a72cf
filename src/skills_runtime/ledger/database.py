"""A thread-safe connection to the ledger file: SQL, migrations, transactions and error translation.

Knows nothing of runs or messages.
"""

import hashlib
import re
import sqlite3
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from skills_runtime.errors import (
    AccessRefused,
    LogLocked,
    LogTooNew,
    SkillsRuntimeError,
    StorageFailed,
    ValidationFailed,
)

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def parse_queries(text: str) -> Mapping[str, str]:
    """Parse statements by the name in the `-- name:` line above each."""
    _, *parts = _NAME.split(text)
    return {name: statement.strip() for name, statement in zip(parts[::2], parts[1::2], strict=True)}


def sql_directory() -> Path:
    """Return the directory of SQL files that ships with this package."""
    return Path(__file__).with_name("sql")


@cache
def queries() -> Mapping[str, str]:
    """Load every named statement of `queries.sql`."""
    return parse_queries((sql_directory() / "queries.sql").read_text(encoding="utf-8"))


BUSY_MILLISECONDS = 5000
REBUILD_HINT = (
    "move the file away and run `skills-runtime ledger rebuild`; messages not yet delivered stay in the old file"
)

Durability = Literal["normal", "full"]
Value = str | int | bytes | None

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_REFUSED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH}
_DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


class Database:
    """A connection that threads may share."""

    def __init__(self, path: Path, *, durability: Durability) -> None:
        self.path = path
        # One connection behind one lock, not one per thread: SQLite has a single writer anyway, statements are short,
        # and many threads must not become many open files. Re-entrant, so that a transaction can run its statements.
        self._lock = threading.RLock()
        with _translate_errors(path):
            self._connection = sqlite3.connect(
                path, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare(durability)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, durability: Durability) -> None:
        self._connection.row_factory = sqlite3.Row
        self._pragma(f"busy_timeout = {BUSY_MILLISECONDS}")
        mode = self._pragma("journal_mode = WAL")
        if mode != "wal":
            raise StorageFailed(
                f"the ledger `{self.path}` cannot use a write-ahead log (it is in `{mode}` mode)",
                hint="keep the state directory on a local disk",
            )
        # With NORMAL a power loss may take the last commits: fine for what can be derived again, and only for that.
        self._pragma(f"synchronous = {durability.upper()}")
        self._pragma("fullfsync = ON")

    def _pragma(self, assignment: str) -> Value:
        with self._lock, _translate_errors(self.path):
            row = self._connection.execute(f"PRAGMA {assignment}").fetchone()
        return row[0] if row else None

    def run(self, query: str, **parameters: Value) -> list[dict[str, Any]]:
        """Execute one named statement and return all its rows, by column."""
        with self._lock, _translate_errors(self.path):
            return [dict(row) for row in self._connection.execute(queries()[query], parameters)]

    def version(self) -> int:
        """Return a number that changes whenever another connection has written."""
        return int(self._pragma("data_version") or 0)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commit everything inside the block together, or nothing."""
        with self._lock:
            self._begin("")
            try:
                yield
                self._commit()
            except BaseException:
                self._roll_back()
                raise

    def migrate(self, script: str, version: int, **record: Value) -> None:
        """Apply one schema script, its version and its record in one transaction."""
        with self._lock:
            try:
                self._begin(script)
                self.run("add_migration", version=version, **record)
                self._pragma(f"user_version = {version:d}")
                self._commit()
            except BaseException:
                self._roll_back()
                raise

    def close(self) -> None:
        """Close the connection; harmless when repeated."""
        with self._lock, _translate_errors(self.path):
            self._connection.close()

    def _begin(self, script: str) -> None:
        # IMMEDIATE: a transaction that reads first and writes later could otherwise fail without waiting for its turn.
        with _translate_errors(self.path):
            if script:
                self._connection.executescript(f"BEGIN IMMEDIATE;\n{script}")
            else:
                self._connection.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        with _translate_errors(self.path):
            self._connection.execute("COMMIT")

    def _roll_back(self) -> None:
        # After a full disk SQLite may have rolled back already; a second ROLLBACK would hide the first error.
        if self._connection.in_transaction:
            with _translate_errors(self.path):
                self._connection.execute("ROLLBACK")


@contextmanager
def _translate_errors(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _translate_error(error, path) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise ValidationFailed(
            f"the ledger cannot hold this value: {error}", hint="use valid Unicode text and numbers of at most 64 bits"
        ) from error


def _translate_error(error: sqlite3.Error, path: Path) -> SkillsRuntimeError:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary in _BUSY:
        return LogLocked(f"the ledger `{path}` is busy: {error}", hint="another process is writing; try again")
    if primary in _REFUSED:
        return AccessRefused(f"the ledger `{path}` cannot be used: {error}", hint="check its owner and its mode")
    if primary in _DAMAGED:
        return StorageFailed(f"`{path}` is not a usable ledger: {error}", hint=REBUILD_HINT)
    return StorageFailed(f"the ledger `{path}` failed: {error}", hint="free some space or fix the disk, then try again")


# `SKRL` in the header of the file: marks the database as a ledger.
APPLICATION_ID = 1397445196


class Migration(NamedTuple):
    """One step of the schema."""

    version: int
    script: str

    @property
    def checksum(self) -> str:
        """The digest that identifies the script once it has been applied."""
        return "sha256:" + hashlib.sha256(self.script.encode()).hexdigest()


@cache
def load_migrations() -> tuple[Migration, ...]:
    """Load every schema step that this version ships, in order."""
    scripts = sorted(sql_directory().iterdir(), key=lambda file: file.name)
    return tuple(
        Migration(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in scripts if file.name[:4].isdigit()
    )


def migrate(database: Database, *, applied_at: str) -> None:
    """Migrate the file to the schema of this version; refuse a file that is not a ledger."""
    version = _current_version(database)
    applied = {row["version"]: row["checksum"] for row in database.run("applied_migrations")} if version else {}
    for migration in load_migrations():
        if migration.version > version:
            database.migrate(migration.script, migration.version, checksum=migration.checksum, applied_at=applied_at)
        elif applied.get(migration.version) != migration.checksum:
            raise StorageFailed(
                f"step {migration.version} of the schema of `{database.path}` is not the one this version ships",
                hint="use the version of skills-runtime that made it, or " + REBUILD_HINT,
            )


def _current_version(database: Database) -> int:
    version: int = database.run("user_version")[0]["user_version"]
    newest = load_migrations()[-1].version
    if version > newest:
        raise LogTooNew(
            f"the ledger `{database.path}` has version {version}, this program knows {newest}",
            hint="upgrade skills-runtime",
        )
    ours = database.run("application_id")[0]["application_id"] == APPLICATION_ID
    empty = version == 0 and database.run("count_objects")[0]["objects"] == 0
    if not (ours or empty):
        raise StorageFailed(f"`{database.path}` is a database, but not a ledger", hint=REBUILD_HINT)
    return version
