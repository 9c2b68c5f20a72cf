"""The requests for approval that are open in this workspace, with everything whoever decides should see."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.engine.approvals import shown_request
from skills_runtime.errors import ApprovalStale, SkillsRuntimeError
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger.index import PAGE_LIMIT
from skills_runtime.ledger.rows import title_of
from skills_runtime.ports import ApprovalRequest
from skills_runtime.projections import RunView
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.runs import RunPaths, read_view
from skills_runtime.service.work.work import Work

OPEN = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.WAITING_FOR_TOOL, RunStatus.WAITING_FOR_USER)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the run that asks, and what was decided but is not acted on yet."""

    paths: RunPaths
    run_id: str
    session_id: str
    parent: str | None
    """The run that began this one as its sub-agent."""
    pending: PendingApproval
    decided: dict[str, Any] | None = None
    task: str = ""
    """What the run is about."""
    workspace: str = ""

    def request(self) -> ApprovalRequest:
        """Everything whoever decides is shown."""
        return shown_request(self.paths, self.run_id, self.pending)

    def document(self) -> dict[str, Any]:
        """The same for a client."""
        pending, request = self.pending, self.request()
        return {
            "approval_id": pending.approval_id,
            "approval_key": pending.approval_key,
            "run_id": self.run_id,
            "session_id": self.session_id,
            "run_title": title_of(self.task),
            "workspace": self.workspace,
            "call_id": pending.call_id,
            "tool": pending.tool,
            "summary": pending.summary,
            "since": pending.since,
            "seq": pending.seq,
            "rule": request.rule,
            "why": request.why,
            "risk": dict(request.risk),
            "expires_at": pending.expires_at,
            "details": dict(request.details),
            "intent": msgspec.to_builtins(request.intent),
            "decided": self.decided,
        }


def open_requests(work: Work) -> list[Asked]:
    """Every open request of this workspace, oldest first; what a sub-agent asks is there once."""
    found = [asked for paths in _open_runs(work) for asked in requests_of(work, paths)]
    return sorted(_once(found), key=lambda asked: (asked.pending.since, asked.pending.approval_id))


def requests_of(work: Work, paths: RunPaths) -> Iterator[Asked]:
    """What one run asks; a run that cannot be read asks nothing anybody could decide."""
    try:
        view = read_view(paths, work.ports)
    except (SkillsRuntimeError, OSError):
        return
    for pending in view.pending.approvals.open.values():
        yield Asked(
            paths=paths,
            run_id=view.state.run_id,
            session_id=view.state.session_id,
            parent=view.state.parent_run_id if view.state.fork is None else None,
            pending=pending,
            decided=_decision(work, view, pending.approval_id),
            task=view.state.task,
            workspace=view.state.workspace_root,
        )


def request_named(work: Work, approval_id: str, run_id: str | None) -> Asked:
    """The open request with this id; a fork asks what its parent asks, then the run has to be named."""
    places = [work.find(run_id)] if run_id is not None else _open_runs(work)
    found = [one for paths in places for one in requests_of(work, paths) if one.pending.approval_id == approval_id]
    above = _once(found)
    if len(above) != 1:
        why = "several runs ask for it; name the run" if above else "it may have been decided already"
        raise ApprovalStale(f"no single request `{approval_id[:80]}` is open: {why}", hint="`GET /api/v1/approvals`")
    return above[0]


def _once(found: list[Asked]) -> list[Asked]:
    """Each request once: what a sub-agent asks is asked by the run that began it, as soon as that waits for it."""
    asking = {(asked.run_id, asked.pending.approval_id) for asked in found}
    return [one for one in found if one.parent is None or (one.parent, one.pending.approval_id) not in asking]


def _decision(work: Work, view: RunView, approval_id: str) -> dict[str, Any] | None:
    received = view.pending.approvals.decision_on(approval_id)
    if received is not None:
        return received.body
    for message in work.ledger.inbox.pending(view.state.run_id):
        if message.kind == "approve" and message.body.get("approval_id") == approval_id:
            return dict(message.body)
    return None


def _open_runs(work: Work) -> Iterator[RunPaths]:
    for status in OPEN:
        before: str | None = None
        while rows := work.ledger.index.list(status=status, limit=PAGE_LIMIT, before=before):
            yield from (RunPaths(Path(row.path)) for row in rows if work.home.has(row))
            before = rows[-1].cursor
