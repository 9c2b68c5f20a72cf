"""The schema of the ledger file: numbered scripts, applied forward only, each remembered with its checksum."""

import hashlib
from functools import cache
from typing import NamedTuple

from skills_runtime.errors import LogTooNew, StorageFailed
from skills_runtime.ledger.database import REBUILD_HINT, Database
from skills_runtime.ledger.queries import sql_files

APPLICATION_ID = 1397445196
"""`SKRL` in the header of the file: whose database this is."""


class Migration(NamedTuple):
    """One step of the schema."""

    version: int
    script: str

    @property
    def checksum(self) -> str:
        """What identifies the script once it has been applied."""
        return "sha256:" + hashlib.sha256(self.script.encode()).hexdigest()


@cache
def known_migrations() -> tuple[Migration, ...]:
    """Every step this version ships, in order."""
    scripts = sorted(sql_files().iterdir(), key=lambda file: file.name)
    return tuple(
        Migration(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in scripts if file.name[:4].isdigit()
    )


def migrate(database: Database, *, applied_at: str) -> None:
    """Bring the file to the schema of this version, or refuse a file that is not ours to change."""
    version = _current_version(database)
    applied = {row["version"]: row["checksum"] for row in database.run("applied_migrations")} if version else {}
    for migration in known_migrations():
        if migration.version > version:
            database.migrate(migration.script, migration.version, checksum=migration.checksum, applied_at=applied_at)
        elif applied.get(migration.version) != migration.checksum:
            raise StorageFailed(
                f"step {migration.version} of the schema of `{database.path}` is not the one this version ships",
                hint="use the version of skills-runtime that made it, or " + REBUILD_HINT,
            )


def _current_version(database: Database) -> int:
    version: int = database.run("user_version")[0]["user_version"]
    newest = known_migrations()[-1].version
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
