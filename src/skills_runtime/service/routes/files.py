"""Files of runs over HTTP: artifacts, deliverables, blobs, transcripts, verification, export and import."""

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Header, Path, Request
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response, StreamingResponse

from skills_runtime.engine import import_run
from skills_runtime.errors import Busy, NotFound
from skills_runtime.ledger import RunRow
from skills_runtime.projections import RunView
from skills_runtime.render import POLICY
from skills_runtime.runs import ROLES, RunPaths
from skills_runtime.service.file_response import WantsPreview, find_preview, open_inside, parse_inner_path, send_file
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses, json_response
from skills_runtime.service.run_documents import Answer, RunId, row_document, run_document
from skills_runtime.service.state import caller_of, runs_of
from skills_runtime.storage import media_type

router = APIRouter(prefix="/api/v1/runs", tags=["files"])

REFUSALS = failure_responses(*COMMON_STATUSES, 404, 409)
InnerPath = Annotated[str, Path(max_length=4096, description="A path from the list.")]
Range = Annotated[str | None, Header(max_length=200, description="One range of bytes, such as `bytes=0-99`.")]
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"application/octet-stream": {}}},
    206: {"description": "The requested range of the file.", "content": {"application/octet-stream": {}}},
    416: {"description": "The file does not contain this range."},
    **failure_responses(*COMMON_STATUSES, 404),
}


class ArtifactList(Answer):
    """The files of a run; they may change until `final` is true."""

    artifacts: list[dict[str, Any]]
    final: bool


class VerdictDocument(Answer):
    """Whether a run directory matches its log."""

    ok: bool
    outcome: Literal["verified", "not_authenticated", "not_verified"]
    """`not_authenticated` if nothing contradicts the log, but its key is not on this machine."""
    authentic: bool
    events: int
    findings: list[dict[str, Any]]


@router.get("/{run_id}/artifacts", response_model=ArtifactList, responses=REFUSALS)
def list_artifacts(request: Request, run_id: RunId) -> Response:
    """List the files that a run produced and consumed, with sizes and digests."""
    return json_response(runs_of(request).artifacts(run_id))


@router.get("/{run_id}/deliverables", response_model=ArtifactList, responses=REFUSALS)
def list_deliverables(request: Request, run_id: RunId) -> Response:
    """List the deliverables of a run."""
    return json_response(runs_of(request).artifacts(run_id, deliverables=True))


@router.get("/{run_id}/artifacts/{path:path}", responses=_FILE, response_class=StreamingResponse)
def get_artifact(
    request: Request, run_id: RunId, path: InnerPath, range: Range = None, preview: WantsPreview = None
) -> Response:
    """Download a file of a run, or a part of it."""
    return _file_response(runs_of(request).find(run_id), path, range, preview=bool(preview))


@router.get("/{run_id}/deliverables/{path:path}", responses=_FILE, response_class=StreamingResponse)
def get_deliverable(
    request: Request, run_id: RunId, path: InnerPath, range: Range = None, preview: WantsPreview = None
) -> Response:
    """Download a deliverable of a run, or a part of it."""
    return _file_response(runs_of(request).find(run_id), f"deliverables/{path}", range, preview=bool(preview))


@router.get(
    "/{run_id}/transcript",
    responses={200: {"description": "The transcript.", "content": {"text/markdown": {}}}, **REFUSALS},
    response_class=StreamingResponse,
)
def get_transcript(request: Request, run_id: RunId) -> Response:
    """Return a run as a readable transcript."""
    pieces = runs_of(request).open_recorded(run_id).transcript()
    first = next(pieces, "")  # fail before the response starts if the log cannot be read
    chunks = (piece.encode(errors="replace") for texts in ((first,), pieces) for piece in texts)
    return StreamingResponse(chunks, media_type="text/markdown; charset=utf-8")


@router.get("/{run_id}/verify", response_model=VerdictDocument, responses=REFUSALS)
def verify(request: Request, run_id: RunId) -> Response:
    """Verify a run against its log, and the log against its key and the index."""
    verdict = runs_of(request).verify(run_id)
    return json_response({**msgspec.to_builtins(verdict), "ok": verdict.ok, "outcome": verdict.outcome})


