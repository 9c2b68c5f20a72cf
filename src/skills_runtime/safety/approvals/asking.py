"""Asking about one call: the request is durable before anybody sees it, and one clear decision about it counts once.

Decisions that count for nothing are refused, and the log says so. A host that no rule names is asked about while the
command that wants to reach it waits.
"""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, cast, get_args

import msgspec

from skills_runtime.errors import LogError
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
)
from skills_runtime.projections import Approvals, PendingApproval, ResolvedApproval, SentDecision
from skills_runtime.safety.approvals.request import Wanted, approval_request_of, masked
from skills_runtime.safety.policy import Ask, approval_key

LOOK_SECONDS = 0.25
"""How often messages are looked for while somebody is asked."""
CHANGED = "what would be done is no longer what was asked about"
SESSION, PROVIDER, INBOX, TIMEOUT, INVALID = "session", "provider", "inbox", "timeout", "invalid_decision"


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
        """What must not be shown, also not to whoever decides."""
        ...

    @property
    def cancelled(self) -> bool:
        """Whether somebody wants the run to stop."""
        ...

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        ...

    def keep(self, data: bytes) -> str:
        """Keep bytes as a blob of the run; returns their digest."""
        ...

    def fetch(self, digest: str) -> bytes:
        """The bytes of a blob."""
        ...

    def now(self) -> str:
        """The time, as events have it."""
        ...

    def new_id(self, kind: str) -> str:
        """A name that nothing else has."""
        ...

    async def commit(self) -> None:
        """Return when everything recorded is durable."""
        ...

    async def look(self) -> None:
        """Take in the messages that wait."""
        ...


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """Who is asked, and how long an answer may take."""

    approver: Approver
    timeout_ms: int | None = None
    """How long whoever is there may think; after that it is a no."""
    expires_sec: float = 7 * 24 * 3600
    """How long a request stays open for those who are not there."""
    remembered: dict[str, str] = {}
    """What was approved for the session in other runs of it, and by whom; added to as that happens."""


async def ask(wanted: Wanted, room: ApprovalContext, asking: Asking) -> ResolvedApproval:
    """What is decided about a call; raises `Parked` when that has to be waited for."""
    settled = room.approvals.settled.get(room.call_id)
    if settled is not None and settled.approval_key == wanted.key:
        return settled
    if settled is not None:
        void(room, settled.approval_id, settled.approval_key)
    by = (asking.remembered | room.approvals.session).get(wanted.key)
    if by is not None:
        return await _decide(room, wanted.key, Decision(decision="approved_for_session", decided_by=by), SESSION)
    asked = await _open_request(wanted, room, asking)
    sent = room.approvals.find_decision(asked.approval_id)
    if sent is None:
        return await _heard(wanted, asked, room, asking)
    return await _decide(room, wanted.key, _decision_in(sent), INBOX, asked, sent)


def void(room: ApprovalContext, approval_id: str, key: str, *, reason: str = "changed", message: str = CHANGED) -> None:
    """Record that a request, and whatever was decided about it, no longer counts."""
    sent = room.approvals.find_decision(approval_id)
    room.emit(
        ApprovalRefused(
            reason=reason,
            message=message,
            approval_id=approval_id,
            approval_key=key,
            call_id=room.call_id,
            message_id=sent.message_id if sent is not None else "",
        )
    )


async def _open_request(wanted: Wanted, room: ApprovalContext, asking: Asking) -> PendingApproval:
    """Return the open request for this very call, made anew when there is none or it no longer holds."""
    asked = room.approvals.find_by_call(room.call_id)
    if asked is not None and asked.approval_key != wanted.key:
        void(room, asked.approval_id, asked.approval_key)
    elif asked is not None:
        expired = asked.expires_at and room.now() > asked.expires_at
        if not expired or room.approvals.find_decision(asked.approval_id) is not None:
            return asked
        late = f"nobody decided until {asked.expires_at}"
        void(room, asked.approval_id, asked.approval_key, reason="expired", message=late)
    at = datetime.fromisoformat(room.now()) + timedelta(seconds=asking.expires_sec)
    expires_at, approval_id = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), room.new_id("approval")
    shown = _shown(wanted, room, approval_id, expires_at)
    room.emit(
        ApprovalRequested(
            approval_key=wanted.key,
            tool=wanted.tool,
            call_id=room.call_id,
            summary=wanted.summary,
            request=wanted.shown,
            approval_id=approval_id,
            rule=wanted.asked_by.rule,
            risk=wanted.risk,
            expires_at=expires_at,
            details_blob=room.keep(msgspec.json.encode(shown)),
        )
    )
    await room.commit()
    return room.approvals.open[approval_id]


