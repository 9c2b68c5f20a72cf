"""Approvals over HTTP: what waits for a decision, and decisions that count for exactly what was seen."""

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.engine import PERSISTENT_SCOPES, ApprovalAnswer, OpenApproval, RunService, build_approval_view
from skills_runtime.errors import AccessRefused
from skills_runtime.ports import InboxMessage
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses, json_response, receipt_response
from skills_runtime.service.run_documents import Answer, Body, Id, Receipt, RunId
from skills_runtime.service.state import caller_of, runs_of

router = APIRouter(prefix="/api/v1", tags=["approvals"])

ApprovalId = Annotated[str, Path(min_length=1, max_length=200, description="The id of a request.")]


class ApprovalDocument(Answer):
    """A call that waits for a decision."""

    approval_id: str
    approval_key: str
    run_id: str
    tool: str
    summary: str
    command: str | None
    cwd: str
    patch: str
    reason: str
    sandbox: dict[str, Any]
    rules: list[dict[str, Any]]
    no_rule: str


class ApprovalList(Answer):
    """What waits, oldest first."""

    approvals: list[ApprovalDocument]


class NewDecision(Body):
    """What somebody decided about the request they saw."""

    decision: Literal["approved", "approved_for_session", "denied", "abort"]
    approval_key: Annotated[str, Field(min_length=1, max_length=200)]
    run_id: Id | None = None
    note: Annotated[str, Field(max_length=10_000)] = ""
    arguments: dict[str, Any] | None = None
    """Run it with these arguments instead."""
    rule: Literal["run", "skill", "user"] | None = None
    """Also allow such calls: for the rest of this run, or always, by this skill or by anything."""


@router.get("/approvals", response_model=ApprovalList, responses=failure_responses(*COMMON_STATUSES))
def list_approvals(request: Request) -> Response:
    """Every request of this workspace that waits, with the exact call and what asked."""
    runs = runs_of(request)
    return json_response({"approvals": _card_documents(runs, runs.approvals())})


@router.get("/runs/{run_id}/approvals", response_model=ApprovalList, responses=failure_responses(*COMMON_STATUSES, 404))
def list_run_approvals(request: Request, run_id: RunId) -> Response:
    """The requests of one run that wait."""
    runs = runs_of(request)
    return json_response({"approvals": _card_documents(runs, runs.approvals_of(run_id))})


@router.post(
    "/approvals/{approval_id}",
    response_model=Receipt,
    status_code=202,
    responses=failure_responses(*COMMON_STATUSES, 404, 409, 413, 415),
)
async def decide(request: Request, approval_id: ApprovalId, body: NewDecision) -> Response:
    """Decide on a request; a decision about something else than what is asked now is refused."""
    runs, caller = runs_of(request), caller_of(request)
    if body.rule in PERSISTENT_SCOPES and not caller.has_scope("admin"):
        raise AccessRefused("a rule that outlives its run needs the scope `admin`", hint="make it for this run only")
    answer = ApprovalAnswer(
        decision=body.decision,
        decided_by=caller.name,
        approval_key=body.approval_key,
        note=body.note,
        arguments=body.arguments,
        rule=body.rule,
    )

    def send_decision() -> InboxMessage:
        return runs.decide(runs.find_approval(approval_id, body.run_id), answer)

    message = await asyncio.to_thread(send_decision)
    await runs.proceed(message.run_id)
    return receipt_response(message)


def _card_documents(runs: RunService, approvals: Iterable[OpenApproval]) -> list[dict[str, Any]]:
    """Every request with what a page shows of it."""
    file = runs.rule_file
    return [{**approval.document(), **build_approval_view(approval.request(), file)} for approval in approvals]