@router.get(
    "/{run_id}/export",
    responses={200: {"description": "The archive.", "content": {"application/gzip": {}}}, **REFUSALS},
    response_class=FileResponse,
)
def export(request: Request, run_id: RunId) -> Response:
    """Download a finished run as an archive with checksums and provenance, without private contents."""
    run = runs_of(request).open_recorded(run_id)
    directory = tempfile.TemporaryDirectory(prefix="skills-runtime-export-")
    try:
        *_, archive = run.export(FilePath(directory.name) / f"{run_id}.tar.gz")
    except BaseException:
        directory.cleanup()
        raise
    headers = {"Content-Security-Policy": "sandbox"}
    return FileResponse(
        archive,
        media_type="application/gzip",
        filename=archive.name,
        headers=headers,
        background=BackgroundTask(directory.cleanup),
    )


@router.get(
    "/{run_id}/export.html",
    responses={200: {"description": "The page.", "content": {"text/html": {}}}, **REFUSALS},
    response_class=StreamingResponse,
)
def export_page(request: Request, run_id: RunId, lang: Literal["en", "zh"] = "en") -> Response:
    """Return a run as one self-contained page: no scripts, no network, everything escaped."""
    pieces = runs_of(request).open_recorded(run_id).page(lang)
    first = next(pieces, "")  # fail before the response starts if the log cannot be read
    chunks = (piece.encode(errors="replace") for texts in ((first,), pieces) for piece in texts)
    headers = {
        "Content-Disposition": f'attachment; filename="{run_id}.html"',
        "Content-Security-Policy": f"sandbox; {POLICY}",
    }
    return StreamingResponse(chunks, media_type="text/html; charset=utf-8", headers=headers)


def _file_response(paths: RunPaths, path: str, range_header: str | None, *, preview: bool) -> Response:
    top, *inner = parse_inner_path(path)
    if top not in ROLES or not inner:
        raise NotFound(f"the run has no public file {path[:200]!a}", hint="list its artifacts")
    descriptor = open_inside(paths.root / top, inner)
    info = os.fstat(descriptor)
    etag = hashlib.sha256(f"{info.st_ino}-{info.st_mtime_ns}-{info.st_size}".encode()).hexdigest()[:32]
    name = inner[-1]
    return send_file(
        descriptor,
        range_header=range_header,
        media_type=media_type(name),
        name=name,
        etag=etag,
        preview=find_preview(name) if preview else None,
    )


Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="A digest that an event refers to.")]
_BLOB: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes, as a download.", "content": {"application/octet-stream": {}}},
    **failure_responses(*COMMON_STATUSES, 404, 409),
}


@router.get("/{run_id}/blobs/{digest}", responses=_BLOB, response_class=Response)
def get_blob(request: Request, run_id: RunId, digest: Digest) -> Response:
    """Download the bytes that an event of a run, or of its fork origin, refers to; the digest is verified."""
    data = runs_of(request).blob(run_id, digest)
    headers = {
        "Content-Disposition": f'attachment; filename="{digest[:12]}.bin"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(data, media_type="application/octet-stream", headers=headers)


IMPORT_PATH = "/api/v1/runs/import"
MAX_IMPORTS = 4
_KINDS = ("application/zip", "application/gzip", "application/octet-stream")
_ARCHIVE = {"schema": {"type": "string", "format": "binary"}}


class ImportedDocument(Answer):
    """The imported run; it is not authentic if this machine does not have the key of its log."""

    run_id: str
    status: str
    authentic: bool
    events: int
    findings: list[dict[str, Any]]


@router.post(
    "/import",
    status_code=201,
    response_model=ImportedDocument,
    responses=failure_responses(*COMMON_STATUSES, 408, 409, 413, 415),
    openapi_extra={"requestBody": {"required": True, "content": dict.fromkeys(_KINDS, _ARCHIVE)}},
)
async def import_archive(request: Request) -> Response:
    """Import an exported, finished run (zip or tar.gz); it is verified first, and replaces nothing."""
    runs, caller_name = runs_of(request), caller_of(request).name
    with _limit_imports(request), tempfile.NamedTemporaryFile(prefix="skills-runtime-import-") as archive:
        async for piece in request.stream():
            archive.write(piece)
        archive.flush()
        result = await asyncio.to_thread(
            lambda: import_run(runs, FilePath(archive.name), imported_by=caller_name, render=_render)
        )
    return json_response(result, 201)


def _render(row: RunRow, view: RunView) -> bytes:
    return msgspec.json.encode((row_document(row), run_document(view, now=row.updated_at)))


@contextmanager
def _limit_imports(request: Request) -> Generator[None]:
    """Limit concurrent imports: each holds a thread and may unpack to a large size."""
    state = request.app.state
    under_way: int = getattr(state, "importing", 0)
    if under_way >= MAX_IMPORTS:
        raise Busy(f"{under_way} imports are in progress", hint="try again later")
    state.importing = under_way + 1
    try:
        yield
    finally:
        state.importing -= 1
