"""Rows of the index (runs, sessions, tasks) and the parsing of search texts.

Search texts are plain data: no character is an operator.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from skills_runtime.errors import StorageFailed, ValidationFailed
from skills_runtime.events import RunStatus

QUERY_LENGTH = 1000
TEXT_LENGTH = 262_144
_TRIGRAM = 3
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WILDCARD = re.compile(r"[\\%_]")

Row = TypeVar("Row", bound=msgspec.Struct)


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run as lists show it, with the authenticated head of its log at the last state change."""

    run_id: str
    session_id: str
    task_id: str
    status: RunStatus
    title: str
    path: str
    """The absolute run directory."""
    workspace_root: str
    created_at: str
    updated_at: str
    last_seq: int
    last_mac: str
    """With `last_seq`, the minimum the log must contain: a shorter log was truncated."""
    kind: str = "agent"
    profile_id: str = ""
    model: str = ""
    started_at: str | None = None
    completed_at: str | None = None
    failure_reason: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    tool_calls: int = 0
    pending_approvals: int = 0
    parent_run_id: str | None = None
    attempt: int = 1

    @property
    def cursor(self) -> str:
        """The `before` argument that continues a list after this row."""
        return f"{self.created_at}~{self.run_id}"


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session, derived from its runs; its title is that of the first, its status that of the latest."""

    session_id: str
    title: str
    tasks: int
    runs: int
    updated_at: str
    status: RunStatus


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """A task, derived from its runs in the same way."""

    session_id: str
    task_id: str
    title: str
    runs: int
    updated_at: str
    status: RunStatus


def read_row(row_type: type[Row], columns: Mapping[str, Any]) -> Row:
    """Convert the columns of a database row."""
    try:
        return msgspec.convert(columns, row_type)
    except msgspec.ValidationError as error:
        raise StorageFailed(
            f"the index holds an invalid row: {error}", hint="run `skills-runtime ledger rebuild`"
        ) from error


class Search(NamedTuple):
    """A full-text expression for words of three characters or more, and `LIKE` patterns for shorter ones."""

    match: str | None
    patterns: str


def searchable(text: str) -> str:
    """Return the part of a text to index, without characters that SQLite cannot store."""
    return _UNSTORABLE.sub(" ", text[:TEXT_LENGTH])


def parse_search(text: str) -> Search:
    """Parse a search text: every word must occur, also inside longer words, in any case."""
    if len(text) > QUERY_LENGTH:
        raise ValidationFailed(
            f"the search text has {len(text)} characters", hint=f"use at most {QUERY_LENGTH} characters"
        )
    words = list(dict.fromkeys(searchable(text).split()))
    phrases = ['"' + word.replace('"', '""') + '"' for word in words if len(word) >= _TRIGRAM]
    patterns = ["%" + _WILDCARD.sub(r"\\\g<0>", word) + "%" for word in words if len(word) < _TRIGRAM]
    return Search(" ".join(phrases) or None, json.dumps(patterns))
