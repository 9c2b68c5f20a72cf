"""Bringing a run here from elsewhere, over HTTP."""

import asyncio
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from skills_runtime.engine.run_import import import_run
from skills_runtime.errors import Busy
from skills_runtime.ledger import RunRow
from skills_runtime.projections import RunView
from skills_runtime.service.responses import EVERYWHERE, as_json, failures
from skills_runtime.service.run_documents import Answer, row_document, run_document
from skills_runtime.service.state import caller_of, runs_of

router = APIRouter(prefix="/api/v1/runs", tags=["files"])

PATH = "/api/v1/runs/import"
MAX_AT_ONCE = 4
_KINDS = ("application/zip", "application/gzip", "application/octet-stream")
_ARCHIVE = {"schema": {"type": "string", "format": "binary"}}


class ImportedDocument(Answer):
    """A run that is here now; it is not authentic where this machine does not have the key of its log."""

    run_id: str
    status: str
    authentic: bool
    events: int
    findings: list[dict[str, Any]]


@router.post(
    "/import",
    status_code=201,
    response_model=ImportedDocument,
    responses=failures(*EVERYWHERE, 408, 409, 413, 415),
    openapi_extra={"requestBody": {"required": True, "content": dict.fromkeys(_KINDS, _ARCHIVE)}},
)
async def import_archive(request: Request) -> Response:
    """Take in an exported run that has ended, as a zip or a tar.gz; it is verified first, and replaces nothing."""
    runs, who = runs_of(request), caller_of(request).name
    with _one_more(request), tempfile.NamedTemporaryFile(prefix="skills-runtime-import-") as archive:
        async for piece in request.stream():
            archive.write(piece)
        archive.flush()
        found = await asyncio.to_thread(lambda: import_run(runs, FilePath(archive.name), who=who, render=_render))
    return as_json(found, 201)


def _render(row: RunRow, view: RunView) -> bytes:
    return msgspec.json.encode((row_document(row), run_document(view, now=row.updated_at)))


@contextmanager
def _one_more(request: Request) -> Generator[None]:
    """Each may unpack to very much, and holds a thread: only a few are taken in at the same time."""
    state = request.app.state
    under_way: int = getattr(state, "importing", 0)
    if under_way >= MAX_AT_ONCE:
        raise Busy(f"{under_way} runs are being imported now", hint="try again later")
    state.importing = under_way + 1
    try:
        yield
    finally:
        state.importing -= 1
