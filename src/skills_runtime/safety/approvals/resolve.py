"""Ask about one call: the request is durable before it is shown, and one explicit decision applies once.

Decisions that count for nothing are refused, and the log says so. A host that no rule names is asked about while the
command that wants to reach it waits.
"""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, cast, get_args

import msgspec

from skills_runtime.errors import ConfigError, LogError
from skills_runtime.events import ApprovalDecided, ApprovalRefused, ApprovalRequested, Payload
from skills_runtime.ports import (
    ApprovalRequest,
    Approver,
    Decision,
    DecisionKind,
    Intent,
    Parked,
    Secrets,
    TimedApprover,
    Undecided,
)
from skills_runtime.projections import Approvals, PendingApproval, ResolvedApproval, SentDecision
from skills_runtime.safety.approvals.request import RequestDraft, build_approval_request, mask_secrets
from skills_runtime.safety.policy import Ask, approval_key
from skills_runtime.text import one_line

POLL_SECONDS = 0.25
"""Seconds between looks into the inbox while a local approver is asked."""
CHANGED_MESSAGE = "what would be done is no longer what was asked about"
SESSION, PROVIDER, INBOX = "session", "provider", "inbox"
MAX_SHOWN = 80
"""Characters shown of what an approver returned instead of a decision."""


class InvalidDecision(ConfigError):
    """An approver returned something else than a decision: an error of that program, which decides nothing."""


class ApprovalContext(Protocol):
    """What asking needs of a run and of the call in question."""

    @property
    def run_id(self) -> str:
        """The run."""
        ...

    @property
    def call_id(self) -> str:
        """The call."""
        ...

    @property
    def root(self) -> Path:
        """The directory the call works in."""
        ...

    @property
    def approvals(self) -> Approvals:
        """What was asked and decided so far."""
        ...

    @property
    def secrets(self) -> Secrets:
        """Secrets that must not be shown, not even to the approver."""
        ...

    @property
    def cancelled(self) -> bool:
        """Return whether the run has to stop."""
        ...

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        ...

    def keep(self, data: bytes) -> str:
        """Keep bytes as a blob of the run; returns their digest."""
        ...

    def fetch(self, digest: str) -> bytes:
        """Return the bytes of a blob."""
        ...

    def now(self) -> str:
        """Return the current time in the format of events."""
        ...

    def new_id(self, kind: str) -> str:
        """Return a new unique id of this kind."""
        ...

    async def commit(self) -> None:
        """Return when everything recorded is durable."""
        ...

    async def look(self) -> None:
        """Take in the messages that wait."""
        ...


class AskOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked, and how long an answer may take."""

    approver: Approver
    timeout_ms: int | None = None
    """Milliseconds until the run parks because a local approver has not answered."""
    expires_sec: float = 7 * 24 * 3600
    """How long a request stays open for those who are not there."""
    remembered: dict[str, str] = {}
    """What was approved for the session in other runs of it, and by whom; added to as that happens."""
    undecided: dict[str, int] = {}
    """How often no decision was made about a host while a command waited, by key; added to as that happens."""
    folder: str = ""
    """The folder that a rule for this folder is limited to."""


async def ask(draft: RequestDraft, context: ApprovalContext, options: AskOptions) -> ResolvedApproval:
    """Ask for a decision about a call; raise `Parked` when the run has to wait for it."""
    settled = context.approvals.settled.get(context.call_id)
    if settled is not None and settled.approval_key == draft.key:
        return settled
    if settled is not None:
        void_request(context, settled.approval_id, settled.approval_key)
    by = (options.remembered | context.approvals.session).get(draft.key)
    if by is not None:
        return await _record_decision(
            context, draft.key, Decision(decision="approved_for_session", decided_by=by), SESSION
        )
    pending = await _open_request(draft, context, options)
    sent_decision = context.approvals.find_decision(pending.approval_id)
    if sent_decision is None:
        return await _await_decision(draft, pending, context, options)
    return await _record_decision(context, draft.key, _read_decision(sent_decision), INBOX, pending, sent_decision)


def void_request(
    context: ApprovalContext, approval_id: str, key: str, *, reason: str = "changed", message: str = CHANGED_MESSAGE
) -> None:
    """Record that a request and its decision no longer apply."""
    sent_decision = context.approvals.find_decision(approval_id)
    context.emit(
        ApprovalRefused(
            reason=reason,
            message=message,
            approval_id=approval_id,
            approval_key=key,
            call_id=context.call_id,
            message_id=sent_decision.message_id if sent_decision is not None else "",
        )
    )


async def _open_request(draft: RequestDraft, context: ApprovalContext, options: AskOptions) -> PendingApproval:
    """Return the open request for this very call, made anew when there is none or it no longer holds."""
    pending = context.approvals.find_by_call(context.call_id)
    if pending is not None and pending.approval_key != draft.key:
        void_request(context, pending.approval_id, pending.approval_key)
    elif pending is not None:
        expired = pending.expires_at and context.now() > pending.expires_at
        if not expired or context.approvals.find_decision(pending.approval_id) is not None:
            return pending
        expired_message = f"no decision until {pending.expires_at}"
        void_request(context, pending.approval_id, pending.approval_key, reason="expired", message=expired_message)
    deadline = datetime.fromisoformat(context.now()) + timedelta(seconds=options.expires_sec)
    expires_at, approval_id = deadline.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), context.new_id("approval")
    request = _build_masked_request(draft, context, options, approval_id, expires_at)
    context.emit(
        ApprovalRequested(
            approval_key=draft.key,
            tool=draft.tool,
            call_id=context.call_id,
            summary=draft.summary,
            request=draft.loggable,
            approval_id=approval_id,
            rule=draft.asked_by.rule,
            risk=draft.risk,
            expires_at=expires_at,
            details_blob=context.keep(msgspec.json.encode(request)),
        )
    )
    await context.commit()
    return context.approvals.open[approval_id]


def _build_masked_request(
    draft: RequestDraft, context: ApprovalContext, options: AskOptions, approval_id: str, expires_at: str
) -> ApprovalRequest:
    """Build the request as an approver sees it: exact, except for secrets."""
    exact = build_approval_request(
        draft, approval_id=approval_id, run_id=context.run_id, call_id=context.call_id, expires_at=expires_at
    )
    request = msgspec.structs.replace(exact, workspace=str(context.root), folder=options.folder)
    return mask_secrets(request, context.secrets)


async def _await_decision(
    draft: RequestDraft, pending: PendingApproval, context: ApprovalContext, options: AskOptions
) -> ResolvedApproval:
    """Wait for the local approver or for a decision sent from elsewhere, whichever comes first."""
    request = _build_masked_request(draft, context, options, pending.approval_id, pending.expires_at)
    approver_task = asyncio.create_task(_ask_approver(request, options))
    try:
        while not approver_task.done():
            await asyncio.wait([approver_task], timeout=POLL_SECONDS)
            await context.look()
            sent_decision = context.approvals.find_decision(pending.approval_id)
            if sent_decision is not None:
                return await _record_decision(
                    context, draft.key, _read_decision(sent_decision), INBOX, pending, sent_decision
                )
            if context.cancelled:
                raise Parked(context.call_id)
        decision = approver_task.result()
    finally:
        approver_task.cancel()
    if late := explain_late_decision(pending, context.now()):
        void_request(context, pending.approval_id, pending.approval_key, reason="expired", message=late)
        return await ask(draft, context, options)
    if decision.decision == "approved_for_session" and decision.arguments is None:
        options.remembered[draft.key] = decision.decided_by
    return await _record_decision(context, draft.key, decision, PROVIDER, pending)


async def _ask_approver(request: ApprovalRequest, options: AskOptions) -> Decision:
    """Ask the approver; no answer in time is no decision, and the run parks."""
    limit = options.timeout_ms if not isinstance(options.approver, TimedApprover) else None
    try:
        async with asyncio.timeout(limit / 1000 if limit else None):
            answer = await options.approver.request_approval(request=request, timeout_ms=options.timeout_ms)
    except TimeoutError:
        raise Parked(request.call_id) from None
    decision = answer if isinstance(answer, Decision) else Decision(decision=answer)
    if decision.decision not in get_args(DecisionKind):
        kinds = ", ".join(f"`{kind}`" for kind in get_args(DecisionKind))
        raise InvalidDecision(
            f"the approver returned `{one_line(repr(decision.decision), limit=MAX_SHOWN)}`, which is not a decision",
            hint=f"return one of {kinds}",
        )
    return decision


async def _record_decision(
    context: ApprovalContext,
    key: str,
    decision: Decision,
    reason: str,
    pending: PendingApproval | None = None,
    sent_decision: SentDecision | None = None,
) -> ResolvedApproval:
    edited_blob = (sent_decision.text_field("arguments_blob") if sent_decision is not None else "") or None
    if decision.arguments is not None:
        edited_blob = context.keep(msgspec.json.encode(decision.arguments))
    # What was changed was seen once: it says nothing about the call as the model made it.
    kind = "approved" if edited_blob and decision.decision == "approved_for_session" else decision.decision
    context.emit(
        ApprovalDecided(
            approval_key=key,
            decision=kind,
            reason=reason,
            call_id=context.call_id,
            decided_by=decision.decided_by,
            approval_id=pending.approval_id if pending is not None else "",
            message_id=sent_decision.message_id if sent_decision is not None else "",
            note=decision.note,
            rule=dict(decision.rule),
            arguments_blob=edited_blob,
        )
    )
    await context.commit()
    return context.approvals.settled[context.call_id]


def _read_decision(sent_decision: SentDecision) -> Decision:
    """Read a decision from a message that `problem_with` has validated."""
    rule: Any = sent_decision.body.get("rule")
    return Decision(
        decision=cast("DecisionKind", sent_decision.text_field("decision")),
        note=sent_decision.text_field("note"),
        decided_by=sent_decision.text_field("decided_by"),
        rule=cast("dict[str, Any]", rule) if isinstance(rule, dict) else {},
    )


def refuse_stale_decisions(approvals: Approvals, run_id: str) -> list[ApprovalRefused]:
    """Return the refusals to record for decisions that no longer apply."""
    checked = [
        (sent_decision, _find_problem(sent_decision, approvals, run_id)) for sent_decision in approvals.sent.values()
    ]
    return [
        ApprovalRefused(
            reason=problem[0],
            message=problem[1],
            approval_id=sent_decision.text_field("approval_id"),
            approval_key=sent_decision.text_field("approval_key"),
            message_id=sent_decision.message_id,
        )
        for sent_decision, problem in checked
        if problem is not None
    ]


def explain_late_decision(pending: PendingApproval, sent_at: str) -> str:
    """Explain why a decision came after its request expired; empty when it did not."""
    late = pending.expires_at and sent_at > pending.expires_at
    return f"the request could be decided until {pending.expires_at}" if late else ""


def _find_problem(sent_decision: SentDecision, approvals: Approvals, run_id: str) -> tuple[str, str] | None:
    """Why a decision does not count: one word and one sentence, or nothing."""
    pending = approvals.open.get(sent_decision.text_field("approval_id"))
    if sent_decision.text_field("run_id") != run_id:
        return "elsewhere", "the decision is about another run"
    if pending is None:
        return "unknown", "no such request is open; it may have been decided already"
    if sent_decision.text_field("approval_key") != pending.approval_key:
        return "changed", "the decision is about another request than the one that is open"
    if late := explain_late_decision(pending, sent_decision.text_field("decided_at") or sent_decision.sent_at):
        return "expired", late
    if sent_decision.body.get("decision") not in get_args(DecisionKind):
        return "malformed", "the decision is none of those there are"
    return None


NETWORK = "network"
"""What a request about a host names in the place of a tool: a yes to a tool says nothing about hosts."""
EGRESS_RULE = "sandbox.egress.unknown: ask"
MAX_WAIT_MS = 60_000
"""How long a command waits where the settings set no limit."""
MAX_QUESTIONS = 2
"""How often a run asks about the same host without getting a yes."""
APPROVALS = frozenset({"approved", "approved_for_session"})
COMMAND_ENDED = "the command that asked is over"


class BlockingApprover:
    """Wraps an approver that would park: wait instead, because the decision may come from another process."""

    def __init__(self, approver: Approver) -> None:
        self._approver = approver

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """Decide on one request, or never."""
        try:
            return await self._approver.request_approval(request=request, timeout_ms=timeout_ms)
        except Parked:
            await asyncio.Event().wait()
            raise


async def ask_about_host(
    host: str, port: int, tool: str, context: ApprovalContext, options: AskOptions
) -> DecisionKind:
    """Ask about a host for one command; withdraw a request without a decision, and raise `Undecided`."""
    details = {"host": host, "port": port}
    draft = RequestDraft(
        key=approval_key(NETWORK, details),
        tool=NETWORK,
        summary=f"{tool} wants to reach {host}:{port}",
        loggable=details,
        arguments=details,
        intent=Intent(hosts=(f"{host}:{port}",)),
        risk={"level": "medium", "reason": "reaches a host that no rule names", "part": f"{host}:{port}"},
        asked_by=Ask(EGRESS_RULE),
    )
    if context.approvals.denials.get(draft.key, 0) >= MAX_QUESTIONS:
        return "denied"
    if options.undecided.get(draft.key, 0) >= MAX_QUESTIONS:
        raise Undecided("no decision was made about this host before")
    timeout_ms = options.timeout_ms or MAX_WAIT_MS
    blocking = msgspec.structs.replace(
        options, approver=BlockingApprover(options.approver), timeout_ms=timeout_ms, expires_sec=timeout_ms / 1000 + 1
    )
    try:
        settled = await ask(draft, context, blocking)
    except (Parked, asyncio.CancelledError) as error:
        is_timeout = isinstance(error, Parked) and not context.cancelled
        message = f"no decision within {timeout_ms / 1000:g} s" if is_timeout else COMMAND_ENDED
        pending = context.approvals.find_by_call(context.call_id)
        if pending is not None:
            with suppress(LogError):  # the run may have ended, and its requests with it
                void_request(context, pending.approval_id, pending.approval_key, reason="expired", message=message)
        if isinstance(error, Parked):
            options.undecided[draft.key] = options.undecided.get(draft.key, 0) + is_timeout
            raise Undecided(message) from None
        raise
    if settled.decision == "abort":
        return "abort"
    # A changed call is not the one that was approved.
    return "approved" if settled.decision in APPROVALS and settled.arguments_blob is None else "denied"
