"""The result of a segment of a run as the caller sees it."""

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
    """Result of one `Agent.run`."""

    status: ResultStatus
    final_output: str
    """The answer, or the error message if the run failed."""
    artifacts: tuple[str, ...] = ()
    """Paths of the deliverables."""
    wal_locator: str = ""
    """Path of the log."""
    run_id: str = ""
    error_kind: str | None = None
    hint: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    """Cost of the run and its sub-agents; `None` if it is unknown."""
    output: Any = None
    """The answer as data, if `run.output_schema` is set."""

    @property
    def input_tokens(self) -> int:
        """Input tokens of all requests."""
        return self.usage.input_tokens

    @property
    def output_tokens(self) -> int:
        """Output tokens of all answers."""
        return self.usage.output_tokens


def result_status(status: RunStatus) -> ResultStatus:
    """Return the public status of a run state; every state that is neither done nor waiting is `failed`."""
    return _RESULT.get(status, "failed")


def build_result(run: Run, storage: StorageFailed | None = None, *, structured: bool = False) -> RunResult:
    """Return the current result of a run, or of one that a storage error stopped."""
    state, output = run.state, None
    is_done = state.status in (RunStatus.COMPLETED, RunStatus.REVIEW_REQUIRED)
    if structured and is_done:
        # A run that was handed off ends with a summary in prose.
        with suppress(msgspec.MsgspecError):
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
        cost_usd=state.total_cost_usd,
        output=output,
    )


def _final_text(run: Run) -> str:
    """Return the answer, or the reason why there is none."""
    state = run.state
    if state.status is RunStatus.REVIEW_REQUIRED:
        return run.view.conversation.last_text
    return state.final_output or state.failure_reason or state.waiting_message
