"""How much room runs, executions and caches take, over HTTP."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from skills_runtime.engine.disk_usage import Storage, measured
from skills_runtime.service.responses import EVERYWHERE, as_json, failures
from skills_runtime.service.run_documents import Answer
from skills_runtime.service.state import state_of
from skills_runtime.skills.install.lockfile import user_places

router = APIRouter(prefix="/api/v1/storage", tags=["configuration"])


class StorageDocument(Answer):
    """What everything takes on the disk, and what is left; a part that is not complete takes more than it says."""

    parts: list[dict[str, Any]]
    disk: dict[str, int]
    largest_runs: list[dict[str, Any]]


@router.get("", response_model=StorageDocument, responses=failures(*EVERYWHERE))
async def show_storage(request: Request) -> Response:
    """Count what runs, executions and caches take, for a few seconds at most."""
    state = request.app.state
    counting: asyncio.Task[Storage] | None = getattr(state, "counting", None)
    if counting is None or counting.done():  # who asks meanwhile gets the same answer, and holds no thread
        settings = state_of(request).settings
        places = (settings.workspace_root, settings.artifacts_dir, settings.state, user_places().store.parent)
        counting = state.counting = asyncio.create_task(asyncio.to_thread(measured, *places))
    return as_json(await asyncio.shield(counting))
