"""Runs over HTTP: begin one, list them, look at one."""

from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from skills_runtime import engine
from skills_runtime.clock import SystemClock
from skills_runtime.engine import RunRequest
from skills_runtime.engine.agent_factory import model_problem
from skills_runtime.engine.recovery import why_orphaned
from skills_runtime.engine.run_requests import allowed_choices
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import RunRow
from skills_runtime.runs import RunPaths
from skills_runtime.service.responses import EVERYWHERE, as_json, failures
from skills_runtime.service.run_documents import (
    Answer,
    Id,
    IdempotencyKey,
    MadeDocument,
    NewRun,
    RunDocument,
    RunId,
    RunPage,
    row_document,
    run_document,
    summaries_of,
)
from skills_runtime.service.state import caller_of, runs_of

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])

LIMITS = ("max_steps", "max_wall_time_sec", "max_tool_calls", "max_tokens", "max_cost_usd")


class StartOptions(Answer):
    """What a new run may be started with."""

    models: dict[str, str]
    policy_modes: list[str]
    sandbox_profiles: list[str]
    workspaces: list[str]
    defaults: dict[str, str]
    limits: dict[str, float | None]
    workspace_root: str
    model_ready: bool


class RunFilter(BaseModel):
    """Which runs a list shows; one matches all that is given."""

    status: RunStatus | None = None
    session_id: Id | None = None
    task_id: Id | None = None
    text: Annotated[str | None, Field(max_length=1000, description="Words of the task, the answer or the error.")] = (
        None
    )
    query: Annotated[str | None, Field(max_length=1000, description="The same as `text`.")] = None
    model: Annotated[str | None, Field(max_length=200, description="Only of this model.")] = None
    skill: Annotated[str | None, Field(max_length=300, description="Only with this skill, by mention or name.")] = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    cursor: Annotated[str | None, Field(max_length=300, description="`next_cursor` of the page before.")] = None


@router.post(
    "",
    status_code=201,
    response_model=MadeDocument,
    responses={
        200: {"description": "The run that the same request has begun before.", "model": MadeDocument},
        **failures(*EVERYWHERE, 404, 409, 413, 415, 503),
    },
)
async def create_run(request: Request, body: NewRun, idempotency_key: IdempotencyKey = None) -> Response:
    """Begin a run; when this answers it is on the disk, and is worked on even if the service is killed."""
    order = RunRequest(
        prompt=body.prompt,
        session_id=body.session_id,
        task_id=body.task_id,
        run_id=body.run_id,
        overrides=body.overrides(),
        skills=tuple(body.skills),
    )
    made = await runs_of(request).create(order, caller=caller_of(request).name, key=idempotency_key)
    answer = as_json({"run_id": made.run_id, "created": made.new}, 201 if made.new else 200)
    answer.headers["Location"] = f"/api/v1/runs/{made.run_id}"
    return answer


@router.get("", response_model=RunPage, responses=failures(*EVERYWHERE))
def list_runs(request: Request, wanted: Annotated[RunFilter, Query()]) -> Response:
    """List the runs of this workspace, the newest first."""
    rows, following = _found(request, wanted)
    about = summaries_of(request).about
    told = [row_document(row, about(row, RunPaths(FilePath(row.path)))) for row in rows]
    return as_json({"runs": told, "next_cursor": following})


@router.get("/options", response_model=StartOptions, responses=failures(*EVERYWHERE))
def start_options(request: Request) -> Response:
    """What a new run may be started with: what holds here, and what a client may choose."""
    resolved = runs_of(request).workspace.settings()
    settings = resolved.settings
    choices = allowed_choices(settings)
    return as_json(
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
            "model_ready": not model_problem(resolved),
        }
    )


@router.get("/{run_id}", response_model=RunDocument, responses=failures(*EVERYWHERE, 404))
def get_run(request: Request, run_id: RunId) -> Response:
    """Where a run stands, by its own verified log."""
    runs = runs_of(request)
    trouble, paths = runs.errors.get(run_id), runs.find(run_id)
    view, imported = runs.view(run_id), runs.is_imported(paths)
    why = trouble.message if trouble else None if imported else why_orphaned(paths, view.state)
    return as_json({**run_document(view, trouble=why, now=SystemClock().now()), "imported": imported})


def _found(request: Request, wanted: RunFilter) -> tuple[list[RunRow], str | None]:
    """One page, and where the next begins."""
    about = summaries_of(request).about

    def matches(row: RunRow) -> bool:
        if wanted.model is not None and row.model != wanted.model:
            return False
        if wanted.skill is None:
            return True
        skills = about(row, RunPaths(FilePath(row.path)))["skills"]
        return any(wanted.skill in (one, one.rpartition(".")[2]) for one in skills)

    chosen = engine.RunFilter(
        status=wanted.status,
        session_id=wanted.session_id,
        task_id=wanted.task_id,
        text=wanted.query or wanted.text or "",
    )
    rows = runs_of(request).list_runs(chosen, limit=wanted.limit + 1, before=wanted.cursor, matches=matches)
    page = rows[: wanted.limit]
    return page, page[-1].cursor if len(rows) > wanted.limit else None
