"""What the log of a run only refers to, over HTTP: arguments and results that are long or not for every eye."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from skills_runtime.service.responses import EVERYWHERE, failures
from skills_runtime.service.run_documents import RunId
from skills_runtime.service.state import runs_of

router = APIRouter(prefix="/api/v1/runs", tags=["files"])

Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="A digest that an event refers to.")]
_BLOB: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes, to be saved.", "content": {"application/octet-stream": {}}},
    **failures(*EVERYWHERE, 404, 409),
}


@router.get("/{run_id}/blobs/{digest}", responses=_BLOB, response_class=Response)
def get_blob(request: Request, run_id: RunId, digest: Digest) -> Response:
    """The bytes that an event of a run, or of the runs it was forked from, refers to; checked against their digest."""
    data = runs_of(request).blob(run_id, digest)
    headers = {
        "Content-Disposition": f'attachment; filename="{digest[:12]}.bin"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(data, media_type="application/octet-stream", headers=headers)
