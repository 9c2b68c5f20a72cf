"""Executions over HTTP: start, list, show, cancel and delete them, and download their files."""

import asyncio
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Header, Path, Query, Request
from starlette.responses import Response

from skills_runtime.engine import LOG_FILES
from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.executions import Execution, Record, Status, is_execution_id
from skills_runtime.service.file_response import WantsPreview, find_preview, open_inside, parse_inner_path, send_file
from skills_runtime.service.problems import encode_json
from skills_runtime.service.responses import (
    COMMON_STATUSES,
    ArtifactDocument,
    ExecutionDocument,
    ExecutionPage,
    NewExecution,
    failure_responses,
)
from skills_runtime.service.state import runs_of, state_of
from skills_runtime.service.streams.sse import wait_disconnected
from skills_runtime.skills import Skill

router = APIRouter(prefix="/api/v1/executions", tags=["executions"])

ExecutionId = Annotated[str, Path(description="The id of an execution, such as `exec-0123456789ab`.")]
Range = Annotated[str | None, Header(description="One range of bytes, such as `bytes=0-99`.")]
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"application/octet-stream": {}}},
    206: {"description": "The requested range of the file.", "content": {"application/octet-stream": {}}},
    416: {"description": "The file does not contain this range."},
}
_LOGS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The text.", "content": {"text/plain": {}}},
    206: {"description": "The requested range of the text.", "content": {"text/plain": {}}},
    416: {"description": "The text does not contain this range."},
}
_INTERNAL_FIELDS = frozenset({"owner", "key_digest"})
"""Fields that are not part of the API."""


@router.get("", response_model=ExecutionPage, responses=failure_responses(*COMMON_STATUSES))
async def list_executions(
    request: Request,
    skill: Annotated[str | None, Query(description="Only executions of this skill.")] = None,
    status: Annotated[Status | None, Query(description="Only executions with this status.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the previous page.")] = None,
) -> Response:
    """List executions, newest first."""
    if cursor is not None and not is_execution_id(cursor):
        raise ValidationFailed("this cursor is invalid", hint="use `next_cursor` of the previous page")
    records = await runs_of(request).executions.list(limit=limit + 1, after=cursor, status=status, skill=skill)
    page = records[:limit]
    following = page[-1].execution_id if len(records) > limit else None
    return _json({"executions": [_document(record) for record in page], "next_cursor": following})


@router.post(
    "",
    response_model=ExecutionDocument,
    status_code=201,
    responses=failure_responses(*COMMON_STATUSES, 404, 408, 409, 413, 415, 503),
)
async def create_execution(
    request: Request,
    body: NewExecution,
    idempotency_key: Annotated[
        str | None, Header(description="Repeating a request with the same key returns the same execution.")
    ] = None,
) -> Response:
    """Execute a skill and return when it has ended, successfully or not."""
    skill = await asyncio.to_thread(runs_of(request).executions.find, body.skill)
    try:
        execution = await execute_for(request, skill, body.input, timeout_ms=body.timeout_ms, key=idempotency_key)
    except ClientGone:
        return Response(status_code=499)  # the client is gone
    location = {"Location": f"{router.prefix}/{execution.id}"}
    return _json(_full_document(execution), status=201, headers=location)


@router.get("/{execution_id}", response_model=ExecutionDocument, responses=failure_responses(*COMMON_STATUSES, 404))
async def get_execution(request: Request, execution_id: ExecutionId) -> Response:
    """Return one execution with its output."""
    return _json(_full_document(await _execution(request, execution_id)))


@router.post(
    "/{execution_id}/cancel",
    response_model=ExecutionDocument,
    responses=failure_responses(*COMMON_STATUSES, 404, 409, 413, 415),
)
async def cancel_execution(request: Request, execution_id: ExecutionId) -> Response:
    """Cancel an execution and all its processes; a finished one stays as it is."""
    return _json(_full_document(await runs_of(request).executions.cancel(execution_id)))


