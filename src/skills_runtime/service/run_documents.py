"""The shapes of runs, sessions and approvals over HTTP, and what a list tells of a run besides its row of the index."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Header, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from skills_runtime.clock import SystemClock
from skills_runtime.engine import RunOverrides, RunService, is_scripted
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events import RunStatus
from skills_runtime.ledger import RunRow
from skills_runtime.projections import RunView
from skills_runtime.runs import RunPaths
from skills_runtime.service.state import runs_of

LEGAL_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
Id = Annotated[str, Field(pattern=LEGAL_ID)]
RunId = Annotated[str, Path(pattern=LEGAL_ID, description="The id of a run.")]
SessionId = Annotated[str, Path(pattern=LEGAL_ID, description="The id of a session.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", min_length=1, max_length=255, description="The same request again is the same thing."
    ),
]
_PROMPT = 1_000_000
_COUNT = 1_000_000_000
MAX_SUMMARIES = 4096


class Answer(BaseModel):
    """What is sent back; more may be added later."""

    model_config = ConfigDict(extra="allow")


class StudioFailure(BaseModel):
    """What went wrong, as the web app of old knows it."""

    detail: dict[str, Any]


def studio_failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How the refusals of a path are documented that the web app of old knows."""
    return {status: {"description": "It was refused.", "model": StudioFailure} for status in statuses}


class Body(BaseModel):
    """What is taken in; what nobody knows is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Limits(Body):
    """What may be different in one run; never more than the operator allows."""

    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    max_steps: Annotated[int, Field(ge=1, le=_COUNT)] | None = None
    max_wall_time_sec: Annotated[int, Field(ge=1, le=_COUNT)] | None = None
    max_tool_calls: Annotated[int, Field(ge=1, le=_COUNT)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=_COUNT)] | None = None
    max_cost_usd: Annotated[float, Field(gt=0, le=_COUNT)] | None = None
    on_limit: Literal["fail", "park"] | None = None
    review: bool = False
    policy_mode: Literal["allow", "ask", "deny"] | None = None
    sandbox_profile: Literal["dev", "balanced", "prod"] | None = None
    workspace: Literal["shared", "isolated"] | None = None

    def overrides(self) -> RunOverrides:
        """The same as a value."""
        return RunOverrides(**{name: getattr(self, name) for name in Limits.model_fields})


class NewRun(Limits):
    """A task, and where it belongs."""

    prompt: Annotated[str, Field(min_length=1, max_length=_PROMPT)]
    skills: Annotated[list[Annotated[str, Field(min_length=1, max_length=300)]], Field(max_length=50)] = []
    session_id: Id | None = None
    task_id: Id | None = None
    run_id: Id | None = None


class NewFork(Limits):
    """Another way on from an event of a run."""

    at: Annotated[int, Field(ge=0, le=_COUNT)] | None = None
    prompt: Annotated[str, Field(min_length=1, max_length=_PROMPT)] | None = None
    run_id: Id | None = None


class RunDocument(Answer):
    """One run."""

    run_id: str
    session_id: str
    task_id: str
    status: RunStatus
    created_at: str
    updated_at: str
    last_seq: int


class RunPage(Answer):
    """Some runs, the newest first, and where to go on."""

    runs: list[RunDocument]
    next_cursor: str | None


class MadeDocument(Answer):
    """The run that was asked for."""

    run_id: str
    created: bool


class Receipt(Answer):
    """A message that is kept until the run has read it."""

    message_id: str
    run_id: str
    kind: str
    position: int


class EventPage(Answer):
    """Some events as they stand in the log, and where to go on."""

    events: list[dict[str, Any]]
    next_after: int
    ended: bool


def run_document(view: RunView, *, trouble: str | None = None, now: str = "") -> dict[str, Any]:
    """A run by its log."""
    state, pending = view.state, view.pending
    names = (
        "run_id session_id task_id kind profile_id attempt parent_run_id model task created_at updated_at started_at "
        "completed_at failure_reason error_kind final_output waiting_kind waiting_message last_seq turns steps "
        "tool_calls input_tokens output_tokens cached_tokens cost_usd workspace_mode required_deliverables artifacts"
    )
    return {
        **{name: getattr(state, name) for name in names.split()},
        "status": state.status.value,
        "fork": {"run_id": state.fork.run_id, "seq": state.fork.seq} if state.fork else None,
        "children": {run_id: child.status for run_id, child in state.children.items()},
        "pending_approvals": len(pending.approvals.open),
        "questions": [
            {
                "call_id": question.call_id,
                "question": question.question,
                "choices": question.choices,
                "ids": question.ids,
            }
            for question in pending.questions.values()
        ],
        "trouble": trouble,
        "skills": list(view.conversation.skills),
        "scripted": is_scripted(state.profile_id),
        "duration_ms": duration_ms(state.started_at, state.completed_at or now),
    }


def duration_ms(started_at: str | None, until: str | None) -> int | None:
    """How long a run has taken so far, or nothing where it has not begun."""
    if not started_at or not until:
        return None
    try:
        duration = datetime.fromisoformat(until) - datetime.fromisoformat(started_at)
    except (ValueError, TypeError):  # a log that somebody else wrote may say anything
        return None
    return max(0, round(duration.total_seconds() * 1000))


def row_document(row: RunRow, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A run as the index knows it, and what else is known `about` it."""
    hidden = {"path", "last_mac", "workspace_root"}
    document = {name: getattr(row, name) for name in row.__struct_fields__ if name not in hidden}
    scripted = is_scripted(row.profile_id)
    return {**document, "status": row.status.value, "scripted": scripted, **(about or {})}


class Summary(msgspec.Struct, frozen=True):
    """What the log of a run says that the index does not hold."""

    last_seq: int
    cost_usd: float = 0.0
    skills: tuple[str, ...] = ()
    imported: bool = False


class Summaries:
    """Looks into logs once for each state that the index has seen, and remembers."""

    def __init__(self, runs: RunService) -> None:
        self._runs = runs
        self._cache: OrderedDict[str, Summary] = OrderedDict()
        self._lock = threading.Lock()

    def describe(self, row: RunRow, paths: RunPaths) -> dict[str, Any]:
        """The rest of a row; a run that cannot be read has none."""
        summary = self._load(row, paths)
        until = row.completed_at or (row.updated_at if row.status.terminal else SystemClock().now())
        return {
            "cost_usd": summary.cost_usd,
            "skills": list(summary.skills),
            "imported": summary.imported,
            "duration_ms": duration_ms(row.started_at, until),
        }

    def _load(self, row: RunRow, paths: RunPaths) -> Summary:
        with self._lock:
            cached = self._cache.get(row.run_id)
            if cached is not None and cached.last_seq == row.last_seq:
                self._cache.move_to_end(row.run_id)
                return cached
        try:
            view = self._runs.view_at(paths)
            skills = tuple(view.conversation.skills)
            summary = Summary(row.last_seq, view.state.cost_usd, skills, self._runs.is_imported(paths))
        except (SkillsRuntimeError, OSError):
            summary = Summary(row.last_seq)
        with self._lock:
            self._cache[row.run_id] = summary
            if len(self._cache) > MAX_SUMMARIES:
                self._cache.popitem(last=False)
        return summary


def summaries_of(request: Request) -> Summaries:
    """The memory of the service of a request."""
    state = request.app.state
    if not hasattr(state, "summaries"):
        state.summaries = Summaries(runs_of(request))
    return state.summaries
