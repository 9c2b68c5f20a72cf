"""The demonstration over HTTP: a run that really executes without any key or network."""

import asyncio

from fastapi import APIRouter, Request
from starlette.responses import Response

from skills_runtime.engine.demo import check_demo_sandbox, demo_request
from skills_runtime.service.responses import EVERYWHERE, as_json, failures
from skills_runtime.service.run_documents import Answer, Body, IdempotencyKey
from skills_runtime.service.state import caller_of, runs_of

router = APIRouter(prefix="/api/v1/demo", tags=["runs"])


class NewDemo(Body):
    """Nothing has to be said about it."""


class DemoDocument(Answer):
    """The run that was begun; its model is scripted, all else is real."""

    run_id: str
    created: bool
    scripted: bool


@router.post(
    "", status_code=201, response_model=DemoDocument, responses=failures(*EVERYWHERE, 404, 408, 409, 413, 415, 503)
)
async def begin_demo(request: Request, body: NewDemo | None = None, idempotency_key: IdempotencyKey = None) -> Response:
    """Begin the demonstration: a real skill in a real sandbox, one approval to give, and one file to open."""
    del body
    runs = runs_of(request)
    await asyncio.to_thread(lambda: check_demo_sandbox(runs.workspace.settings()))
    wanted = await asyncio.to_thread(demo_request)
    made = await runs.create(wanted, caller=caller_of(request).name, key=idempotency_key)
    return as_json({"run_id": made.run_id, "created": made.new, "scripted": True}, 201)
