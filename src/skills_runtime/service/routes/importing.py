"""Bringing a run here from elsewhere, over HTTP."""

import asyncio
import tempfile
from pathlib import Path as FilePath
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from skills_runtime.service.answers import as_json, caller_of, work_of
from skills_runtime.service.documents import EVERYWHERE, failures
from skills_runtime.service.importing import import_run
from skills_runtime.service.run_documents import Answer

router = APIRouter(prefix="/api/v1/runs", tags=["files"])

PATH = "/api/v1/runs/import"
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
    work, who = work_of(request), caller_of(request).name
    with tempfile.NamedTemporaryFile(prefix="skills-runtime-import-") as archive:
        async for piece in request.stream():
            archive.write(piece)
        archive.flush()
        found = await asyncio.to_thread(lambda: import_run(work, FilePath(archive.name), who=who))
    return as_json(found, 201)
