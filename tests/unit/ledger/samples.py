"""Rows and ledgers for the tests of this directory."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.errors import LogCorrupt
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger, RunRow, open_ledger
from skills_runtime.runs.layout import runs_root


def open_at(state_home: Path) -> Ledger:
    """The ledger of a state directory, with the real clock."""
    return open_ledger(state_home, clock=SystemClock(), ids=RandomIds())


def noted_connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """The connections that are opened from here on, in order."""
    connections: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connections.append(connect(*arguments, **options))
        return connections[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    return connections


def sample(run_id: str = "run_1", **changes: Any) -> RunRow:
    """A row that differs from the usual one only where told."""
    row = RunRow(
        run_id=run_id,
        session_id="session_1",
        task_id="task_1",
        status=RunStatus.RUNNING,
        title="Fix the login",
        path=f"/nowhere/{run_id}",
        workspace_root="/nowhere",
        created_at="2025-01-01T00:00:00.000000Z",
        updated_at="2025-01-01T00:00:05.000000Z",
        last_seq=7,
        last_mac="00" * 16,
    )
    return msgspec.structs.replace(row, **changes)


def make_run(workspace: Path, run_id: str, *, last_seq: int = 3, **changes: Any) -> Path:
    """A run directory that `read_run` understands."""
    return make_run_at(runs_root(workspace) / run_id, run_id, last_seq=last_seq, workspace=workspace, **changes)


def make_run_at(directory: Path, run_id: str, *, last_seq: int, workspace: Path, **changes: Any) -> Path:
    """The same, anywhere."""
    directory.mkdir(parents=True, exist_ok=True)
    row = sample(run_id, last_seq=last_seq, workspace_root=str(workspace), title=f"Task of {run_id}", **changes)
    (directory / "row.json").write_bytes(msgspec.json.encode(row))
    return directory


def read_run(directory: Path) -> tuple[RunRow, str]:
    """Read what `make_run` made; the text is the name of the run spelled out."""
    raw = (directory / "row.json").read_bytes()
    if raw == b"damaged":
        raise LogCorrupt(f"line 3 of `{directory}` is not what was written")
    row = msgspec.json.decode(raw, type=RunRow)
    return row, f"prompt and output of {row.run_id}"


def dump(state_home: Path) -> dict[str, list[Any]]:
    """Everything the index holds, after a check that it is whole."""
    with closing(sqlite3.connect(state_home / "ledger.db", isolation_level=None)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO run_text (run_text) VALUES ('integrity-check')")
        return {
            table: connection.execute(f"SELECT rowid, * FROM {table} ORDER BY 2").fetchall()
            for table in ("runs", "run_text")
        } | {"roots": connection.execute("SELECT path FROM roots ORDER BY path").fetchall()}
