"""How a segment of a run ended, and what the caller gets to see of it."""

from contextlib import suppress
from typing import Any, Literal

import msgspec

from skills_runtime.errors import StorageFailed
from skills_runtime.events import RunStatus, Usage
from skills_runtime.runs import Run

ResultStatus = Literal["completed", "failed", "cancelled", "waiting_human", "paused"]

_RESULT: dict[RunStatus, ResultStatus] = {
    RunStatus.COMPLETED: "completed",
    RunStatus.CANCELLED: "cancelled",
    RunStatus.WAITING_FOR_USER: "waiting_human",
    RunStatus.REVIEW_REQUIRED: "waiting_human",
    RunStatus.REVISION_REQUIRED: "paused",
    RunStatus.RUNNING: "paused",
    RunStatus.PENDING: "paused",
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
    usage: Usage = Usage()
    cost_usd: float | None = None
    """What the run and its sub-agents cost, where prices are known."""
    output: Any = None
    """The answer as data, when `run.output_schema` asks for data."""

    @property
    def input_tokens(self) -> int:
        """Tokens of the requests."""
        return self.usage.input_tokens

    @property
    def output_tokens(self) -> int:
        """Tokens of the answers."""
        return self.usage.output_tokens


def result_status(status: RunStatus) -> ResultStatus:
    """The seed's word for a state; what is not done and not waiting has failed."""
    return _RESULT.get(status, "failed")


def result_of(run: Run, storage: StorageFailed | None = None, *, structured: bool = False) -> RunResult:
    """The result of a run as it stands, or of one that the disk stopped."""
    state, output = run.state, None
    is_done = state.status in (RunStatus.COMPLETED, RunStatus.REVIEW_REQUIRED)
    if structured and is_done:
        with suppress(msgspec.MsgspecError):  # a run that was handed over ends with a summary in words
            output = msgspec.json.decode(_final_text(run))
    return RunResult(
        status="failed" if storage else result_status(state.status),
        final_output=storage.message if storage else _final_text(run),
        artifacts=tuple(str(run.paths.root / name) for name in state.artifacts),
        wal_locator=str(run.paths.events),
        run_id=state.run_id,
        error_kind=storage.kind if storage else state.error_kind or state.waiting_kind,
        hint=storage.hint if storage else "",
        usage=Usage(
            input_tokens=state.input_tokens, output_tokens=state.output_tokens, cached_tokens=state.cached_tokens
        ),
        cost_usd=(state.cost_usd + state.child_cost_usd) or None,
        output=output,
    )


def _final_text(run: Run) -> str:
    """The answer, or why there is none."""
    state = run.state
    if state.status is RunStatus.REVIEW_REQUIRED:
        return run.view.conversation.last_text
    return state.final_output or state.failure_reason or state.waiting_message