def _shown(wanted: Wanted, room: ApprovalContext, approval_id: str, expires_at: str) -> ApprovalRequest:
    """What whoever decides sees: everything to the letter, but for secrets."""
    exact = approval_request_of(
        wanted, approval_id=approval_id, run_id=room.run_id, call_id=room.call_id, expires_at=expires_at
    )
    return masked(msgspec.structs.replace(exact, workspace=str(room.root)), room.secrets)


async def _heard(wanted: Wanted, asked: PendingApproval, room: ApprovalContext, asking: Asking) -> ResolvedApproval:
    """What whoever is there says, unless somebody else is faster from somewhere else."""
    shown = _shown(wanted, room, asked.approval_id, asked.expires_at)
    said = asyncio.create_task(_said(shown, asking))
    try:
        while not said.done():
            await asyncio.wait([said], timeout=LOOK_SECONDS)
            await room.look()
            sent = room.approvals.find_decision(asked.approval_id)
            if sent is not None:
                return await _decide(room, wanted.key, _decision_in(sent), INBOX, asked, sent)
            if room.cancelled:
                raise Parked(room.call_id)
        decision, reason = said.result()
    finally:
        said.cancel()
    if late := explain_late_decision(asked, room.now()):
        void(room, asked.approval_id, asked.approval_key, reason="expired", message=late)
        return await ask(wanted, room, asking)
    if decision.decision == "approved_for_session" and decision.arguments is None:
        asking.remembered[wanted.key] = decision.decided_by
    return await _decide(room, wanted.key, decision, reason, asked)


async def _said(shown: ApprovalRequest, asking: Asking) -> tuple[Decision, str]:
    """What was decided and by what; only a clear yes in time is a yes."""
    limit = asking.timeout_ms if not isinstance(asking.approver, TimedApprover) else None
    try:
        async with asyncio.timeout(limit / 1000 if limit else None):
            said = await asking.approver.request_approval(request=shown, timeout_ms=asking.timeout_ms)
    except TimeoutError:
        return Decision(decision="denied"), TIMEOUT
    decision = said if isinstance(said, Decision) else Decision(decision=said)
    if decision.decision not in get_args(DecisionKind):
        return Decision(decision="denied"), INVALID
    return decision, PROVIDER


async def _decide(
    room: ApprovalContext,
    key: str,
    decision: Decision,
    reason: str,
    asked: PendingApproval | None = None,
    sent: SentDecision | None = None,
) -> ResolvedApproval:
    edited = (sent.text_field("arguments_blob") if sent is not None else "") or None
    if decision.arguments is not None:
        edited = room.keep(msgspec.json.encode(decision.arguments))
    # What was changed was seen once: it says nothing about the call as the model made it.
    said = "approved" if edited and decision.decision == "approved_for_session" else decision.decision
    room.emit(
        ApprovalDecided(
            approval_key=key,
            decision=said,
            reason=reason,
            call_id=room.call_id,
            decided_by=decision.decided_by,
            approval_id=asked.approval_id if asked is not None else "",
            message_id=sent.message_id if sent is not None else "",
            note=decision.note,
            rule=dict(decision.rule),
            arguments_blob=edited,
        )
    )
    await room.commit()
    return room.approvals.settled[room.call_id]


