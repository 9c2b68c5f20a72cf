"""The approvals of a run: open requests, decisions, and refused decisions."""

from typing import Any

import msgspec

from skills_runtime.events import (
    ApprovalDecided,
    ApprovalRefused,
    ApprovalRequested,
    Event,
    InboxReceived,
    RunAdopted,
    SkillInjected,
    SkillUnloaded,
)

READS = frozenset({ApprovalRequested, ApprovalDecided, ApprovalRefused, RunAdopted, SkillInjected, SkillUnloaded})
"""The payloads this projection reads, besides messages with decisions."""
SILENCE = frozenset({"timeout", "invalid_decision"})
"""In older logs the reasons of denials without a decision; such a call is asked about again."""


class PendingApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for a decision."""

    approval_id: str
    approval_key: str
    tool: str
    call_id: str
    summary: str
    seq: int
    since: str
    rule: str = ""
    risk: dict[str, str] = {}
    expires_at: str = ""
    details_blob: str | None = None


class SentDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that was sent and that the run has not applied."""

    message_id: str
    body: dict[str, Any]
    sent_at: str

    def text_field(self, name: str) -> str:
        """Return one of its text fields, or an empty text."""
        value = self.body.get(name)
        return value if isinstance(value, str) else ""


class ResolvedApproval(msgspec.Struct, frozen=True, kw_only=True):
    """The decision on a call that is not finished yet."""

    approval_id: str
    approval_key: str
    decision: str
    note: str = ""
    arguments_blob: str | None = None


class Approvals(msgspec.Struct):
    """Open requests, and what earlier decisions mean for later calls."""

    open: dict[str, PendingApproval] = {}
    """By request id, oldest first."""
    sent: dict[str, SentDecision] = {}
    """By message id."""
    settled: dict[str, ResolvedApproval] = {}
    """By call, until the call is finished."""
    session: dict[str, str] = {}
    """Keys approved for the session, and by whom."""
    denials: dict[str, int] = {}
    """How often each key was denied."""
    rules: list[dict[str, Any]] = []
    """Rules added for this run."""
    permits: dict[str, list[dict[str, Any]]] = {}
    """What trusted active skills permit, by mention."""
    confining: dict[str, list[dict[str, Any]]] = {}
    """What active skills confine the run to, by mention."""

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        match event.payload:
            case ApprovalRequested() as request:
                self._open_request(request, event)
            case ApprovalDecided() as decision:
                self._decide(decision)
            case ApprovalRefused() as refusal:
                self._refuse(refusal)
            case SkillInjected(mention_text=skill, text_blob=text) as active if text:
                self._end_permits(skill)
                if active.preapproves:
                    self.permits[skill] = active.permits
                if active.confines:
                    self.confining[skill] = active.permits
            case SkillUnloaded(mention_text=skill):
                self._end_permits(skill)
            case InboxReceived(kind="approve") as received:
                self.sent[received.message_id] = SentDecision(
                    message_id=received.message_id, body=received.body, sent_at=received.sent_at or event.timestamp
                )
            case RunAdopted():  # approvals of another machine are not valid here
                self.sent, self.settled, self.session, self.permits = {}, {}, {}, {}
                self.rules = []
            case _:
                pass

    def find_by_call(self, call_id: str) -> PendingApproval | None:
        """Return the open request of a call."""
        return next((approval for approval in self.open.values() if approval.call_id == call_id), None)

    def find_decision(self, approval_id: str) -> SentDecision | None:
        """Return the first decision that was sent on a request."""
        return next(
            (decision for decision in self.sent.values() if decision.text_field("approval_id") == approval_id), None
        )

    def finish(self, call_id: str) -> None:
        """Remove the requests of a finished call."""
        self.settled.pop(call_id, None)
        approval = self.find_by_call(call_id)
        if approval is not None:
            del self.open[approval.approval_id]
        for name in [name for name in self.settled if name.startswith(f"{call_id}#")]:  # what it asked besides
            del self.settled[name]

    def _end_permits(self, skill: str) -> None:
        self.permits.pop(skill, None)
        self.confining.pop(skill, None)

    def _open_request(self, request: ApprovalRequested, event: Event) -> None:
        name = request.approval_id or request.approval_key  # older logs have no ids
        self.settled.pop(request.call_id, None)
        self.open[name] = PendingApproval(
            approval_id=name,
            approval_key=request.approval_key,
            tool=request.tool,
            call_id=request.call_id,
            summary=request.summary,
            seq=event.seq,
            since=event.timestamp,
            rule=request.rule,
            risk=request.risk,
            expires_at=request.expires_at,
            details_blob=request.details_blob,
        )

    def _decide(self, payload: ApprovalDecided) -> None:
        name = payload.approval_id or payload.approval_key
        self.open.pop(name, None)
        self.sent.pop(payload.message_id, None)
        if payload.decision == "denied" and payload.reason in SILENCE:
            return
        if payload.call_id:
            self.settled[payload.call_id] = ResolvedApproval(
                approval_id=name,
                approval_key=payload.approval_key,
                decision=payload.decision,
                note=payload.note,
                arguments_blob=payload.arguments_blob,
            )
        if payload.decision == "approved_for_session":
            self.session[payload.approval_key] = payload.decided_by
        if payload.decision == "denied":
            self.denials[payload.approval_key] = self.denials.get(payload.approval_key, 0) + 1
        if payload.rule and payload.decision.startswith("approved"):
            self.rules.append(payload.rule)

    def _refuse(self, payload: ApprovalRefused) -> None:
        self.sent.pop(payload.message_id, None)
        if payload.call_id:  # the request itself is void, and so is what was decided about it
            self.open.pop(payload.approval_id, None)
            self.settled.pop(payload.call_id, None)
