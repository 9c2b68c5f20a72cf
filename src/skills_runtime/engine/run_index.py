"""Derive ledger rows from run directories; the index holds no data of its own."""

from pathlib import Path

from skills_runtime.errors import LogCorrupt, NotFound, SkillsRuntimeError, ValidationFailed
from skills_runtime.ledger import RebuildReport, RunIndex, RunRow, rebuild
from skills_runtime.projections import RunState
from skills_runtime.runs import (
    LogPorts,
    RunPaths,
    fork_of,
    is_from_elsewhere,
    read_events,
    read_prompt,
    read_view,
    runs_root,
)
from skills_runtime.text import make_title


def build_row(paths: RunPaths, state: RunState, prompt: str, *, pending_approvals: int = 0) -> RunRow:
    """Build the row of a state."""
    return RunRow(
        run_id=state.run_id,
        session_id=state.session_id,
        task_id=state.task_id,
        kind=state.kind,
        status=state.status,
        title=make_title(prompt),
        path=str(paths.root),
        workspace_root=state.workspace_root,
        profile_id=state.profile_id,
        model=state.model,
        created_at=state.created_at,
        updated_at=state.updated_at,
        started_at=state.started_at,
        completed_at=state.completed_at,
        failure_reason=state.failure_reason,
        last_seq=state.last_seq,
        last_mac=state.last_mac,
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        tool_calls=state.tool_calls,
        pending_approvals=pending_approvals,
        parent_run_id=state.parent_run_id,
        attempt=state.attempt,
    )


def read_row(root: Path, ports: LogPorts) -> tuple[RunRow, str]:
    """Read the row and the searchable text of one run directory."""
    paths = RunPaths(root)
    view = read_view(paths, ports)
    prompt = read_prompt(root)
    row = build_row(paths, view.state, prompt, pending_approvals=len(view.pending.approvals.open))
    return row, f"{prompt}\n{view.state.final_output}"


def read_verified_row(index: RunIndex, root: Path, ports: LogPorts) -> tuple[RunRow, str]:
    """Read the row, refusing a log that replaced the one in the index: no process here can have written it."""
    row, text = read_row(root, ports)
    try:
        indexed = index.get(row.run_id)
    except (NotFound, ValidationFailed):
        return row, text
    if not indexed.last_mac or indexed.last_mac == row.last_mac or indexed.last_seq > row.last_seq:
        return row, text
    paths = RunPaths(root)
    if is_from_elsewhere(paths, ports.keys):
        event = next(read_events(paths, from_seq=indexed.last_seq), None)
        if event is None or event.mac != indexed.last_mac:
            raise LogCorrupt(f"event {indexed.last_seq} of `{row.run_id}` is not the one this machine saw written")
    return row, text


def refresh(index: RunIndex, roots: list[Path], ports: LogPorts) -> RebuildReport:
    """Update the index from the directories below `roots`."""
    return rebuild(index, roots, lambda root: read_verified_row(index, root, ports))


def is_subagent_run(row: RunRow) -> bool:
    """Return whether a run belongs to a sub-agent; a fork has a parent too, but stands for itself."""
    if row.parent_run_id is None:
        return False
    try:
        return fork_of(RunPaths(Path(row.path))) is None
    except (SkillsRuntimeError, OSError, ValueError, StopIteration):  # its log is damaged or gone
        return False


def workspace_roots(index: RunIndex, workspace_root: Path) -> list[Path]:
    """Return the run directories of a workspace, and all others known on this machine."""
    path = runs_root(workspace_root)
    return [*([path] if path.is_dir() else []), *(root for root in index.roots() if root != path)]