def _decision_in(sent: SentDecision) -> Decision:
    """A decision as it came in a message, which `problem_with` has looked at."""
    rule: Any = sent.body.get("rule")
    return Decision(
        decision=cast("DecisionKind", sent.text_field("decision")),
        note=sent.text_field("note"),
        decided_by=sent.text_field("decided_by"),
        rule=cast("dict[str, Any]", rule) if isinstance(rule, dict) else {},
    )


def stray_decisions(approvals: Approvals, run_id: str) -> list[ApprovalRefused]:
    """What to record about the decisions that do not count."""
    found = [(sent, _problem(sent, approvals, run_id)) for sent in approvals.sent.values()]
    return [
        ApprovalRefused(
            reason=problem[0],
            message=problem[1],
            approval_id=sent.text_field("approval_id"),
            approval_key=sent.text_field("approval_key"),
            message_id=sent.message_id,
        )
        for sent, problem in found
        if problem is not None
    ]


def explain_late_decision(asked: PendingApproval, sent_at: str) -> str:
    """What is said to a decision that comes after the request has expired, or nothing."""
    late = asked.expires_at and sent_at > asked.expires_at
    return f"the request could be decided until {asked.expires_at}" if late else ""


def _problem(sent: SentDecision, approvals: Approvals, run_id: str) -> tuple[str, str] | None:
    """Why a decision does not count: one word and one sentence, or nothing."""
    asked = approvals.open.get(sent.text_field("approval_id"))
    if sent.text_field("run_id") != run_id:
        return "elsewhere", "the decision is about another run"
    if asked is None:
        return "unknown", "no such request is open; it may have been decided already"
    if sent.text_field("approval_key") != asked.approval_key:
        return "changed", "the decision is about another request than the one that is open"
    if late := explain_late_decision(asked, sent.text_field("decided_at") or sent.sent_at):
        return "expired", late
    if sent.body.get("decision") not in get_args(DecisionKind):
        return "malformed", "the decision is none of those there are"
    return None


NETWORK = "network"
"""What a request about a host names in the place of a tool: a yes to a tool says nothing about hosts."""
RULE = "sandbox.egress.unknown: ask"
LONGEST_MS = 60_000
"""How long a command waits where the settings set no limit."""
MAX_DENIALS = 2
"""How often a run asks about the same host."""
APPROVALS = frozenset({"approved", "approved_for_session"})
OVER = "the command that asked is over"


class BlockingApprover:
    """Waits where the other would leave a request for later: somebody elsewhere may decide in the meantime."""

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


async def ask_about_host(host: str, port: int, tool: str, room: ApprovalContext, asking: Asking) -> DecisionKind:
    """What is decided about a host for one command; a request that nobody answers is withdrawn in the end."""
    shown = {"host": host, "port": port}
    wanted = Wanted(
        key=approval_key(NETWORK, shown),
        tool=NETWORK,
        summary=f"{tool} wants to reach {host}:{port}",
        shown=shown,
        arguments=shown,
        intent=Intent(hosts=(f"{host}:{port}",)),
        risk={"level": "medium", "reason": "reaches a host that no rule names", "part": f"{host}:{port}"},
        asked_by=Ask(RULE),
    )
    if room.approvals.denials.get(wanted.key, 0) >= MAX_DENIALS:
        return "denied"
    timeout_ms = asking.timeout_ms or LONGEST_MS
    waiting = msgspec.structs.replace(
        asking, approver=BlockingApprover(asking.approver), timeout_ms=timeout_ms, expires_sec=timeout_ms / 1000 + 1
    )
    try:
        settled = await ask(wanted, room, waiting)
    except (Parked, asyncio.CancelledError) as error:
        asked = room.approvals.find_by_call(room.call_id)
        if asked is not None:
            with suppress(LogError):  # the run may have ended, and its requests with it
                void(room, asked.approval_id, asked.approval_key, reason="expired", message=OVER)
        if isinstance(error, Parked):  # somebody wants the run to stop
            return "denied"
        raise
    if settled.decision == "abort":
        return "abort"
    # Whoever changes what is asked about has not said yes to this.
    return "approved" if settled.decision in APPROVALS and settled.arguments_blob is None else "denied"
