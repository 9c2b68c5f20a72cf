"""Read runs: list them, their states, open requests and files.

Everything here blocks on the disk and changes nothing but the index, which is only derived.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.agent import log_ports
from skills_runtime.engine.approvals import OpenApproval, deduplicate, open_approvals, rule_file_of
from skills_runtime.engine.recorded_run import RecordedRun
from skills_runtime.engine.run_index import refresh, workspace_roots
from skills_runtime.engine.sessions import Sessions
from skills_runtime.engine.workspace import LAST, Workspace
from skills_runtime.errors import ApprovalStale, NotFound
from skills_runtime.events import RunStatus
from skills_runtime.ledger import PAGE_LIMIT, Ledger, Problem, RunRow, TaskRow
from skills_runtime.projections import RunView
from skills_runtime.runs import (
    ROLES,
    Head,
    RunPaths,
    Verdict,
    blobs_of,
    read_manifest,
    read_view,
    runs_root,
    scan_outputs,
    was_imported,
)

MAX_PAGES = 50
"""Maximum number of index pages read for one page of a list."""
WAITING = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.WAITING_FOR_TOOL, RunStatus.WAITING_FOR_USER)
"""States in which a run may request an approval."""


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter for lists of runs; all given criteria must match."""

    status: RunStatus | None = None
    session_id: str | None = None
    task_id: str | None = None
    text: str = ""
    everywhere: bool = False
    """Whether to include runs of other workspaces."""

    def matches(self, row: RunRow) -> bool:
        """Return whether a row matches."""
        filters = (("status", self.status), ("session_id", self.session_id), ("task_id", self.task_id))
        return all(value is None or getattr(row, name) == value for name, value in filters)


class Artifacts(msgspec.Struct, frozen=True):
    """The files of a run, as its manifest lists them; they may change until they are final."""

    artifacts: list[dict[str, Any]]
    final: bool


