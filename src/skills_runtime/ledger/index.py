"""The index of runs: what lists and searches read.

A projection: the run directories are the truth, and `rebuild` derives it from them again.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from skills_runtime.errors import NotFound, RunExists, UsageError, ValidationFailed
from skills_runtime.events import RunStatus
from skills_runtime.ledger.database import Database
from skills_runtime.ledger.rows import RunRow, SessionRow, TaskRow, parse_search, read_row, searchable
from skills_runtime.runs import check_id
from skills_runtime.text import make_title

PREFIX_LENGTH = 4
PAGE_LIMIT = 1000
_CANDIDATES = 10

Outcome = Literal["stored", "stale"] | UsageError


class Entry(NamedTuple):
    """A run to record, with its prompt and final output as one text; None keeps the stored text."""

    row: RunRow
    text: str | None = None


class RunIndex:
    """Look up, list and search runs by id, session, task and text."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, row: RunRow, *, text: str | None = None) -> bool:
        """Store the row of a run; return False when the stored row covers more of the same log."""
        (outcome,) = self.record_all([Entry(row, text)])
        if isinstance(outcome, UsageError):
            raise outcome
        return outcome == "stored"

    def record_all(self, entries: Iterable[Entry]) -> tuple[Outcome, ...]:
        """Store many runs in one transaction; an entry that cannot be stored does not stop the others."""
        with self._database.transaction():
            return tuple(self._outcome(entry) for entry in entries)

    def _outcome(self, entry: Entry) -> Outcome:
        try:
            return self._store(_normalize(entry.row), entry.text)
        except UsageError as error:
            return error

    def _store(self, row: RunRow, text: str | None) -> Outcome:
        stored = self._database.run("head_of_run", run_id=row.run_id)
        if stored and _is_same_run(row, Path(stored[0]["path"])) and row.last_seq < stored[0]["last_seq"]:
            return "stale"
        number = self._database.run("put_run", **msgspec.structs.asdict(row))[0]["number"]
        self._database.run(
            "change_text" if stored else "add_text",
            number=number,
            title=row.title,
            failure_reason=row.failure_reason,
            text=None if text is None else searchable(text),
        )
        return "stored"

    def get(self, run_id: str) -> RunRow:
        """Return the run with exactly this id."""
        for row in self._runs("get_run", run_id=check_id(run_id, "run")):
            return row
        raise _not_found(run_id)

    def find(self, prefix: str) -> RunRow:
        """Find the run with this id, or the only one whose id begins with it."""
        exact = self._runs("get_run", run_id=check_id(prefix, "run"))
        if exact:
            return exact[0]
        if len(prefix) < PREFIX_LENGTH:
            raise ValidationFailed(
                f"`{prefix}` is too short to find a run", hint=f"give at least {PREFIX_LENGTH} characters of its id"
            )
        rows = self._runs("runs_by_prefix", prefix=prefix, limit=_CANDIDATES + 1)
        match rows:
            case ():
                raise _not_found(prefix)
            case (row,):
                return row
            case _:
                raise _ambiguous_prefix(prefix, [row.run_id for row in rows])

    def list(
        self,
        *,
        workspace_root: Path | str | None = None,
        session_id: str | None = None,
        task_id: str | None = None,
        status: RunStatus | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> tuple[RunRow, ...]:
        """List the runs that match every filter, newest first; `before` is the `cursor` of the last row."""
        created_at, run_id = _cursor(before)
        return self._runs(
            "list_runs",
            workspace_root=None if workspace_root is None else str(workspace_root),
            session_id=session_id,
            task_id=task_id,
            status=status,
            before_created_at=created_at,
            before_run_id=run_id,
            limit=_check_limit(limit),
        )

    def search(self, text: str, limit: int = 50) -> tuple[RunRow, ...]:
        """Find runs whose title, prompt, final output or failure reason hold every word of `text`, newest first."""
        search = parse_search(text)
        if search.match is None:
            return self._runs("search_patterns", patterns=search.patterns, limit=_check_limit(limit))
        return self._runs("search_phrases", match=search.match, patterns=search.patterns, limit=_check_limit(limit))

    def sessions(self, *, limit: int = 50) -> tuple[SessionRow, ...]:
        """List sessions, the most recently changed first."""
        return tuple(read_row(SessionRow, row) for row in self._database.run("sessions", limit=_check_limit(limit)))

    def tasks(self, session_id: str) -> tuple[TaskRow, ...]:
        """List the tasks of one session, the most recently changed first."""
        rows = self._database.run("tasks", session_id=check_id(session_id, "session"))
        return tuple(read_row(TaskRow, row) for row in rows)

    def forget(self, run_id: str) -> bool:
        """Drop a run from the index, never from disk; return False when it was not indexed."""
        return self.forget_all([check_id(run_id, "run")]) == 1

    def forget_all(self, run_ids: Iterable[str]) -> int:
        """Drop many runs in one transaction; return how many were indexed."""
        with self._database.transaction():
            return sum(self._forget(run_id) for run_id in run_ids)

    def _forget(self, run_id: str) -> int:
        self._database.run("forget_text", run_id=run_id)
        return len(self._database.run("forget_run", run_id=run_id))

    def locations(self) -> tuple[tuple[str, Path, Path], ...]:
        """Return id, directory and workspace of every run."""
        rows = self._database.run("run_locations")
        return tuple((row["run_id"], Path(row["path"]), Path(row["workspace_root"])) for row in rows)

    def remember_root(self, path: Path) -> None:
        """Remember a directory that holds run directories, for a later rebuild."""
        with self._database.transaction():
            self._database.run("remember_root", path=os.path.abspath(path))

    def forget_root(self, path: Path) -> None:
        """Stop looking for runs in a directory."""
        with self._database.transaction():
            self._database.run("forget_root", path=os.path.abspath(path))

    def roots(self) -> tuple[Path, ...]:
        """Return the remembered directories."""
        return tuple(Path(row["path"]) for row in self._database.run("roots"))

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def _runs(self, query: str, **parameters: Any) -> tuple[RunRow, ...]:
        return tuple(read_row(RunRow, row) for row in self._database.run(query, **parameters))


def is_gone(directory: Path) -> bool:
    """Return whether the directory certainly does not exist; an unreadable one counts as existing."""
    try:
        return not stat.S_ISDIR(directory.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def _is_same_run(row: RunRow, stored_path: Path) -> bool:
    """Return whether the run is where it was; False when it moved; raises when both directories hold one."""
    if row.path == str(stored_path) or _same_directory(Path(row.path), stored_path):
        return True
    if is_gone(stored_path):
        return False
    raise RunExists(
        f"run `{row.run_id}` is already indexed at `{stored_path}`; `{row.path}` cannot have the same id",
        hint="remove one of the two directories, or give the copy an id of its own",
    )


def _same_directory(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:
        return False


def _normalize(row: RunRow) -> RunRow:
    check_id(row.run_id, "run")
    check_id(row.session_id, "session")
    check_id(row.task_id, "task")
    if not Path(row.path).is_absolute():
        raise ValidationFailed(f"`{row.path}` is not an absolute path", hint="record the absolute run directory")
    reason = None if row.failure_reason is None else searchable(row.failure_reason)
    return msgspec.structs.replace(row, title=make_title(row.title), failure_reason=reason)


def _check_limit(limit: int) -> int:
    if not 1 <= limit <= PAGE_LIMIT:
        raise ValidationFailed(f"`{limit}` is not a page size", hint=f"use a number from 1 to {PAGE_LIMIT}")
    return limit


def _cursor(before: str | None) -> tuple[str | None, str | None]:
    if before is None:
        return None, None
    created_at, separator, run_id = before.partition("~")
    if not separator:
        raise ValidationFailed(f"`{before[:80]}` is not a cursor", hint="give the `cursor` of the last row of a page")
    return created_at, run_id


def _not_found(run_id: str) -> NotFound:
    return NotFound(
        f"no run `{run_id}` is known",
        hint="`skills-runtime runs list` shows what is known; `skills-runtime ledger rebuild` looks on disk again",
        resource="run",
        name=run_id,
    )


def _ambiguous_prefix(prefix: str, run_ids: list[str]) -> ValidationFailed:
    candidates = ", ".join(f"`{run_id}`" for run_id in run_ids[:_CANDIDATES])
    more = " and others" if len(run_ids) > _CANDIDATES else ""
    return ValidationFailed(
        f"several runs begin with `{prefix}`: {candidates}{more}",
        hint="give more characters of the id",
        details={"candidates": run_ids[:_CANDIDATES]},
    )
