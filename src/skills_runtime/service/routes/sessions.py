"""Sessions over HTTP: create, list and delete them, start runs in them, and list their tasks and runs."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from skills_runtime.engine import RunFilter, RunRequest, Session, Sessions
from skills_runtime.errors import AccessRefused
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses, json_response
from skills_runtime.service.run_documents import (
    Answer,
    IdempotencyKey,
    RunPage,
    SessionId,
    row_document,
    studio_failures,
)
from skills_runtime.service.state import caller_of, runs_of

paths = APIRouter(tags=["sessions"])
"""Paths without prefix, because Studio v1 serves them under a second one."""

REFUSALS = studio_failures(400, 401, 403, 404, 413, 415, 429, 500, 503)
Title = Annotated[str, Field(max_length=500)]
Source = Annotated[str, Field(max_length=4096)]
router = APIRouter()


class NewSession(BaseModel):
    """A session to create."""

    title: Title | None = None
    filesystem_sources: Annotated[list[Source], Field(max_length=32)] | None = None


class Sources(BaseModel):
    """The skill directories of a session."""

    filesystem_sources: Annotated[list[Source], Field(max_length=32)] = []


class NewMessage(BaseModel):
    """The task of a new run."""

    message: Annotated[str, Field(min_length=1, max_length=1_000_000)]


class SessionDocument(Answer):
    """One session."""

    session_id: str
    title: str


class SessionList(Answer):
    """The sessions, most recently changed first."""

    sessions: list[SessionDocument]


class OpenedSession(Answer):
    """A new session."""

    session_id: str
    created_at: str


class BegunRun(Answer):
    """A new run."""

    run_id: str


class SourcesDocument(Answer):
    """The skill directories of the session."""

    ok: bool
    filesystem_sources: list[str]


class TaskList(Answer):
    """The tasks of a session, most recently changed first."""

    tasks: list[dict[str, Any]]


def sessions_of(request: Request) -> Sessions:
    """Return the sessions of the workspace."""
    return runs_of(request).sessions


@paths.get("/sessions", response_model=SessionList, responses=REFUSALS)
def list_sessions(request: Request) -> Response:
    """List the sessions of this workspace."""
    documents = [
        {
            "session_id": session.session_id,
            "title": session.title,
            "updated_at": row.updated_at if row else session.created_at,
            "runs_count": row.runs if row else 0,
            "tasks_count": row.tasks if row else 0,
            "status": row.status.value if row else None,
        }
        for session, row in sessions_of(request).all()
    ]
    return json_response({"sessions": documents})


@paths.post("/sessions", status_code=201, response_model=OpenedSession, responses=REFUSALS)
def create_session(request: Request, body: NewSession | None = None) -> Response:
    """Create a session."""
    new_session = body or NewSession()
    if new_session.filesystem_sources and caller_of(request).kind == "key":
        hint = "create the session without `filesystem_sources`"
        raise AccessRefused("only the owner's token may choose skill directories", hint=hint)
    session = sessions_of(request).create(new_session.title or "", new_session.filesystem_sources)
    return json_response({"session_id": session.session_id, "created_at": session.created_at}, 201)


@paths.get("/sessions/{session_id}", response_model=SessionDocument, responses=REFUSALS)
def get_session(request: Request, session_id: SessionId) -> Response:
    """Return one session."""
    return json_response(_document(sessions_of(request).get(session_id)))


@paths.delete("/sessions/{session_id}", status_code=204, responses=REFUSALS)
def delete_session(request: Request, session_id: SessionId) -> Response:
    """Delete a session from the list; its runs are kept."""
    sessions_of(request).delete(session_id)
    return Response(status_code=204)


@paths.put("/sessions/{session_id}/skills/sources", response_model=SourcesDocument, responses=REFUSALS)
def set_sources(request: Request, session_id: SessionId, body: Sources) -> Response:
    """Set the skill directories of a session."""
    session = sessions_of(request).use(session_id, body.filesystem_sources)
    return json_response({"ok": True, "filesystem_sources": session.filesystem_sources})


@paths.post(
    "/sessions/{session_id}/runs",
    status_code=201,
    response_model=BegunRun,
    responses={**REFUSALS, **studio_failures(409)},
)
async def create_session_run(
    request: Request, session_id: SessionId, body: NewMessage, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a run in a session with its earlier messages as history."""
    session = sessions_of(request).get(session_id)
    run_request = RunRequest(prompt=body.message, session_id=session_id, skill_sources=session.filesystem_sources)
    run = await runs_of(request).create(run_request, caller=caller_of(request).name, key=idempotency_key)
    return json_response({"run_id": run.run_id}, 201)


@paths.get("/sessions/{session_id}/runs", response_model=RunPage, responses=REFUSALS)
def list_session_runs(request: Request, session_id: SessionId) -> Response:
    """List the runs of a session, newest first."""
    runs = runs_of(request)
    sessions_of(request).get(session_id)
    rows = runs.list_runs(RunFilter(session_id=session_id), limit=500)
    return json_response({"runs": [row_document(row) for row in rows], "next_cursor": None})


@paths.get("/sessions/{session_id}/tasks", response_model=TaskList, responses=failure_responses(*COMMON_STATUSES, 404))
def list_tasks(request: Request, session_id: SessionId) -> Response:
    """List the tasks of a session with the number of runs for each."""
    sessions_of(request).get(session_id)
    return json_response({"tasks": runs_of(request).tasks(session_id)})


def _document(session: Session) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "title": session.title,
        "created_at": session.created_at,
        "filesystem_sources": session.filesystem_sources,
    }


router.include_router(paths, prefix="/api/v1")
