"""How much room runs, executions and caches take, over HTTP."""

import asyncio
import threading
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from skills_runtime.service.answers import as_json
from skills_runtime.service.documents import EVERYWHERE, failures
from skills_runtime.service.parts import parts_of
from skills_runtime.service.run_documents import Answer
from skills_runtime.service.storage import Storage, measured
from skills_runtime.skills.install.places import user_places

router = APIRouter(prefix="/api/v1/storage", tags=["configuration"])

_ONE_AT_A_TIME = threading.Lock()


class StorageDocument(Answer):
    """What everything takes on the disk, and what is left; a part that is not complete takes more than it says."""

    parts: list[dict[str, Any]]
    disk: dict[str, int]
    largest_runs: list[dict[str, Any]]


@router.get("", response_model=StorageDocument, responses=failures(*EVERYWHERE))
async def show_storage(request: Request) -> Response:
    """Count what runs, executions and caches take, for a few seconds at most."""
    settings = parts_of(request).settings
    caches = user_places().store.parent

    def counted() -> Storage:
        with _ONE_AT_A_TIME:  # two who ask would only slow each other down
            return measured(settings.workspace_root, settings.artifacts_dir, settings.state, caches)

    return as_json(await asyncio.to_thread(counted))
