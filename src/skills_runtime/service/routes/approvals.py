"""Approvals over HTTP: what waits for a decision, and decisions that count for exactly what was seen."""

import asyncio
import threading
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from skills_runtime.engine.approvals import card, rule_for
from skills_runtime.errors import AccessRefused, ApprovalStale, ValidationFailed
from skills_runtime.ports import Decision, InboxMessage
from skills_runtime.safety.approvals.proposal import as_recorded
from skills_runtime.safety.policy import add_rule
from skills_runtime.safety.policy.rule_files import user_rule_file
from skills_runtime.service.answers import as_json, caller_of, work_of
from skills_runtime.service.documents import EVERYWHERE, failures
from skills_runtime.service.run_documents import Answer, Body, Id, Receipt, RunId
from skills_runtime.service.work import Work
from skills_runtime.service.work.requests import Asked, open_requests, request_named, requests_of

router = APIRouter(prefix="/api/v1", tags=["approvals"])

LASTING = ("skill", "user")
"""How far rules reach that outlive their run."""
DECIDING = threading.Lock()
"""Of two who decide at the same moment one is told that the other was faster."""
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


@router.get("/approvals", response_model=ApprovalList, responses=failures(*EVERYWHERE))
def list_approvals(request: Request) -> Response:
    """Every request of this workspace that waits, with the exact call and what asked."""
    work = work_of(request)
    return as_json({"approvals": _cards(work, open_requests(work))})


@router.get("/runs/{run_id}/approvals", response_model=ApprovalList, responses=failures(*EVERYWHERE, 404))
def list_run_approvals(request: Request, run_id: RunId) -> Response:
    """The requests of one run that wait."""
    work = work_of(request)
    return as_json({"approvals": _cards(work, requests_of(work, work.find(run_id)))})


@router.post(
    "/approvals/{approval_id}",
    response_model=Receipt,
    status_code=202,
    responses=failures(*EVERYWHERE, 404, 409, 413, 415),
)
async def decide(request: Request, approval_id: ApprovalId, body: NewDecision) -> Response:
    """Decide on a request; a decision about something else than what is asked now is refused."""
    work, caller = work_of(request), caller_of(request)
    if body.rule in LASTING and not caller.may("admin"):
        raise AccessRefused("a rule that outlives its run needs the scope `admin`", hint="make it for this run only")

    def kept() -> InboxMessage:
        with DECIDING:
            asked = request_named(work, approval_id, body.run_id)
            message = decided(work, asked, body, caller.name)
        if body.rule in LASTING:  # only now: a decision that came too late leaves no rule behind
            add_rule(user_rule_file(work.home.settings()), rule_for(asked.request(), body.rule))
        return message

    message = await asyncio.to_thread(kept)
    await work.go_on(message.run_id)
    told = {"message_id": message.id, "run_id": message.run_id, "kind": message.kind, "position": message.position}
    return as_json(told, 202)


def decided(work: Work, asked: Asked, body: NewDecision, who: str) -> InboxMessage:
    """Keep a decision durably; only the first on a request counts."""
    if asked.decided is not None:
        raise ApprovalStale(f"`{asked.pending.approval_id}` was decided already: {asked.decided.get('decision')}")
    decision = Decision(
        decision=body.decision, note=body.note, decided_by=who, arguments=body.arguments, rule=_rule(asked, body)
    )
    return work.desk.decide(
        asked.paths, decision, approval_id=asked.pending.approval_id, approval_key=body.approval_key
    )


def _rule(asked: Asked, body: NewDecision) -> dict[str, Any]:
    """The rule that allows such calls from now on, as the decision carries it."""
    if body.rule is None:
        return {}
    if body.decision != "approved" or body.arguments is not None:
        raise ValidationFailed("a rule goes with a plain `approved`")
    return as_recorded(rule_for(asked.request(), body.rule), body.rule)


def _cards(work: Work, found: Iterable[Asked]) -> list[dict[str, Any]]:
    """Every request with what a page shows of it."""
    file = user_rule_file(work.home.settings())
    return [{**asked.document(), **card(asked.request(), file)} for asked in found]