class RunReader:
    """Reads the runs of a workspace; a run is named by its id or any other reference that `Workspace.find` accepts."""

    def __init__(self, workspace: Workspace, ledger: Ledger) -> None:
        self.workspace = workspace
        self.ledger = ledger
        self.ports = log_ports()
        self._paths_by_id: dict[str, RunPaths] = {}
        """Where runs are that were named by a path, by their ids."""

    def find(self, run: str) -> RunPaths:
        """Find the directory of a run; for the user `last` is the newest one of the workspace."""
        if run == LAST and self.workspace.for_user:
            self.refresh()
        return self._paths_by_id.get(run) or self.workspace.find(run, self.ledger.index)

    def view(self, run: str) -> RunView:
        """Read the state of a run from its verified log."""
        return read_view(self.find(run), self.ports)

    def refresh(self, *, everywhere: bool = False) -> tuple[Problem, ...]:
        """Update the index from the run directories; return what could not be read."""
        home = runs_root(self.workspace.workspace_root)
        near = [home] if home.is_dir() else []
        roots = workspace_roots(self.ledger.index, self.workspace.workspace_root) if everywhere else near
        return refresh(self.ledger.index, roots, self.ports).problems if roots else ()

    def list_runs(
        self,
        query: RunFilter,
        *,
        limit: int,
        cursor: str | None = None,
        matches: Callable[[RunRow], bool] = lambda _: True,
    ) -> list[RunRow]:
        """List runs, newest first, after the cursor."""

        def is_listed(row: RunRow) -> bool:
            return query.matches(row) and (query.everywhere or self.workspace.has(row)) and matches(row)

        index = self.ledger.index
        if query.text.strip():
            rows = (row for row in index.search(query.text, PAGE_LIMIT) if cursor is None or row.cursor < cursor)
            return sorted(filter(is_listed, rows), key=lambda row: row.cursor, reverse=True)[:limit]
        matching: list[RunRow] = []
        for _ in range(MAX_PAGES):
            rows = index.list(
                status=query.status,
                session_id=query.session_id,
                task_id=query.task_id,
                before=cursor,
                limit=PAGE_LIMIT,
            )
            matching.extend(islice(filter(is_listed, rows), limit - len(matching)))
            if len(matching) >= limit or len(rows) < PAGE_LIMIT:
                break
            cursor = rows[-1].cursor
        return matching

    def approvals(self) -> list[OpenApproval]:
        """List the open approval requests, oldest first; a sub-agent's request appears once."""
        approvals = (approval for paths in self._waiting() for approval in self._approvals_in(paths))
        return sorted(deduplicate(approvals), key=lambda approval: (approval.pending.since, approval.id))

    def approvals_of(self, run: str) -> list[OpenApproval]:
        """List the open requests of one run."""
        return list(self._approvals_in(self.find(run)))

    def find_approval(self, approval_id: str, run: str | None = None) -> OpenApproval:
        """Find the open request with this id; if a fork has the same request, the run must be named."""
        candidates = [self.find(run)] if run is not None else self._waiting()
        approvals = (
            approval for paths in candidates for approval in self._approvals_in(paths) if approval.id == approval_id
        )
        once = deduplicate(approvals)
        if len(once) != 1:
            reason = "several runs ask for it; name the run" if once else "it may have been decided already"
            raise ApprovalStale(
                f"no single request `{approval_id[:80]}` is open: {reason}", hint="`GET /api/v1/approvals`"
            )
        return once[0]

    def _approvals_in(self, paths: RunPaths) -> Iterator[OpenApproval]:
        return open_approvals(paths, self.ledger.inbox, self.ports)

    def _waiting(self) -> Iterator[RunPaths]:
        for status in WAITING:
            cursor: str | None = None
            while rows := self.ledger.index.list(status=status, limit=PAGE_LIMIT, before=cursor):
                mine = (row for row in rows if self.workspace.for_user or self.workspace.has(row))
                yield from (RunPaths(Path(row.path)) for row in mine)
                cursor = rows[-1].cursor

    # Records and files of a run

    def open_recorded(self, run: str) -> RecordedRun:
        """Find a run as its directory records it."""
        return RecordedRun(self.find(run))

    def verify(self, run: str) -> Verdict:
        """Check a run against its log, and the log against its key and the index."""
        recorded = self.open_recorded(run)
        return recorded.verify(self.last_indexed_head(recorded))

    def last_indexed_head(self, run: RecordedRun) -> Head | None:
        """Return the last indexed head of the log in exactly this directory, regardless of the run it names now."""
        recorded_id = run.run_id
        for run_id, directory, _ in sorted(self.ledger.index.locations(), key=lambda row: row[0] != recorded_id):
            if _same(directory, run.paths.root):
                return _head(self.ledger.index.get(run_id))
        return None

    def artifacts(self, run: str, *, deliverables: bool = False) -> Artifacts:
        """List the files of a run, or only its deliverables."""
        paths = self.find(run)
        try:
            manifest = read_manifest(paths)
        except (OSError, msgspec.MsgspecError):
            manifest = None  # what is on the disk is still there to be seen
        if manifest is not None and manifest.final:
            entries = [
                artifact for artifact in manifest.artifacts if not deliverables or artifact.role == "deliverable"
            ]
            return Artifacts(msgspec.to_builtins(entries), final=True)
        outputs = scan_outputs(paths.root, ("deliverables",) if deliverables else tuple(ROLES)).files
        files = [
            {
                "name": file.path,
                "role": ROLES[file.path.partition("/")[0]],
                "direction": "produced",
                "mediaType": file.media_type,
                "size": file.size,
                "digest": {"sha256": file.sha256},
            }
            for file in outputs
        ]
        return Artifacts(files, final=False)

    def blob(self, run: str, digest: str) -> bytes:
        """Read a blob that an event of a run, or of a run it was forked from, refers to."""
        return blobs_of(self.find(run)).get(digest)

    def is_imported(self, paths: RunPaths) -> bool:
        """Return whether a run was imported."""
        return was_imported(paths)

    def view_at(self, paths: RunPaths) -> RunView:
        """Read the state of the run in a directory."""
        return read_view(paths, self.ports)

    # The workspace

    @property
    def sessions(self) -> Sessions:
        """Return the sessions of the workspace."""
        return Sessions(self.workspace, self.ledger.index)

    def tasks(self, session_id: str) -> Sequence[TaskRow]:
        """List the tasks of a session, the last changed first."""
        return self.ledger.index.tasks(session_id)

    def newest(self, limit: int) -> list[RunRow]:
        """List the newest runs of the workspace, and all that have not ended."""
        index, open_statuses = self.ledger.index, [status for status in RunStatus if not status.terminal]
        rows = [
            *index.list(limit=limit),
            *(row for open_statuse in open_statuses for row in index.list(status=open_statuse, limit=limit)),
        ]
        return [row for row in rows if self.workspace.has(row)]

    @property
    def rule_file(self) -> Path:
        """Return the file of the user's own rules."""
        return rule_file_of(self.workspace.settings())

    def find_run_to_continue(self, run: str) -> str:
        """Return the run to continue: a sub-agent is executed by its parent run."""
        paths = self.find(run)
        state = read_view(paths, self.ports).state
        self.locate(state.run_id, paths)
        while state.parent_run_id is not None and state.fork is None:
            try:
                parent = self.view(state.parent_run_id).state
            except NotFound:
                break
            if not parent.open:
                break
            state = parent
        return state.run_id

    def locate(self, run_id: str, paths: RunPaths) -> None:
        """Remember the directory of a run that its user named by a path."""
        if self.workspace.for_user:
            self._paths_by_id[run_id] = paths


def _head(row: RunRow) -> Head | None:
    return Head(row.last_seq, row.last_mac) if row.last_seq >= 0 else None


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False
