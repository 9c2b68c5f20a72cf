"""HTTP schemas of runs, sessions and approvals, and the fields of a run list that come from the logs."""

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
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="Repeating a request with the same key has no further effect.",
    ),
]
_PROMPT = 1_000_000
_COUNT = 1_000_000_000
MAX_SUMMARIES = 4096


class Answer(BaseModel):
    """Base class of responses; fields may be added later."""

    model_config = ConfigDict(extra="allow")


class StudioFailure(BaseModel):
    """An error, in the format of the Studio v1 API."""

    detail: dict[str, Any]


def studio_failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI documentation of the error responses in the format of the Studio v1 API."""
    return {status: {"description": "The request was refused.", "model": StudioFailure} for status in statuses}


class Body(BaseModel):
    """Base class of request bodies; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Limits(Body):
    """Overrides for one run, within the limits set by the operator."""

    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    max_steps: Annotated[int, Field(ge=1, le=_COUNT)] | None = None
    max_wall_time_sec: Annotated[int, Field(ge=1, le=_COUNT)] | None = None
    max_tool_calls: Annotated[int, Field(ge=1, le=_COUNT)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=_COUNT)] | None = None
    max_cost_usd: Annotated[float, Field(gt=0, le=_COUNT)] | None = None
    on_limit: Literal["fail", "park"] | None = None
    review: bool = False
    policy_mode: Literal["auto", "ask", "allow", "deny"] | None = None
    sandbox_profile: Literal["dev", "balanced", "prod"] | None = None
    workspace: Literal["shared", "isolated"] | None = None

    def overrides(self) -> RunOverrides:
        """Return the overrides as a value."""
        return RunOverrides(**{name: getattr(self, name) for name in Limits.model_fields})


class NewRun(Limits):
    """The task of a new run, and the session it belongs to."""

    prompt: Annotated[str, Field(min_length=1, max_length=_PROMPT)]
    skills: Annotated[list[Annotated[str, Field(min_length=1, max_length=300)]], Field(max_length=50)] = []
    session_id: Id | None = None
    task_id: Id | None = None
    run_id: Id | None = None


class NewFork(Limits):
    """A new run that continues from an event of another run."""

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
    """A page of runs, newest first."""

    runs: list[RunDocument]
    next_cursor: str | None


class MadeDocument(Answer):
    """The id of the run, and whether it was created by this request."""

    run_id: str
    created: bool


class Receipt(Answer):
    """A message that waits until the run has read it."""

    message_id: str
    run_id: str
    kind: str
    position: int


class EventPage(Answer):
    """A page of events as stored in the log."""

    events: list[dict[str, Any]]
    next_after: int
    ended: bool


def run_document(view: RunView, *, trouble: str | None = None, now: str = "") -> dict[str, Any]:
    """Return the document of a run from its log."""
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
    """Return the duration of a run so far, or `None` if it has not started."""
    if not started_at or not until:
        return None
    try:
        duration = datetime.fromisoformat(until) - datetime.fromisoformat(started_at)
    except (ValueError, TypeError):  # an imported log may contain any text here
        return None
    return max(0, round(duration.total_seconds() * 1000))


def row_document(row: RunRow, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the document of a run from its index row, with `extra` fields."""
    hidden = {"path", "last_mac", "workspace_root"}
    document = {name: getattr(row, name) for name in row.__struct_fields__ if name not in hidden}
    scripted = is_scripted(row.profile_id)
    return {**document, "status": row.status.value, "scripted": scripted, **(extra or {})}


class Summary(msgspec.Struct, frozen=True):
    """Fields that come from the log and are not in the index."""

    last_seq: int
    cost_usd: float | None = None
    skills: tuple[str, ...] = ()
    imported: bool = False


class Summaries:
    """Summaries of logs, cached until the index shows new events."""

    def __init__(self, runs: RunService) -> None:
        self._runs = runs
        self._cache: OrderedDict[str, Summary] = OrderedDict()
        self._lock = threading.Lock()

    def describe(self, row: RunRow, paths: RunPaths) -> dict[str, Any]:
        """Return the additional fields for a row; a run that cannot be read gets defaults."""
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
    """Return the summary cache of the service."""
    state = request.app.state
    if not hasattr(state, "summaries"):
        state.summaries = Summaries(runs_of(request))
    return state.summaries
