"""Approvals over HTTP: pending requests, and decisions that apply to exactly the request that was shown."""

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.engine import (
    PERSISTENT_SCOPES,
    SCOPE_DECISIONS,
    ApprovalAnswer,
    OpenApproval,
    RunService,
    build_approval_view,
)
from skills_runtime.errors import AccessRefused, ValidationFailed
from skills_runtime.ports import DecisionKind, InboxMessage
from skills_runtime.safety.approvals import RuleScope
from skills_runtime.service.responses import COMMON_STATUSES, failure_responses, json_response, receipt_response
from skills_runtime.service.run_documents import Answer, Body, Id, Receipt, RunId
from skills_runtime.service.state import caller_of, runs_of

router = APIRouter(prefix="/api/v1", tags=["approvals"])

ApprovalId = Annotated[str, Path(min_length=1, max_length=200, description="The id of an approval request.")]


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
    """Pending requests, oldest first."""

    approvals: list[ApprovalDocument]


class NewDecision(Body):
    """A decision on an approval request."""

    decision: Literal["approved", "approved_for_session", "denied", "abort"]
    approval_key: Annotated[str, Field(min_length=1, max_length=200)]
    run_id: Id | None = None
    note: Annotated[str, Field(max_length=10_000)] = ""
    arguments: dict[str, Any] | None = None
    """Run the call with these arguments instead."""
    rule: Literal["run", "folder", "skill", "user"] | None = None
    """Also allow such calls: for the rest of this run, in this folder, or always, for this skill or for everything."""
    scope: Literal["once", "session", "folder", "always", "skill"] | None = None
    """How far an `approved` reaches: this call, this exact call in this session, or such calls by an added rule."""

    def resolve_scope(self) -> tuple[DecisionKind, RuleScope | None]:
        """Return the decision and the rule to add."""
        if self.scope is None:
            return self.decision, self.rule
        if (
            self.decision != "approved"
            or self.rule is not None
            or (self.arguments is not None and self.scope != "once")
        ):
            raise ValidationFailed("`scope` goes with a plain `approved`", hint="leave `scope` or the rest out")
        return SCOPE_DECISIONS[self.scope]


@router.get("/approvals", response_model=ApprovalList, responses=failure_responses(*COMMON_STATUSES))
def list_approvals(request: Request) -> Response:
    """List all pending approval requests of this workspace with their exact calls."""
    runs = runs_of(request)
    return json_response({"approvals": _card_documents(runs, runs.approvals())})


@router.get("/runs/{run_id}/approvals", response_model=ApprovalList, responses=failure_responses(*COMMON_STATUSES, 404))
def list_run_approvals(request: Request, run_id: RunId) -> Response:
    """List the pending approval requests of one run."""
    runs = runs_of(request)
    return json_response({"approvals": _card_documents(runs, runs.approvals_of(run_id))})


@router.post(
    "/approvals/{approval_id}",
    response_model=Receipt,
    status_code=202,
    responses=failure_responses(*COMMON_STATUSES, 404, 409, 413, 415),
)
async def decide(request: Request, approval_id: ApprovalId, body: NewDecision) -> Response:
    """Decide on a request; the decision is refused if the request has changed since it was shown."""
    runs, caller = runs_of(request), caller_of(request)
    decision, rule = body.resolve_scope()
    if rule in PERSISTENT_SCOPES and not caller.has_scope("admin"):
        raise AccessRefused("a rule that outlives its run needs the scope `admin`", hint="create it for this run only")
    answer = ApprovalAnswer(
        decision=decision,
        decided_by=caller.name,
        approval_key=body.approval_key,
        note=body.note,
        arguments=body.arguments,
        rule=rule,
    )

    def send_decision() -> InboxMessage:
        return runs.decide(runs.find_approval(approval_id, body.run_id), answer)

    message = await asyncio.to_thread(send_decision)
    await runs.proceed(message.run_id)
    return receipt_response(message)


def _card_documents(runs: RunService, approvals: Iterable[OpenApproval]) -> list[dict[str, Any]]:
    """Return each request with the details that a page shows."""
    file = runs.rule_file
    return [{**approval.document(), **build_approval_view(approval.request(), file)} for approval in approvals]
