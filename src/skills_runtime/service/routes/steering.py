"""What people do to a run over HTTP: cancel, resume, fork, replay, tell it something, answer it, review it."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.engine import RunRequest
from skills_runtime.errors import RequestConflict, ValidationFailed
from skills_runtime.ports import InboxMessage
from skills_runtime.ports.people import KeyTaken
from skills_runtime.service.responses import EVERYWHERE, as_json, failures, receipt
from skills_runtime.service.run_documents import (
    Answer,
    Body,
    IdempotencyKey,
    Limits,
    MadeDocument,
    NewFork,
    Receipt,
    RunDocument,
    RunId,
    run_document,
)
from skills_runtime.service.state import caller_of, runs_of

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])

REFUSALS = failures(*EVERYWHERE, 404, 409, 413, 415, 503)
Words = Annotated[str, Field(min_length=1, max_length=100_000)]


class Cancel(Body):
    """Why a run is to end."""

    reason: Annotated[str, Field(min_length=1, max_length=1000)] = "cancelled"


class Send(Body):
    """What a run should know."""

    text: Words


class Say(Body):
    """The answer to a question: one text, or one for each part by its id."""

    answer: Words | None = None
    answers: dict[str, Words] | None = None
    call_id: Annotated[str, Field(min_length=1, max_length=300)] | None = None


class Review(Body):
    """What somebody thinks of a result."""

    decision: Literal["approve", "revise"]
    note: Annotated[str, Field(max_length=100_000)] = ""


class Replayed(Answer):
    """Whether a run would go the same way today, and the first move that differs."""

    same: bool
    divergence: dict[str, Any] | None


@router.post("/{run_id}/cancel", response_model=RunDocument, responses=REFUSALS)
async def cancel_run(
    request: Request, run_id: RunId, body: Cancel | None = None, idempotency_key: IdempotencyKey = None
) -> Response:
    """End a run for good; the answer says where it stands then."""
    runs = runs_of(request)
    await runs.cancel(run_id, (body or Cancel()).reason, key=idempotency_key)
    return await _run(request, run_id)


@router.post("/{run_id}/resume", response_model=RunDocument, status_code=202, responses=REFUSALS)
async def resume_run(request: Request, run_id: RunId, body: Limits | None = None) -> Response:
    """Go on with a run that waits, was stopped, or was left by its process."""
    await runs_of(request).resume(run_id, (body or Limits()).overrides())
    return await _run(request, run_id, 202)


@router.post("/{run_id}/fork", response_model=MadeDocument, status_code=201, responses=REFUSALS)
async def fork_run(
    request: Request, run_id: RunId, body: NewFork | None = None, idempotency_key: IdempotencyKey = None
) -> Response:
    """Begin a run that goes on from an event of another one."""
    wanted = body or NewFork()
    order = RunRequest(
        prompt=wanted.prompt or "",
        run_id=wanted.run_id,
        overrides=wanted.overrides(),
        fork_of=run_id,
        fork_at=wanted.at,
    )
    made = await runs_of(request).create(order, caller=caller_of(request).name, key=idempotency_key)
    return as_json({"run_id": made.run_id, "created": made.new}, 201 if made.new else 200)


@router.post("/{run_id}/replay", response_model=Replayed, responses=REFUSALS)
async def replay_run(request: Request, run_id: RunId) -> Response:
    """Repeat a run with what it recorded; nothing is executed and nobody is asked."""
    found = await runs_of(request).replay(run_id)
    return as_json({"same": found is None, "divergence": found})


@router.post("/{run_id}/messages", response_model=Receipt, status_code=202, responses=REFUSALS)
async def send_message(request: Request, run_id: RunId, body: Send, idempotency_key: IdempotencyKey = None) -> Response:
    """Tell a run something; its model reads it at the next turn."""
    return receipt(await _sent(lambda: runs_of(request).send(run_id, body.text, key=idempotency_key)))


@router.post("/{run_id}/answers", response_model=Receipt, status_code=202, responses=REFUSALS)
async def answer_run(request: Request, run_id: RunId, body: Say, idempotency_key: IdempotencyKey = None) -> Response:
    """Answer what a run has asked; it goes on by itself."""
    runs = runs_of(request)
    said = body.answer if body.answer is not None else body.answers
    if said is None or (body.answer is not None and body.answers is not None):
        raise ValidationFailed("give the answer once, as `answer` or as `answers`")
    message = await _sent(lambda: runs.answer(run_id, said, call_id=body.call_id, key=idempotency_key))
    await runs.proceed(run_id)
    return receipt(message)


@router.post("/{run_id}/review", response_model=RunDocument, responses=REFUSALS)
async def review_run(request: Request, run_id: RunId, body: Review) -> Response:
    """Accept a result that waits for review, or send it back with a note that its model reads next."""
    runs, accept = runs_of(request), body.decision == "approve"
    await asyncio.to_thread(lambda: runs.review(run_id, accept=accept, note=body.note))
    if not accept:
        await runs.proceed(run_id)
    return await _run(request, run_id)


async def _sent(send: Callable[[], InboxMessage]) -> InboxMessage:
    """Send a message; a key that was used for another one is a conflict."""
    try:
        return await asyncio.to_thread(send)
    except KeyTaken as error:
        raise RequestConflict(error.message, hint=error.hint) from error


async def _run(request: Request, run_id: str, status: int = 200) -> Response:
    view = await asyncio.to_thread(runs_of(request).view, run_id)
    return as_json(run_document(view), status)
