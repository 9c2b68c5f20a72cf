"""Reading runs: which there are, where each stands, what it waits for, and what it left behind.

Everything here waits for the disk and changes nothing but the index, which is only derived.
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
from skills_runtime.engine.workspace import Workspace
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
"""How many pages of the index are read for one page of a list."""
WAITING = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.WAITING_FOR_TOOL, RunStatus.WAITING_FOR_USER)
"""Where a run stands that may ask for an approval."""


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs a list shows; a run matches all that are given."""

    status: RunStatus | None = None
    session_id: str | None = None
    task_id: str | None = None
    text: str = ""
    everywhere: bool = False
    """Whether runs of other workspaces count."""

    def matches(self, row: RunRow) -> bool:
        """Whether a row is one of those that are wanted."""
        filters = (("status", self.status), ("session_id", self.session_id), ("task_id", self.task_id))
        return all(value is None or getattr(row, name) == value for name, value in filters)


class Artifacts(msgspec.Struct, frozen=True):
    """The files of a run, as its manifest lists them; they may still change until they are final."""

    artifacts: list[dict[str, Any]]
    final: bool


class RunReader:
    """Reads the runs of a workspace; a run is named by its id, or by whatever else `Workspace.find` understands."""

    def __init__(self, workspace: Workspace, ledger: Ledger) -> None:
        self.workspace = workspace
        self.ledger = ledger
        self.ports = log_ports()
        self._paths_by_id: dict[str, RunPaths] = {}
        """Where runs are that were named by a path, by their ids."""

    def find(self, run: str) -> RunPaths:
        """Find the directory of a run."""
        return self._paths_by_id.get(run) or self.workspace.find(run, self.ledger.index)

    def view(self, run: str) -> RunView:
        """Read where a run stands, by its own verified log."""
        return read_view(self.find(run), self.ports)

    def refresh(self, *, everywhere: bool = False) -> tuple[Problem, ...]:
        """Bring the index in step with the run directories; returns what could not be read."""
        home = runs_root(self.workspace.workspace_root)
        near = [home] if home.is_dir() else []
        roots = workspace_roots(self.ledger.index, self.workspace.workspace_root) if everywhere else near
        return refresh(self.ledger.index, roots, self.ports).problems if roots else ()

    def list_runs(
        self,
        query: RunFilter,
        *,
        limit: int,
        before: str | None = None,
        matches: Callable[[RunRow], bool] = lambda _: True,
    ) -> list[RunRow]:
        """List runs, newest first, from after the cursor `before`."""

        def is_listed(row: RunRow) -> bool:
            return query.matches(row) and (query.everywhere or self.workspace.has(row)) and matches(row)

        index = self.ledger.index
        if query.text.strip():
            rows = (row for row in index.search(query.text, PAGE_LIMIT) if before is None or row.cursor < before)
            return sorted(filter(is_listed, rows), key=lambda row: row.cursor, reverse=True)[:limit]
        listed: list[RunRow] = []
        for _ in range(MAX_PAGES):
            rows = index.list(
                status=query.status,
                session_id=query.session_id,
                task_id=query.task_id,
                before=before,
                limit=PAGE_LIMIT,
            )
            listed.extend(islice(filter(is_listed, rows), limit - len(listed)))
            if len(listed) >= limit or len(rows) < PAGE_LIMIT:
                break
            before = rows[-1].cursor
        return listed

    def approvals(self) -> list[OpenApproval]:
        """List the open approval requests, oldest first; what a sub-agent asks is there once."""
        approvals = (approval for paths in self._waiting() for approval in self._approvals_in(paths))
        return sorted(deduplicate(approvals), key=lambda approval: (approval.pending.since, approval.id))

    def approvals_of(self, run: str) -> list[OpenApproval]:
        """List what one run asks."""
        return list(self._approvals_in(self.find(run)))

    def find_approval(self, approval_id: str, run: str | None = None) -> OpenApproval:
        """Find the open request with this id; a fork asks what its parent asks, then the run has to be named."""
        candidates = [self.find(run)] if run is not None else self._waiting()
        approvals = (
            approval for paths in candidates for approval in self._approvals_in(paths) if approval.id == approval_id
        )
        once = deduplicate(approvals)
        if len(once) != 1:
            why = "several runs ask for it; name the run" if once else "it may have been decided already"
            raise ApprovalStale(
                f"no single request `{approval_id[:80]}` is open: {why}", hint="`GET /api/v1/approvals`"
            )
        return once[0]

    def _approvals_in(self, paths: RunPaths) -> Iterator[OpenApproval]:
        return open_approvals(paths, self.ledger.inbox, self.ports)

    def _waiting(self) -> Iterator[RunPaths]:
        for status in WAITING:
            before: str | None = None
            while rows := self.ledger.index.list(status=status, limit=PAGE_LIMIT, before=before):
                mine = (row for row in rows if self.workspace.for_user or self.workspace.has(row))
                yield from (RunPaths(Path(row.path)) for row in mine)
                before = rows[-1].cursor

    # What a run left behind

    def recorded(self, run: str) -> RecordedRun:
        """Find a run as its directory records it."""
        return RecordedRun(self.find(run))

    def verify(self, run: str) -> Verdict:
        """Check a run against its log, and the log against its key and against what the index saw of it."""
        recorded = self.recorded(run)
        return recorded.verify(self.last_indexed_head(recorded))

    def last_indexed_head(self, run: RecordedRun) -> Head | None:
        """Where the index last saw the log in exactly this directory end, whichever run that log names by now."""
        recorded_id = run.run_id
        for run_id, directory, _ in sorted(self.ledger.index.locations(), key=lambda row: row[0] != recorded_id):
            if _same(directory, run.paths.root):
                return _head(self.ledger.index.get(run_id))
        return None

    def artifacts(self, run: str, *, deliverables: bool = False) -> Artifacts:
        """List the files of a run, or only those that it hands over."""
        paths = self.find(run)
        try:
            manifest = read_manifest(paths)
        except (OSError, msgspec.MsgspecError):
            manifest = None  # what is on the disk is still there to be seen
        if manifest is not None and manifest.final:
            listed = [artifact for artifact in manifest.artifacts if not deliverables or artifact.role == "deliverable"]
            return Artifacts(msgspec.to_builtins(listed), final=True)
        seen = scan_outputs(paths.root, ("deliverables",) if deliverables else tuple(ROLES)).files
        files = [
            {
                "name": file.path,
                "role": ROLES[file.path.partition("/")[0]],
                "direction": "produced",
                "mediaType": file.media_type,
                "size": file.size,
                "digest": {"sha256": file.sha256},
            }
            for file in seen
        ]
        return Artifacts(files, final=False)

    def blob(self, run: str, digest: str) -> bytes:
        """Read the bytes that an event of a run, or of the runs it was forked from, refers to."""
        return blobs_of(self.find(run)).get(digest)

    def is_imported(self, paths: RunPaths) -> bool:
        """Whether a run was brought here from elsewhere."""
        return was_imported(paths)

    def view_at(self, paths: RunPaths) -> RunView:
        """Read where the run in a directory stands."""
        return read_view(paths, self.ports)

    # The workspace

    @property
    def sessions(self) -> Sessions:
        """The sessions of the workspace."""
        return Sessions(self.workspace, self.ledger.index)

    def tasks(self, session_id: str) -> Sequence[TaskRow]:
        """List the tasks of a session, the one that changed last first."""
        return self.ledger.index.tasks(session_id)

    def newest(self, limit: int) -> list[RunRow]:
        """List the newest runs of the workspace, and all of them that have not ended."""
        index, open_statuses = self.ledger.index, [status for status in RunStatus if not status.terminal]
        rows = [
            *index.list(limit=limit),
            *(row for open_statuse in open_statuses for row in index.list(status=open_statuse, limit=limit)),
        ]
        return [row for row in rows if self.workspace.has(row)]

    @property
    def rule_file(self) -> Path:
        """Where the user's own rules are."""
        return rule_file_of(self.workspace.settings())

    def whose_turn(self, run: str) -> str:
        """The run that goes on: what a sub-agent does is worked on by the run that began it."""
        paths = self.find(run)
        state = read_view(paths, self.ports).state
        self.locate(state.run_id, paths)
        while state.parent_run_id is not None and state.fork is None:
            try:
                above = self.view(state.parent_run_id).state
            except NotFound:
                break
            if not above.open:
                break
            state = above
        return state.run_id

    def locate(self, run_id: str, paths: RunPaths) -> None:
        """Remember where a run is that its user named by a path."""
        if self.workspace.for_user:
            self._paths_by_id[run_id] = paths


def _head(row: RunRow) -> Head | None:
    return Head(row.last_seq, row.last_mac) if row.last_seq >= 0 else None


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False
