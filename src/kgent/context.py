"""The seed's three functions over run directories, for programs that bring their own loop."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.agent import RunRequest, log_ports, run_spec
from skills_runtime.config import KGENT_DEFAULTS, Resolved, resolve
from skills_runtime.errors import LogEnded, LogError, PolicyDenied, UsageError
from skills_runtime.events import FileOperation, RunCancelled, RunCompleted, RunFailed
from skills_runtime.runs import (
    RunPaths,
    RunRecord,
    RunStatus,
    check_transition,
    create_run,
    finish_run,
    open_run,
    parse_status,
    read_record,
)
from skills_runtime.runs.files import isolated_policy, printable
from skills_runtime.runs.files import resolve as resolve_path


class RunContext(msgspec.Struct, frozen=True):
    """A run directory and who it belongs to."""

    root: Path
    session_id: str
    task_id: str
    run_id: str
    config_fingerprint: str

    @property
    def record(self) -> RunRecord:
        """What run.json says now."""
        return read_record(RunPaths(self.root).run_json)

    @property
    def status(self) -> RunStatus:
        """The state of the run."""
        return parse_status(self.record.status)


def create_run_context(
    config: Path | str | Mapping[str, Any] | Resolved,
    prompt: str,
    sandbox_path: Path | str,
    session_id: str | None = None,
    task_id: str | None = None,
    run_id: str | None = None,
) -> RunContext:
    """Make a complete run directory in state `pending`, without running anything."""
    request = RunRequest(
        prompt=prompt, sandbox_path=Path(sandbox_path), session_id=session_id, task_id=task_id, run_id=run_id
    )
    run = create_run(run_spec(_resolve_config(config), request), log_ports())
    try:
        run.commit()
    finally:
        run.close()
    return load_run_context(run.paths.root)


def load_run_context(root: Path | str) -> RunContext:
    """Open the context of an existing run directory, wherever it was copied to."""
    record = read_record(RunPaths(Path(root)).run_json)
    return RunContext(
        root=Path(root).resolve(),
        session_id=record.session_id,
        task_id=record.task_id,
        run_id=record.run_id,
        config_fingerprint=record.config_fingerprint,
    )


def update_run_state(context: RunContext, status: RunStatus | str, *, failure_reason: str | None = None) -> None:
    """Move a run to another state: legal moves only, recorded in the log first."""
    target = parse_status(status)
    try:
        run = open_run(context.root, log_ports())
    except LogEnded:
        check_transition(context.status, target)
        raise
    locator = str(run.paths.events)
    try:
        if target is RunStatus.COMPLETED:
            finish_run(run, RunCompleted(final_output="", wal_locator=locator))
        elif target is RunStatus.FAILED:
            reason = failure_reason or "unspecified"
            finish_run(run, RunFailed(error_kind="unknown", message=reason, wal_locator=locator))
        elif target is RunStatus.CANCELLED:
            finish_run(run, RunCancelled(message=failure_reason or "cancelled", wal_locator=locator))
        else:
            run.change(target, reason=failure_reason or "")
    finally:
        run.close()


def resolve_sandbox_path(context: RunContext, user_path: str) -> Path:
    """Return the path inside the run directory for `user_path`; refuse and record one that leads out."""
    try:
        return resolve_path(isolated_policy(context.root), user_path)
    except (PolicyDenied, UsageError) as error:
        _record_refusal(context, user_path, error.kind)
        raise


def _record_refusal(context: RunContext, user_path: str, kind: str) -> None:
    try:
        run = open_run(context.root, log_ports())
    except LogError:
        return  # held by another process, ended, or not ours to write: the refusal itself stands
    try:
        run.append(FileOperation(op="resolve", path=printable(str(user_path)), ok=False, error=kind))
    finally:
        run.close()


def _resolve_config(config: Path | str | Mapping[str, Any] | Resolved) -> Resolved:
    if isinstance(config, Resolved):
        return config
    if isinstance(config, Mapping):
        return resolve(Path.cwd(), session_settings=config, defaults=KGENT_DEFAULTS)
    return resolve(Path.cwd(), config_paths=[Path(config)], defaults=KGENT_DEFAULTS)
