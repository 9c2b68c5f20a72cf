"""How a segment of a run ended, and what the caller gets to see of it."""

from typing import Literal

import msgspec

from skills_runtime.errors import StorageFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.runs import Run

ResultStatus = Literal["completed", "failed", "cancelled", "waiting_human"]

_RESULT: dict[RunStatus, ResultStatus] = {
    RunStatus.COMPLETED: "completed",
    RunStatus.CANCELLED: "cancelled",
    RunStatus.WAITING_FOR_USER: "waiting_human",
}


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one `Agent.run`."""

    status: ResultStatus
    final_output: str
    """The answer; the error message when the run failed."""
    artifacts: tuple[str, ...] = ()
    """Paths of the deliverables."""
    wal_locator: str = ""
    """The log."""
    run_id: str = ""
    error_kind: str | None = None
    hint: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


def result_status(status: RunStatus) -> ResultStatus:
    """The seed's word for a state; what is not done and not waiting has failed."""
    return _RESULT.get(status, "failed")


def result_of(run: Run, storage: StorageFailed | None = None) -> RunResult:
    """The result of a run as it stands, or of one that the disk stopped."""
    state = run.state
    return RunResult(
        status="failed" if storage else result_status(state.status),
        final_output=storage.message if storage else state.final_output or state.failure_reason or "",
        artifacts=tuple(str(run.paths.root / name) for name in state.artifacts),
        wal_locator=str(run.paths.events),
        run_id=state.run_id,
        error_kind=storage.kind if storage else state.error_kind,
        hint=storage.hint if storage else "",
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
    )
