"""The state of a run, used for run.json, the ledger row and the header of every view."""

from datetime import datetime
from typing import Any

import msgspec

from skills_runtime.events import (
    ApprovalDecided,
    ApprovalRequested,
    ArtifactManifestWritten,
    BudgetIncreased,
    ChildRunFinished,
    ChildRunStarted,
    ContextRecoveryDecided,
    Event,
    ForkPoint,
    HumanRequest,
    HumanResponse,
    InboxReceived,
    LlmRequestStarted,
    LlmUsage,
    RunAdopted,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunFailed,
    RunStarted,
    RunStateChanged,
    RunStatus,
    RunWaitingHuman,
    SandboxCreated,
    ToolCallFinished,
    ToolCallRequested,
)


class Child(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A child run, and its usage so far."""

    root: str
    call_id: str = ""
    profile_id: str = ""
    status: str = "running"
    tokens: int = 0
    cost_usd: float | None = None
    tool_calls: int = 0


class RunState(msgspec.Struct, kw_only=True):
    """The state of a run according to its log."""

    run_id: str = ""
    session_id: str = ""
    task_id: str = ""
    profile_id: str = ""
    config_fingerprint: str = ""
    kind: str = "agent"
    attempt: int = 1
    parent_run_id: str | None = None
    fork: ForkPoint | None = None
    required_deliverables: list[str] = []
    snapshots: dict[str, str] = {}
    workspace_mode: str = ""
    workspace_root: str = ""
    from_elsewhere: bool = False
    """Whether the run was adopted from another machine, which chose the workspace, and not started here yet."""
    adopted: bool = False
    """Whether the run was adopted from another machine, which wrote its `config.yaml`."""
    task: str = ""
    model: str = ""
    status: RunStatus = RunStatus.PENDING
    created_at: str = ""
    updated_at: str = ""
    started_at: str | None = None
    completed_at: str | None = None
    failure_reason: str | None = None
    waiting_message: str = ""
    """What a waiting run waits for."""
    waiting_kind: str | None = None
    error_kind: str | None = None
    final_output: str = ""
    last_seq: int = -1
    last_mac: str = ""
    epoch: int = 0
    turns: int = 0
    steps: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    """The cost of all answers; `None` if the price of one is unknown."""
    unpriced: bool = False
    """Whether there was an answer with an unknown price."""
    children: dict[str, Child] = {}
    """The child runs, by id."""
    worked_sec: float = 0.0
    """How long earlier segments worked."""
    segment_since: str = ""
    waiting_calls: list[str] = []
    """The calls of this segment that wait for a user."""
    waiting_since: str = ""
    waited_sec: float = 0.0
    """How long this segment has waited for users, which is not work."""
    extra_steps: int = 0
    extra_wall_time_sec: int = 0
    inbox_position: int = 0
    inbox_seq: int = 0
    manifest_sha256: str = ""
    artifacts: list[str] = []

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        if event.epoch != self.epoch:
            self.end_segment(self.updated_at)
        self.last_seq, self.last_mac, self.epoch = event.seq, event.mac, event.epoch
        handle = _HANDLERS.get(type(event.payload))
        if handle is not None:
            handle(self, event, event.payload)
        self.updated_at = event.timestamp

    def end_segment(self, since: str) -> None:
        """End the current segment: the run is idle until it is started again."""
        self.stop_waiting("", since)
        self.worked_sec += max(0.0, seconds_between(self.segment_since, since) - self.waited_sec)
        self.segment_since, self.waited_sec = "", 0.0

    def start_waiting(self, call_id: str, at: str) -> None:
        """Start to wait for a user; concurrent waits count once."""
        if not self.waiting_calls:
            self.waiting_since = at
        if call_id not in self.waiting_calls:
            self.waiting_calls.append(call_id)

    def stop_waiting(self, call_id: str, at: str) -> None:
        """Stop the wait of a call; without an id, of all calls."""
        if not self.waiting_calls:
            return
        self.waiting_calls = [
            waiting_id
            for waiting_id in self.waiting_calls
            if call_id and waiting_id != call_id and not waiting_id.startswith(f"{call_id}#")
        ]
        if not self.waiting_calls:
            self.waited_sec += seconds_between(self.waiting_since, at)

    @property
    def child_tokens(self) -> int:
        """Return the tokens of sub-agents."""
        return sum(child.tokens for child in self.children.values()) if self.children else 0

    @property
    def child_cost_usd(self) -> float:
        """Return the known cost of sub-agents."""
        return sum(child.cost_usd or 0.0 for child in self.children.values()) if self.children else 0.0

    @property
    def total_cost_usd(self) -> float | None:
        """Return the cost of the run and its sub-agents; `None` if the cost of a part is unknown."""
        own = [self.cost_usd] if self.input_tokens + self.output_tokens else []
        costs = [*own, *(child.cost_usd for child in self.children.values() if child.tokens)]
        paid = [cost for cost in costs if cost is not None]
        return sum(paid) if paid and len(paid) == len(costs) else None

    @property
    def child_tool_calls(self) -> int:
        """Return the number of calls of sub-agents."""
        return sum(child.tool_calls for child in self.children.values()) if self.children else 0

    @property
    def open(self) -> bool:
        """Return whether the run can still continue."""
        return not self.status.terminal


def _on_run_created(state: RunState, event: Event, payload: RunCreated) -> None:
    state.run_id, state.created_at = event.run_id, event.timestamp
    state.session_id, state.task_id, state.profile_id = payload.session_id, payload.task_id, payload.profile_id
    state.config_fingerprint, state.kind, state.attempt = payload.config_fingerprint, payload.kind, payload.attempt
    state.parent_run_id, state.fork = payload.parent_run_id, payload.fork
    state.required_deliverables = list(payload.required_deliverables)
    state.snapshots = {snapshot.name: snapshot.sha256 for snapshot in payload.snapshots}


def _on_sandbox_created(state: RunState, event: Event, payload: SandboxCreated) -> None:
    state.workspace_mode = payload.workspace_mode
    state.snapshots = {**state.snapshots, payload.manifest.name: payload.manifest.sha256}


def _on_run_started(state: RunState, event: Event, payload: RunStarted) -> None:
    state.run_id = state.run_id or event.run_id
    state.created_at = state.created_at or event.timestamp
    state.task, state.workspace_root, state.from_elsewhere = payload.task, payload.workspace_root, False
    state.segment_since = state.segment_since or event.timestamp
    _enter_status(state, RunStatus.RUNNING, event.timestamp)


def _on_run_adopted(state: RunState, event: Event, payload: RunAdopted) -> None:
    state.from_elsewhere = state.adopted = True


def _on_state_changed(state: RunState, event: Event, payload: RunStateChanged) -> None:
    if payload.after in _STATUSES:
        _enter_status(state, RunStatus(payload.after), event.timestamp)


def _on_waiting_human(state: RunState, event: Event, payload: RunWaitingHuman) -> None:
    state.end_segment(event.timestamp)
    state.waiting_message, state.waiting_kind = payload.message, payload.error_kind
    _enter_status(state, RunStatus.WAITING_FOR_USER, event.timestamp)


def _on_run_completed(state: RunState, event: Event, payload: RunCompleted) -> None:
    state.final_output, state.artifacts = payload.final_output, list(payload.artifacts)
    _enter_status(state, RunStatus.COMPLETED, event.timestamp)


def _on_run_failed(state: RunState, event: Event, payload: RunFailed) -> None:
    state.error_kind, state.failure_reason = payload.error_kind, payload.message
    _enter_status(state, RunStatus.FAILED, event.timestamp)


def _on_run_cancelled(state: RunState, event: Event, payload: RunCancelled) -> None:
    state.failure_reason = payload.message
    _enter_status(state, RunStatus.CANCELLED, event.timestamp)


def _enter_status(state: RunState, status: RunStatus, at: str) -> None:
    state.status = status
    if status is not RunStatus.WAITING_FOR_USER:
        state.waiting_message, state.waiting_kind = "", None
    if status is RunStatus.RUNNING and state.started_at is None:
        state.started_at = at
    if status.terminal:
        state.completed_at = at


def _on_request_started(state: RunState, event: Event, payload: LlmRequestStarted) -> None:
    state.model = payload.model
    state.turns += 1


def _on_call_requested(state: RunState, event: Event, payload: ToolCallRequested) -> None:
    state.tool_calls += 1
    state.steps = max(state.steps, parse_number(event.step_id))


def _on_usage(state: RunState, event: Event, payload: LlmUsage) -> None:
    state.input_tokens += payload.input_tokens
    state.output_tokens += payload.output_tokens
    state.cached_tokens += payload.cached_tokens
    state.unpriced = state.unpriced or payload.cost_usd is None
    state.cost_usd = None if state.unpriced else (state.cost_usd or 0.0) + (payload.cost_usd or 0.0)


def _on_child_finished(state: RunState, event: Event, payload: ChildRunFinished) -> None:
    child = state.children.get(payload.child_run_id)
    if child is not None:
        state.children[payload.child_run_id] = msgspec.structs.replace(
            child,
            status=payload.status,
            tokens=payload.input_tokens + payload.output_tokens,
            cost_usd=payload.cost_usd,
            tool_calls=payload.tool_calls,
        )


def _on_child_started(state: RunState, event: Event, payload: ChildRunStarted) -> None:
    child = state.children.get(payload.child_run_id)
    fresh = Child(root=payload.root, call_id=payload.call_id, profile_id=payload.profile_id)
    state.children[payload.child_run_id] = msgspec.structs.replace(child, status="running") if child else fresh


def _on_question(state: RunState, event: Event, payload: HumanRequest | ApprovalRequested) -> None:
    state.start_waiting(payload.call_id, event.timestamp)


def _on_answer(state: RunState, event: Event, payload: HumanResponse | ApprovalDecided | ToolCallFinished) -> None:
    state.stop_waiting(payload.call_id, event.timestamp)


def _on_recovery_decided(state: RunState, event: Event, payload: ContextRecoveryDecided) -> None:
    state.stop_waiting("", event.timestamp)  # the model is asked when no call is open


def _on_budget_increased(state: RunState, event: Event, payload: BudgetIncreased) -> None:
    state.extra_steps += payload.extra_steps
    state.extra_wall_time_sec += payload.extra_wall_time_sec


def _on_inbox_received(state: RunState, event: Event, payload: InboxReceived) -> None:
    state.inbox_position = max(state.inbox_position, payload.position)
    state.inbox_seq = event.seq


def _on_manifest_written(state: RunState, event: Event, payload: ArtifactManifestWritten) -> None:
    state.manifest_sha256 = payload.manifest.sha256


def seconds_between(start: str, end: str) -> float:
    """Return the seconds between two timestamps of a log; 0 if one is missing or invalid."""
    try:
        return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def parse_number(identifier: str | None) -> int:
    """Return the number in an id such as `turn_12`, or 0."""
    digits = (identifier or "").rpartition("_")[2]
    return int(digits) if digits.isdecimal() and len(digits) < 10 else 0


_STATUSES = frozenset(RunStatus)

_HANDLERS: dict[type, Any] = {
    RunCreated: _on_run_created,
    SandboxCreated: _on_sandbox_created,
    RunStarted: _on_run_started,
    RunAdopted: _on_run_adopted,
    RunStateChanged: _on_state_changed,
    RunWaitingHuman: _on_waiting_human,
    RunCompleted: _on_run_completed,
    RunFailed: _on_run_failed,
    RunCancelled: _on_run_cancelled,
    LlmRequestStarted: _on_request_started,
    LlmUsage: _on_usage,
    ToolCallRequested: _on_call_requested,
    HumanRequest: _on_question,
    ApprovalRequested: _on_question,
    HumanResponse: _on_answer,
    ApprovalDecided: _on_answer,
    ToolCallFinished: _on_answer,
    ContextRecoveryDecided: _on_recovery_decided,
    ChildRunStarted: _on_child_started,
    ChildRunFinished: _on_child_finished,
    BudgetIncreased: _on_budget_increased,
    InboxReceived: _on_inbox_received,
    ArtifactManifestWritten: _on_manifest_written,
}
