"""What the index tells about runs, and about the sessions and tasks they belong to."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from skills_runtime.errors import StorageFailed
from skills_runtime.events.states import RunStatus

TITLE_LENGTH = 120

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
    """With `last_seq`, what the log must still contain: a shorter log was cut."""
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
        """Where the next page of a list continues, given as its `before`."""
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


def read_row(wanted: type[Row], columns: Mapping[str, Any]) -> Row:
    """The row these columns hold."""
    try:
        return msgspec.convert(columns, wanted)
    except msgspec.ValidationError as error:
        raise StorageFailed(
            f"the index holds a row nobody wrote: {error}", hint="run `skills-runtime ledger rebuild`"
        ) from error


def title_of(prompt: str) -> str:
    """The first line of a prompt that says something, printable, and short enough for a list."""
    lines = (" ".join(_printable(line).split()) for line in prompt.splitlines())
    return next((line for line in lines if line), "")[:TITLE_LENGTH].rstrip()


def _printable(line: str) -> str:
    return "".join(character if character.isprintable() else " " for character in line)
