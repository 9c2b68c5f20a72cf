"""Runs over HTTP: create, list, show, compare and control them, and start the demo."""

import asyncio
from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from skills_runtime import engine
from skills_runtime.clock import SystemClock
from skills_runtime.engine import (
    RunRequest,
    build_demo_request,
    check_demo_sandbox,
    explain_orphaned,
    find_model_problem,
    list_allowed_choices,
)
from skills_runtime.errors import RequestConflict, ValidationFailed
from skills_runtime.events import RunStatus
from skills_runtime.ledger import RunRow
from skills_runtime.ports import InboxMessage, KeyTaken
from skills_runtime.projections import Action
from skills_runtime.runs import RunPaths
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses, json_response, receipt_response
from skills_runtime.service.run_documents import (
    Answer,
    Body,
    Id,
    IdempotencyKey,
    Limits,
    MadeDocument,
    NewFork,
    NewRun,
    Receipt,
    RunDocument,
    RunId,
    RunPage,
    row_document,
    run_document,
    summaries_of,
)
from skills_runtime.service.state import caller_of, runs_of
from skills_runtime.text import unified_diff

router = APIRouter(prefix="/api/v1", tags=["runs"])

LIMITS = ("max_steps", "max_wall_time_sec", "max_tool_calls", "max_tokens", "max_cost_usd")


class StartOptions(Answer):
    """The options for new runs."""

    models: dict[str, str]
    policy_modes: list[str]
    sandbox_profiles: list[str]
    workspaces: list[str]
    defaults: dict[str, str]
    limits: dict[str, float | None]
    workspace_root: str
    model_ready: bool


