"""What people do to a run over HTTP: cancel, resume, fork, replay, tell it something, answer it, review it."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.errors import RequestConflict, ValidationFailed
from skills_runtime.ports import InboxMessage
from skills_runtime.runs import RunPaths
from skills_runtime.service.answers import as_json, caller_of, work_of
from skills_runtime.service.documents import EVERYWHERE, failures
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
from skills_runtime.service.work import RunRequest
from skills_runtime.service.work.replaying import replayed

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
    work = work_of(request)
    await work.cancel(run_id, (body or Cancel()).reason, key=idempotency_key)
    return await _run(request, run_id)


@router.post("/{run_id}/resume", response_model=RunDocument, status_code=202, responses=REFUSALS)
async def resume_run(request: Request, run_id: RunId, body: Limits | None = None) -> Response:
    """Go on with a run that waits, was stopped, or was left by its process."""
    await work_of(request).resume(run_id, (body or Limits()).wishes())
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
        wishes=wanted.wishes(),
        fork_of=run_id,
        fork_at=wanted.at,
    )
    made = await work_of(request).create(order, caller=caller_of(request).name, key=idempotency_key)
    return as_json({"run_id": made.run_id, "created": made.new}, 201 if made.new else 200)


@router.post("/{run_id}/replay", response_model=Replayed, responses=REFUSALS)
async def replay_run(request: Request, run_id: RunId) -> Response:
    """Repeat a run with what it recorded; nothing is executed and nobody is asked."""
    found = await replayed(work_of(request), run_id)
    return as_json({"same": found is None, "divergence": found})


@router.post("/{run_id}/messages", response_model=Receipt, status_code=202, responses=REFUSALS)
async def send_message(request: Request, run_id: RunId, body: Send, idempotency_key: IdempotencyKey = None) -> Response:
    """Tell a run something; its model reads it at the next turn."""
    work = work_of(request)

    def send(paths: RunPaths) -> InboxMessage:
        return work.desk.send(paths, body.text, key=idempotency_key)

    return _receipt(await _said(request, run_id, send))


@router.post("/{run_id}/answers", response_model=Receipt, status_code=202, responses=REFUSALS)
async def answer_run(request: Request, run_id: RunId, body: Say, idempotency_key: IdempotencyKey = None) -> Response:
    """Answer what a run has asked; it goes on by itself."""
    work = work_of(request)
    said = body.answer if body.answer is not None else body.answers
    if said is None or (body.answer is not None and body.answers is not None):
        raise ValidationFailed("give the answer once, as `answer` or as `answers`")

    def answer(paths: RunPaths) -> InboxMessage:
        return work.desk.answer(paths, said, call_id=body.call_id, key=idempotency_key)

    message = await _said(request, run_id, answer)
    await work.go_on(run_id)
    return _receipt(message)


@router.post("/{run_id}/review", response_model=RunDocument, responses=REFUSALS)
async def review_run(request: Request, run_id: RunId, body: Review) -> Response:
    """Accept a result that waits for review, or send it back with a note that its model reads next."""
    work = work_of(request)
    paths = await asyncio.to_thread(work.find, run_id)
    if body.decision == "approve":
        await asyncio.to_thread(work.desk.approve, paths, body.note)
    else:
        await asyncio.to_thread(work.desk.revise, paths, body.note)
        await work.go_on(run_id)
    await asyncio.to_thread(work.record, paths)
    return await _run(request, run_id)


async def _said(request: Request, run_id: str, say: Any) -> InboxMessage:
    """Leave a message; a key that was used for another one is a conflict."""
    paths = await asyncio.to_thread(work_of(request).find, run_id)
    try:
        return await asyncio.to_thread(say, paths)
    except ValidationFailed as error:
        if "idempotency key" in error.message and "another message" in error.message:
            raise RequestConflict(error.message, hint=error.hint) from error
        raise


async def _run(request: Request, run_id: str, status: int = 200) -> Response:
    view = await asyncio.to_thread(work_of(request).view, run_id)
    return as_json(run_document(view), status)


def _receipt(message: InboxMessage) -> Response:
    told = {"message_id": message.id, "run_id": message.run_id, "kind": message.kind, "position": message.position}
    return as_json(told, 202)