@router.delete("/{execution_id}", status_code=204, responses=failure_responses(*COMMON_STATUSES, 404, 409, 413, 415))
async def delete_execution(request: Request, execution_id: ExecutionId) -> Response:
    """Delete a finished execution with all its files; its idempotency key can be used again."""
    await runs_of(request).executions.remove(execution_id)
    state_of(request).metrics.count_removed("request")
    return Response(status_code=204)


@router.get(
    "/{execution_id}/artifacts",
    response_model=list[ArtifactDocument],
    responses=failure_responses(*COMMON_STATUSES, 404),
)
async def list_artifacts(request: Request, execution_id: ExecutionId) -> Response:
    """List the files that an execution produced."""
    execution = await _execution(request, execution_id)
    return _json([msgspec.to_builtins(artifact) for artifact in execution.artifacts])


@router.get(
    "/{execution_id}/artifacts/{path:path}",
    response_class=Response,
    responses={**failure_responses(*COMMON_STATUSES, 404), **_FILE},
)
async def get_artifact(
    request: Request, execution_id: ExecutionId, path: str, range: Range = None, preview: WantsPreview = None
) -> Response:
    """Download a file that an execution produced, or a part of it."""
    parts, execution = parse_inner_path(path), await _execution(request, execution_id)
    artifact = next((artifact for artifact in execution.artifacts if artifact.path == path), None)
    if artifact is None:
        raise NotFound(f"the execution has no file {path[:200]!a}", hint="list its artifacts")
    directory = runs_of(request).executions.directory_of(execution.id)
    descriptor = await asyncio.to_thread(open_inside, directory, parts)
    return send_file(
        descriptor,
        range_header=range,
        media_type="application/octet-stream",
        name=parts[-1],
        etag=artifact.sha256,
        preview=find_preview(parts[-1]) if preview else None,
    )


@router.get(
    "/{execution_id}/logs/{stream}",
    response_class=Response,
    responses={**failure_responses(*COMMON_STATUSES, 404), **_LOGS},
)
async def get_log(
    request: Request,
    execution_id: ExecutionId,
    stream: Literal["stdout", "stderr"],
    range: Range = None,
) -> Response:
    """Download the output of an execution, also while it is running."""
    execution = await _execution(request, execution_id)
    name = LOG_FILES[stream]
    directory = runs_of(request).executions.directory_of(execution.id)
    descriptor = await asyncio.to_thread(open_inside, directory, (name,))
    return send_file(descriptor, range_header=range, media_type="text/plain; charset=utf-8", name=name)


async def _execution(request: Request, execution_id: str) -> Execution:
    return await runs_of(request).executions.show(execution_id)


def _full_document(execution: Execution) -> dict[str, Any]:
    return {**_document(execution.record), "output": execution.output}


def _document(record: Record) -> dict[str, Any]:
    document = msgspec.to_builtins(record)
    return {name: value for name, value in document.items() if name not in _INTERNAL_FIELDS}


def _json(value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encode_json(value), status_code=status, media_type="application/json", headers=headers)


class ClientGone(Exception):
    """The client has disconnected."""


async def execute_for(
    request: Request, skill: Skill, input_value: Any, *, timeout_ms: int | None, key: str | None
) -> Execution:
    """Execute a skill and return the finished execution; cancel it with all its processes if the client disconnects."""
    work = asyncio.create_task(runs_of(request).executions.start(skill, input_value, timeout_ms=timeout_ms, key=key))
    disconnected = asyncio.create_task(wait_disconnected(request.receive))
    try:
        await asyncio.wait({work, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientGone
        execution = work.result()
    finally:
        for task in (disconnected, work):
            task.cancel()
        await asyncio.wait({disconnected, work})  # returns when nothing of the execution is left
    state_of(request).metrics.finish_execution(execution.record.skill, execution.status, execution.duration_ms / 1000)
    return execution