class RunFilter(BaseModel):
    """Filters of a run list; a run must match all of them."""

    status: RunStatus | None = None
    session_id: Id | None = None
    task_id: Id | None = None
    text: Annotated[str | None, Field(max_length=1000, description="Words in the task, the answer or the error.")] = (
        None
    )
    query: Annotated[str | None, Field(max_length=1000, description="The same as `text`.")] = None
    model: Annotated[str | None, Field(max_length=200, description="Only runs of this model.")] = None
    skill: Annotated[
        str | None, Field(max_length=300, description="Only runs with this skill, by mention or name.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    cursor: Annotated[str | None, Field(max_length=300, description="`next_cursor` of the previous page.")] = None


@router.post(
    "/runs",
    status_code=201,
    response_model=MadeDocument,
    responses={
        200: {"description": "The run that an earlier request with the same key created.", "model": MadeDocument},
        **failure_responses(*COMMON_STATUSES, 404, 409, 413, 415, 503),
    },
)
async def create_run(request: Request, body: NewRun, idempotency_key: IdempotencyKey = None) -> Response:
    """Create and start a run; it is durable when this returns, and is resumed even if the service is killed."""
    run_request = RunRequest(
        prompt=body.prompt,
        session_id=body.session_id,
        task_id=body.task_id,
        run_id=body.run_id,
        overrides=body.overrides(),
        skills=tuple(body.skills),
    )
    run = await runs_of(request).create(run_request, caller=caller_of(request).name, key=idempotency_key)
    answer = json_response({"run_id": run.run_id, "created": run.new}, 201 if run.new else 200)
    answer.headers["Location"] = f"/api/v1/runs/{run.run_id}"
    return answer


@router.get("/runs", response_model=RunPage, responses=failure_responses(*COMMON_STATUSES))
def list_runs(request: Request, filters: Annotated[RunFilter, Query()]) -> Response:
    """List the runs of this workspace, newest first."""
    rows, following = _find_page(request, filters)
    describe = summaries_of(request).describe
    documents = [row_document(row, describe(row, RunPaths(FilePath(row.path)))) for row in rows]
    return json_response({"runs": documents, "next_cursor": following})


@router.get("/runs/options", response_model=StartOptions, responses=failure_responses(*COMMON_STATUSES))
def start_options(request: Request) -> Response:
    """Return the defaults and the allowed options for new runs."""
    resolved = runs_of(request).workspace.settings()
    settings = resolved.settings
    choices = list_allowed_choices(settings)
    return json_response(
        {
            "models": settings.models.model_dump(),
            "policy_modes": choices["policy_mode"],
            "sandbox_profiles": choices["sandbox_profile"],
            "workspaces": choices["workspace"],
            "defaults": {
                "policy_mode": settings.safety.mode,
                "sandbox_profile": settings.sandbox.profile,
                "workspace": settings.sandbox.workspace,
            },
            "limits": {name: getattr(settings.run, name) for name in LIMITS},
            "workspace_root": str(resolved.workspace_root),
            "model_ready": not find_model_problem(resolved),
        }
    )


@router.get("/runs/{run_id}", response_model=RunDocument, responses=failure_responses(*COMMON_STATUSES, 404))
def get_run(request: Request, run_id: RunId) -> Response:
    """Return the state of a run from its verified log."""
    runs = runs_of(request)
    error, paths = runs.errors.get(run_id), runs.find(run_id)
    view, imported = runs.view(run_id), runs.is_imported(paths)
    problem = error.message if error else None if imported else explain_orphaned(paths, view.state)
    return json_response({**run_document(view, trouble=problem, now=SystemClock().now()), "imported": imported})


def _find_page(request: Request, filters: RunFilter) -> tuple[list[RunRow], str | None]:
    """Return one page of runs, and the cursor of the next."""
    describe = summaries_of(request).describe

    def matches(row: RunRow) -> bool:
        if filters.model is not None and row.model != filters.model:
            return False
        if filters.skill is None:
            return True
        skills = describe(row, RunPaths(FilePath(row.path)))["skills"]
        return any(filters.skill in (skill, skill.rpartition(".")[2]) for skill in skills)

    chosen = engine.RunFilter(
        status=filters.status,
        session_id=filters.session_id,
        task_id=filters.task_id,
        text=filters.query or filters.text or "",
    )
    rows = runs_of(request).list_runs(chosen, limit=filters.limit + 1, cursor=filters.cursor, matches=matches)
    page = rows[: filters.limit]
    return page, page[-1].cursor if len(rows) > filters.limit else None


REFUSALS = failure_responses(*COMMON_STATUSES, 404, 409, 413, 415, 503)
Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class Cancel(Body):
    """Why a run is cancelled."""

    reason: Annotated[str, Field(min_length=1, max_length=1000)] = "cancelled"


class Send(Body):
    """A message to a run."""

    text: Text


class Say(Body):
    """The answer to a question: one text, or one for each part by its id."""

    answer: Text | None = None
    answers: dict[str, Text] | None = None
    call_id: Annotated[str, Field(min_length=1, max_length=300)] | None = None


class Review(Body):
    """A review of a result."""

    decision: Literal["approve", "revise"]
    note: Annotated[str, Field(max_length=100_000)] = ""


class Replayed(Answer):
    """Whether a replay gives the same run, and the first difference."""

    same: bool
    divergence: dict[str, Any] | None


@router.post("/runs/{run_id}/cancel", response_model=RunDocument, responses=REFUSALS)
async def cancel_run(
    request: Request, run_id: RunId, body: Cancel | None = None, idempotency_key: IdempotencyKey = None
) -> Response:
    """Cancel a run for good and return its state."""
    runs = runs_of(request)
    await runs.cancel(run_id, (body or Cancel()).reason, key=idempotency_key)
    return await _run(request, run_id)


class DeletedDocument(Answer):
    """The deleted runs, and the bytes that they took on the disk."""

    run_ids: list[str]
    bytes: int


@router.delete("/runs/{run_id}", response_model=DeletedDocument, responses=REFUSALS)
async def delete_run(
    request: Request,
    run_id: RunId,
    *,
    force: Annotated[bool, Query(description="Cancel the run first, if it has not ended.")] = False,
) -> Response:
    """Delete a run with its directory and the runs of its sub-agents."""
    deleted = await runs_of(request).delete(run_id, force=force)
    return json_response({"run_ids": list(deleted.run_ids), "bytes": deleted.bytes})


@router.post("/runs/{run_id}/resume", response_model=RunDocument, status_code=202, responses=REFUSALS)
async def resume_run(request: Request, run_id: RunId, body: Limits | None = None) -> Response:
    """Resume a run that waits, was stopped, or was interrupted."""
    await runs_of(request).resume(run_id, (body or Limits()).overrides())
    return await _run(request, run_id, 202)


@router.post("/runs/{run_id}/fork", response_model=MadeDocument, status_code=201, responses=REFUSALS)
async def fork_run(
    request: Request, run_id: RunId, body: NewFork | None = None, idempotency_key: IdempotencyKey = None
) -> Response:
    """Create a run that continues from an event of another run."""
    fork = body or NewFork()
    run_request = RunRequest(
        prompt=fork.prompt or "",
        run_id=fork.run_id,
        overrides=fork.overrides(),
        fork_of=run_id,
        fork_at=fork.at,
    )
    run = await runs_of(request).create(run_request, caller=caller_of(request).name, key=idempotency_key)
    return json_response({"run_id": run.run_id, "created": run.new}, 201 if run.new else 200)


@router.post("/runs/{run_id}/replay", response_model=Replayed, responses=REFUSALS)
async def replay_run(request: Request, run_id: RunId) -> Response:
    """Replay a run from its recorded answers and results; nothing is executed and no one is asked."""
    divergence = await runs_of(request).replay(run_id)
    return json_response({"same": divergence is None, "divergence": divergence})


@router.post("/runs/{run_id}/messages", response_model=Receipt, status_code=202, responses=REFUSALS)
async def send_message(request: Request, run_id: RunId, body: Send, idempotency_key: IdempotencyKey = None) -> Response:
    """Send a message to a run; the model reads it at the next turn."""
    return receipt_response(await _send(lambda: runs_of(request).send(run_id, body.text, key=idempotency_key)))


@router.post("/runs/{run_id}/answers", response_model=Receipt, status_code=202, responses=REFUSALS)
async def answer_run(request: Request, run_id: RunId, body: Say, idempotency_key: IdempotencyKey = None) -> Response:
    """Answer a question of a run, which then continues."""
    runs = runs_of(request)
    answer = body.answer if body.answer is not None else body.answers
    if answer is None or (body.answer is not None and body.answers is not None):
        raise ValidationFailed("send either `answer` or `answers`")
    message = await _send(lambda: runs.answer(run_id, answer, call_id=body.call_id, key=idempotency_key))
    await runs.proceed(run_id)
    return receipt_response(message)


@router.post("/runs/{run_id}/review", response_model=RunDocument, responses=REFUSALS)
async def review_run(request: Request, run_id: RunId, body: Review) -> Response:
    """Accept a result that waits for review, or return it with a note that the model reads next."""
    runs, accept = runs_of(request), body.decision == "approve"
    await asyncio.to_thread(lambda: runs.review(run_id, accept=accept, note=body.note))
    if not accept:
        await runs.proceed(run_id)
    return await _run(request, run_id)


async def _send(send: Callable[[], InboxMessage]) -> InboxMessage:
    """Send a message; raise `RequestConflict` if the key was used for another one."""
    try:
        return await asyncio.to_thread(send)
    except KeyTaken as error:
        raise RequestConflict(error.message, hint=error.hint) from error


async def _run(request: Request, run_id: str, status: int = 200) -> Response:
    view = await asyncio.to_thread(runs_of(request).view, run_id)
    return json_response(run_document(view), status)


MAX_ACTIONS = 2_000
"""Longer runs are compared only up to this action."""
MAX_CHARS = 20_000
MAX_TOTAL_CHARS = 8_000_000
"""Maximum size of all actions together; of many long ones each is truncated further."""
MAX_PAIRS = 50_000
"""Up to this number of equal pairs the comparison is exact; beyond it frequent actions are ignored."""


class Comparison(Answer):
    """The differences of two runs, ignoring ids and times."""

    a: str
    b: str
    same: bool
    truncated: bool
    unified: list[str]
    rows: list[dict[str, Any]]


@router.get(
    "/runs/{run_id}/diff/{other_id}", response_model=Comparison, responses=failure_responses(*COMMON_STATUSES, 404, 409)
)
def compare_runs(request: Request, run_id: RunId, other_id: RunId) -> Response:
    """Compare the actions of two runs, like `runs diff`."""
    actions, other_actions = (runs_of(request).open_recorded(name).actions() for name in (run_id, other_id))
    lines, other_lines = ([str(action) for action in run[:MAX_ACTIONS]] for run in (actions, other_actions))
    chars = min(MAX_CHARS, MAX_TOTAL_CHARS // max(1, len(lines) + len(other_lines)))
    return json_response(
        {
            "a": run_id,
            "b": other_id,
            "same": [str(action) for action in actions] == [str(action) for action in other_actions],
            "truncated": max(len(actions), len(other_actions)) > MAX_ACTIONS,
            "unified": [
                line[:chars] for line in unified_diff(lines, other_lines, (run_id, other_id), context=1, end="")
            ],
            "rows": build_rows(actions, other_actions, (lines, other_lines), chars),
        }
    )


def build_rows(
    actions: list[Action], other_actions: list[Action], texts: tuple[list[str], list[str]], chars: int
) -> list[dict[str, Any]]:
    """Return the equal and different sections of two runs in order."""
    matched = SequenceMatcher(None, *texts, autojunk=count_pairs(*texts) > MAX_PAIRS)
    return [
        {
            "op": op,
            "a": _action_documents(actions[a:a_end], chars),
            "b": _action_documents(other_actions[b:b_end], chars),
        }
        for op, a, a_end, b, b_end in matched.get_opcodes()
    ]


def count_pairs(lines: list[str], other_lines: list[str]) -> int:
    """Estimate the cost of an exact comparison: runs that repeat one action a thousand times would take minutes."""
    counts = Counter(other_lines)
    return sum(counts[line] for line in lines)


def _action_documents(actions: list[Action], chars: int) -> list[dict[str, str]]:
    return [{"kind": action.kind, "what": action.text[:chars]} for action in actions]


class NewDemo(Body):
    """Takes no fields."""


class DemoDocument(Answer):
    """The started run; its model is scripted, everything else is real."""

    run_id: str
    created: bool
    scripted: bool


@router.post(
    "/demo",
    status_code=201,
    response_model=DemoDocument,
    responses=failure_responses(*COMMON_STATUSES, 404, 408, 409, 413, 415, 503),
)
async def begin_demo(request: Request, body: NewDemo | None = None, idempotency_key: IdempotencyKey = None) -> Response:
    """Start the demo: a real skill in a real sandbox, with one approval and one file."""
    del body
    runs = runs_of(request)
    await asyncio.to_thread(lambda: check_demo_sandbox(runs.workspace.settings()))
    run_request = await asyncio.to_thread(build_demo_request)
    run = await runs.create(run_request, caller=caller_of(request).name, key=idempotency_key)
    return json_response({"run_id": run.run_id, "created": run.new, "scripted": True}, 201)
