"""The requests for approval that are open on this machine, and which of them somebody means."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.cli.locate import APPROVAL, find_run, short_approval, short_id
from skills_runtime.cli.selection import Selection, update
from skills_runtime.cli.state import checked_path, log_ports
from skills_runtime.engine.approvals import shown_request
from skills_runtime.errors import ApprovalStale, SkillsRuntimeError, ValidationFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger, RunIndex, RunRow
from skills_runtime.ledger.index import PAGE_LIMIT
from skills_runtime.ports import ApprovalRequest
from skills_runtime.projections import RunView
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.runs import LogPorts, RunPaths, read_view

OPEN = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.WAITING_FOR_TOOL, RunStatus.WAITING_FOR_USER)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One request: the run that asks, and what came of it so far."""

    root: Path
    run_id: str
    parent: str | None = None
    """The run that began this one as its sub-agent."""
    pending: PendingApproval
    decided: dict[str, Any] | None = None
    """A decision that the run has not acted on yet."""

    @property
    def id(self) -> str:
        """What a decision has to name."""
        return self.pending.approval_id

    @property
    def paths(self) -> RunPaths:
        """The run directory."""
        return RunPaths(self.root)

    def request(self) -> ApprovalRequest:
        """Everything whoever decides is shown."""
        return shown_request(self.paths, self.run_id, self.pending)


def open_requests(ledger: Ledger, workspace_root: str) -> list[Asked]:
    """Every open request of the runs in the ledger and in this workspace, oldest first."""
    workspace = checked_path(workspace_root, option="--workspace-root").resolve()
    update(ledger.index, Selection(workspace_root=workspace))
    ports = log_ports()
    found = [asked for row in _open_runs(ledger.index) for asked in _requests_of(Path(row.path), ledger, ports)]
    return sorted(_once(found), key=lambda asked: (asked.pending.since, asked.id))


def find_request(text: str, ledger: Ledger, workspace_root: str) -> Asked:
    """The request whose id is this or begins so, or the only one of the run that is named so."""
    everything = open_requests(ledger, workspace_root)
    near = [asked for asked in everything if _is_called(asked, text)]
    if len(near) == 1:
        return near[0]
    if near:
        return _one_of(near, text)
    mine = _of_run(text, ledger, workspace_root)
    if len(mine) != 1:
        raise _unclear(text, mine)
    return mine[0]


def _is_called(asked: Asked, text: str) -> bool:
    return bool(text) and asked.id.startswith((text, f"{APPROVAL}{text}"))


def _one_of(near: list[Asked], text: str) -> Asked:
    exact = [asked for asked in near if text in (asked.id, asked.id.removeprefix(APPROVAL))]
    if len(exact) == 1:
        return exact[0]
    if len({asked.id for asked in near}) == 1:  # a fork asks what its parent asks
        runs = ", ".join(f"`{short_id(asked.run_id)}`" for asked in near)
        raise ValidationFailed(f"several runs ask for `{text}`: {runs}", hint="name the run instead of the request")
    names = ", ".join(f"`{short_approval(asked.id)}`" for asked in near[:10])
    raise ValidationFailed(f"several requests begin with `{text}`: {names}", hint="give more characters of the id")


def _of_run(text: str, ledger: Ledger, workspace_root: str) -> list[Asked]:
    with suppress(SkillsRuntimeError, OSError):
        return list(_requests_of(find_run(text, workspace_root).root, ledger, log_ports()))
    return []


def _unclear(text: str, mine: list[Asked]) -> SkillsRuntimeError:
    if mine:
        names = ", ".join(f"`{short_approval(asked.id)}`" for asked in mine)
        return ValidationFailed(f"the run `{text}` asks for several approvals", hint=f"name one: {names}")
    return ApprovalStale(f"no request `{text}` is open; it may have been decided already")


def _open_runs(index: RunIndex) -> Iterator[RunRow]:
    for status in OPEN:
        before: str | None = None
        while rows := index.list(status=status, limit=PAGE_LIMIT, before=before):
            yield from rows
            before = rows[-1].cursor


def _requests_of(root: Path, ledger: Ledger, ports: LogPorts) -> Iterator[Asked]:
    """What one run asks; a run that cannot be read asks nothing anybody could decide."""
    try:
        view = read_view(RunPaths(root), ports)
    except (SkillsRuntimeError, OSError):
        return
    for pending in view.pending.approvals.open.values():
        yield Asked(
            root=root,
            run_id=view.state.run_id,
            parent=view.state.parent_run_id if view.state.fork is None else None,
            pending=pending,
            decided=_decision(pending, view, ledger),
        )


def _decision(pending: PendingApproval, view: RunView, ledger: Ledger) -> dict[str, Any] | None:
    """The decision that was sent and not acted on, wherever it is by now."""
    received = view.pending.approvals.decision_on(pending.approval_id)
    if received is not None:
        return received.body
    for message in ledger.inbox.pending(view.state.run_id):
        if message.kind == "approve" and message.body.get("approval_id") == pending.approval_id:
            return dict(message.body)
    return None


def _once(found: list[Asked]) -> list[Asked]:
    """Each request once: what a sub-agent asks is asked by the run that began it, as soon as that waits for it."""
    asking = {(asked.run_id, asked.id) for asked in found}
    return [asked for asked in found if asked.parent is None or (asked.parent, asked.id) not in asking]
