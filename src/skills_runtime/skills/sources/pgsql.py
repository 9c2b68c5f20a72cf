"""Skills in PostgreSQL: one row each in a table such as `agent.skills_catalog`, listed by a single query."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skills_runtime.installation import find_installation
from skills_runtime.skills.problems import Problem, SkillError, failure
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.source import Origin, Report
from skills_runtime.skills.sources.stored import (
    MAX_BODY_BYTES,
    MAX_SKILLS,
    Connect,
    Dsn,
    RowContext,
    StoredSkill,
    build_stored_skill,
    share_connection,
)
from skills_runtime.text import one_line

if TYPE_CHECKING:
    from psycopg.sql import Composed

CONNECT_SEC = 5
ANSWER_SEC = 15
COLUMNS = ("id", "skill_name", "description", "body_size", "required_env_vars", "metadata", "scope")
MIGRATIONS = Path(__file__).with_name("migrations")
"""SQL files that create the table, applied in the order of their names."""

_LIST = "SELECT {columns} FROM {table} WHERE enabled AND namespace = %s ORDER BY skill_name, id LIMIT %s"
_BODY = (
    "SELECT CASE WHEN octet_length(body) <= %s THEN body END, octet_length(body)"
    " FROM {table} WHERE enabled AND namespace = %s AND id::text = %s"
)
_REASONS: Mapping[str, str] = {
    "28P01": "it refuses the user or the password",
    "28000": "it refuses this user",
    "3D000": "there is no such database",
    "3F000": "there is no such schema",
    "42P01": "there is no such table",
    "42703": "the table lacks a column",
    "42501": "this user may not read the table",
    "57014": "it does not answer in time",
}
_MESSAGE_STATES = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    'FATAL:  role "': "28000",
    'FATAL:  database "': "3D000",
}
"""Server messages that identify a refused connection, which has no error code."""

_KINDS = {
    "OperationalError": "it cannot be reached",
    "ConnectionTimeout": "it does not answer in time",
    "ProgrammingError": "its address is not one of a PostgreSQL server",
}


class PgsqlSource:
    """Lists the skills of one namespace and fetches their bodies."""

    def __init__(
        self,
        origin: Origin,
        connect: Connect,
        *,
        table: tuple[str, str],
        dsn: Dsn | None = None,
        max_field_bytes: int = 65_536,
    ) -> None:
        self.origin = origin
        self._connect = connect
        self._table = table
        self._dsn = dsn
        self._max_field_bytes = max_field_bytes

    def skills(self) -> Report:
        """Report every enabled and valid row of the namespace."""
        try:
            rows = self._query(_LIST, (self.origin.namespace, MAX_SKILLS + 1))
        except (*_errors(), ImportError) as error:
            return Report((), (self._unavailable_problem(error),))
        results = [self._skill(dict(zip(COLUMNS, row, strict=True))) for row in rows[:MAX_SKILLS]]
        return Report(
            tuple(result for result in results if isinstance(result, Skill)),
            (
                *(result for result in results if isinstance(result, Problem)),
                *([self._limit_problem()] if len(rows) > MAX_SKILLS else []),
            ),
        )

    def body(self, skill: Skill) -> str:
        """Fetch the body of a skill."""
        if not isinstance(skill, StoredSkill):
            raise _read_error(skill, "it is not of this source")
        try:
            rows = self._query(_BODY, (MAX_BODY_BYTES, self.origin.namespace, skill.key))
        except (*_errors(), ImportError) as error:
            raise _read_error(skill, self._explain(error)) from None
        if not rows:
            raise _read_error(skill, "its row is gone, or switched off")
        body, size = rows[0]
        if body is None and size is not None:
            raise failure("SKILL_BODY_TOO_LARGE", f"`{skill.mention.text}` is larger than {MAX_BODY_BYTES} bytes")
        return str(body or "")

    def _query(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Run a query and return its rows; retry once if the connection was lost."""
        connections: list[Any] = []
        try:
            return self._execute(query, values, connections)
        except _errors():
            if not any(getattr(connection, "broken", False) for connection in connections):
                raise
        return self._execute(query, values, connections)

    def _execute(self, query: str, values: Sequence[Any], connections: list[Any]) -> list[tuple[Any, ...]]:
        with self._connect() as connection:
            connections.append(connection)
            with connection.cursor() as cursor:
                cursor.execute(_compose(query, self._table), values)
                return cursor.fetchall()

    def _skill(self, fields: Mapping[str, Any]) -> Skill | Problem:
        name = one_line(str(fields["skill_name"]))[:100]
        context = RowContext(
            origin=self.origin,
            locator=f"pgsql://{self.origin.source_id}/{'.'.join(self._table)}/{fields['id']}#{name}",
            key=str(fields["id"]),
            max_bytes=self._max_field_bytes,
        )
        return build_stored_skill(fields, context)

    def _unavailable_problem(self, error: Exception) -> Problem:
        table = ".".join(self._table)
        hint = f"check `{self._dsn.variable}` and the server it names" if self._dsn else "check the client"
        lacking = getattr(error, "sqlstate", None) in ("3F000", "42P01", "42703")
        return Problem(
            code="SKILL_SCAN_SOURCE_UNAVAILABLE",
            message=f"the table `{one_line(table)}` of the source `{self.origin.source_id}`"
            f" cannot be searched for skills: {self._explain(error)}",
            hint="make the table; `0001_skills_catalog.sql` of this package does" if lacking else hint,
            locator=f"pgsql://{self.origin.source_id}/{one_line(table)}",
            namespace=self.origin.namespace,
        )

    def _limit_problem(self) -> Problem:
        return Problem(
            code="SKILL_SCAN_LIMIT_REACHED",
            message=f"only {MAX_SKILLS} skills of the source `{self.origin.source_id}` were read",
            hint="divide them into namespaces",
            severity="warning",
            locator=f"pgsql://{self.origin.source_id}/{'.'.join(self._table)}",
            namespace=self.origin.namespace,
        )

    def _explain(self, error: Exception) -> str:
        """Describe an error, in our own words for known errors."""
        if isinstance(error, ImportError):
            return f"the package `psycopg` is not installed; install it: `{find_installation().extra_command('pgsql')}`"
        message = str(error)
        state: str = getattr(error, "sqlstate", None) or next(
            (_MESSAGE_STATES[fragment] for fragment in _MESSAGE_STATES if fragment in message), ""
        )
        if state in _REASONS:
            return _REASONS[state]
        if not state and type(error).__name__ in _KINDS:
            return _KINDS[type(error).__name__]
        return self._dsn.redact(message) if self._dsn is not None else one_line(message)[:200]


def connection_to(dsn: Dsn) -> Connect:
    """Return a factory of connections to a server, which connects on first use."""

    def connection() -> Any:
        import psycopg

        client = psycopg.connect(dsn.text, connect_timeout=CONNECT_SEC, autocommit=True, prepare_threshold=None)
        client.execute("SELECT set_config('statement_timeout', %s, false)", (f"{ANSWER_SEC}s",))
        return client

    return share_connection(connection)


def _compose(query: str, table: tuple[str, str]) -> "Composed":
    from psycopg import sql

    columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
    return sql.SQL(query).format(columns=columns, table=sql.Identifier(*table))  # pyright: ignore[reportArgumentType]


def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a connection may raise."""
    try:
        from psycopg import Error
    except ImportError:
        return (OSError, ValueError)
    return (Error, OSError, ValueError)


def _read_error(skill: Skill, reason: str) -> SkillError:
    return failure(
        "SKILL_BODY_READ_FAILED",
        f"the text of `{skill.mention.text}` cannot be read: {reason}",
        hint=f"check `{skill.locator}`",
    )
