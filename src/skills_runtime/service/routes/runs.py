"""Runs over HTTP: begin one, list them, look at one."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import RunRow
from skills_runtime.ledger.index import PAGE_LIMIT
from skills_runtime.service.answers import as_json, caller_of, work_of
from skills_runtime.service.documents import EVERYWHERE, failures
from skills_runtime.service.run_documents import (
    Id,
    IdempotencyKey,
    MadeDocument,
    NewRun,
    RunDocument,
    RunId,
    RunPage,
    row_document,
    run_document,
)
from skills_runtime.service.work import Order, Work

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])

_PAGES = 50
"""How many pages of the index are looked through for one page of an answer."""


class RunFilter(BaseModel):
    """Which runs a list shows; one matches all that is given."""

    status: RunStatus | None = None
    session_id: Id | None = None
    task_id: Id | None = None
    text: Annotated[str | None, Field(max_length=1000, description="Words of the task, the answer or the error.")] = (
        None
    )
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
    order = Order(
        prompt=body.prompt,
        session_id=body.session_id,
        task_id=body.task_id,
        run_id=body.run_id,
        wishes=body.wishes(),
    )
    made = await work_of(request).create(order, caller=caller_of(request).name, key=idempotency_key)
    answer = as_json({"run_id": made.run_id, "created": made.new}, 201 if made.new else 200)
    answer.headers["Location"] = f"/api/v1/runs/{made.run_id}"
    return answer


@router.get("", response_model=RunPage, responses=failures(*EVERYWHERE))
def list_runs(request: Request, wanted: Annotated[RunFilter, Query()]) -> Response:
    """List the runs of this workspace, the newest first."""
    work = work_of(request)
    filters: dict[str, Any] = {
        "status": wanted.status,
        "session_id": wanted.session_id,
        "task_id": wanted.task_id,
    }
    if wanted.text is not None and wanted.text.strip():
        rows = _searched(work, wanted.text, filters, wanted.cursor)
    else:
        rows = _listed(work, filters, wanted.cursor, wanted.limit + 1)
    page = rows[: wanted.limit]
    following = page[-1].cursor if len(rows) > wanted.limit else None
    return as_json({"runs": [row_document(row) for row in page], "next_cursor": following})


@router.get("/{run_id}", response_model=RunDocument, responses=failures(*EVERYWHERE, 404))
def get_run(request: Request, run_id: RunId) -> Response:
    """Where a run stands, by its own verified log."""
    work = work_of(request)
    trouble = work.attendance.troubles.get(run_id)
    return as_json(run_document(work.view(run_id), trouble=trouble.message if trouble else None))


def _listed(work: Work, filters: dict[str, Any], cursor: str | None, wanted: int) -> list[RunRow]:
    """As many runs of this workspace as are wanted; the index knows those of others too."""
    found: list[RunRow] = []
    for _ in range(_PAGES):
        rows = work.ledger.index.list(**filters, before=cursor, limit=PAGE_LIMIT)
        found.extend(row for row in rows if work.home.has(row))
        if len(found) >= wanted or len(rows) < PAGE_LIMIT:
            break
        cursor = rows[-1].cursor
    return found[:wanted]


def _searched(work: Work, text: str, filters: dict[str, Any], cursor: str | None) -> list[RunRow]:
    rows = (row for row in work.ledger.index.search(text, PAGE_LIMIT) if work.home.has(row))
    fits = (row for row in rows if all(value in (None, getattr(row, name)) for name, value in filters.items()))
    return [row for row in fits if cursor is None or row.cursor < cursor]
