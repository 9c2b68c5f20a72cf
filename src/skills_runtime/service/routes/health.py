"""Liveness, readiness and metrics; answered at once, even under load."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from skills_runtime.service.metrics import CONTENT_TYPE
from skills_runtime.service.problems import encode_json
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses
from skills_runtime.service.state import ServiceState, state_of

router = APIRouter(tags=["operation"])

_READY: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The service can accept work.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    },
    503: {
        "description": "The service cannot accept work now.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    },
}


@router.get("/livez", responses={**failure_responses(400, 403, 500), 200: _READY[200]})
async def live() -> Response:
    """Return that the process is alive."""
    return Response(encode_json({"status": "ok"}), media_type="application/json")


@router.get("/readyz", responses={**failure_responses(400, 403, 500), **_READY})
async def ready(request: Request) -> Response:
    """Return whether the service can accept work, and what prevents it."""
    state = state_of(request)
    running, waiting = state.runs.executions.executor.under_way
    checks = {name: await asyncio.to_thread(check, state) for name, check in _CHECKS.items()}
    is_ready = all(result == "ok" for result in checks.values())
    body = {
        "status": "ready" if is_ready else "not_ready",
        "checks": checks,
        "executions": {"running": running, "waiting": waiting},
    }
    return Response(encode_json(body), status_code=200 if is_ready else 503, media_type="application/json")


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        **failure_responses(*COMMON_STATUSES),
        200: {"description": "The metrics.", "content": {"text/plain": {}}},
    },
)
async def metrics(request: Request) -> Response:
    """Return Prometheus metrics."""
    return Response(state_of(request).metrics.render(), media_type=CONTENT_TYPE)


def _skills(state: ServiceState) -> str:
    directory = state.settings.skills_dir
    return "ok" if directory is None or directory.is_dir() else "the skills directory does not exist"


def _artifacts(state: ServiceState) -> str:
    path = state.settings.artifacts_dir
    return "ok" if os.access(path, os.W_OK | os.X_OK) else "the artifacts directory is not writable"


def _stopping(state: ServiceState) -> str:
    return "the service is stopping" if state.stopping.is_set() else "ok"


_CHECKS: dict[str, Callable[[ServiceState], str]] = {"skills": _skills, "artifacts": _artifacts, "service": _stopping}
