"""Which runs a list shows: the index brought in step with the disk, then filtered."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from skills_runtime.cli.state import log_ports
from skills_runtime.engine import refresh, workspace_roots
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Problem, RunIndex, RunRow
from skills_runtime.ledger.index import PAGE_LIMIT
from skills_runtime.runs import RunPaths, read_view, runs_root


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The filters of a list; a run matches all that are given."""

    workspace_root: Path | None = None
    """Nothing means every workspace."""
    session_id: str | None = None
    status: RunStatus | None = None
    text: str | None = None
    limit: int = 50


def update(index: RunIndex, selection: Selection) -> list[Problem]:
    """Bring the index in step with the directories a selection looks at; returns what could not be read."""
    workspace = selection.workspace_root
    if workspace is None:
        roots = workspace_roots(index, Path.cwd())
    else:
        roots = [home] if (home := runs_root(workspace)).is_dir() else []
    return run_problems(refresh(index, roots, log_ports()).problems) if roots else []


def run_problems(problems: tuple[Problem, ...]) -> list[Problem]:
    """The problems of runs; a directory that merely stands beside runs is none."""
    return [one for one in problems if not _is_no_run(one.path)]


def _is_no_run(path: Path) -> bool:
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError:
        return False
    return not names & {"events.jsonl", "run.json"}


def select(index: RunIndex, selection: Selection) -> list[RunRow]:
    """The matching runs, newest first."""
    rows = [row for row in _candidates(index, selection) if _matches(row, selection)]
    return sorted(rows, key=lambda row: row.cursor, reverse=True)[: selection.limit]


def waiting_kinds(rows: Sequence[RunRow]) -> dict[str, str]:
    """What each run of a list that waits for somebody waits for, as far as its log can be read."""
    ports = log_ports()
    kinds: dict[str, str] = {}
    for row in rows:
        if row.status is RunStatus.WAITING_FOR_USER:
            with suppress(SkillsRuntimeError, OSError):
                kinds[row.run_id] = read_view(RunPaths(Path(row.path)), ports).state.waiting_kind or ""
    return kinds


def _candidates(index: RunIndex, selection: Selection) -> list[RunRow]:
    if selection.text:
        return list(index.search(selection.text, PAGE_LIMIT))
    # A run that has not started yet does not know its workspace, but the workspace may know the run.
    workspaces = [None] if selection.workspace_root is None else [selection.workspace_root, ""]
    return [
        row
        for workspace in workspaces
        for row in index.list(
            workspace_root=workspace, session_id=selection.session_id, status=selection.status, limit=PAGE_LIMIT
        )
    ]


def _matches(row: RunRow, selection: Selection) -> bool:
    return (
        (selection.session_id is None or row.session_id == selection.session_id)
        and (selection.status is None or row.status == selection.status)
        and (selection.workspace_root is None or _is_in(row, selection.workspace_root))
    )


def _is_in(row: RunRow, workspace_root: Path) -> bool:
    return row.workspace_root == str(workspace_root) or (
        not row.workspace_root and (runs_root(workspace_root) / row.run_id).exists()
    )
