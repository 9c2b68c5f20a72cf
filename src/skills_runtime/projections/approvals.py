"""The approvals of a run: what is asked, what was decided, and what was decided but does not count."""

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
"""The payloads this projection looks at, besides the messages that bring decisions."""


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
    """A decision that somebody sent and the run has not acted on."""

    message_id: str
    body: dict[str, Any]
    sent_at: str

    def said(self, name: str) -> str:
        """One of its words; anything else is none."""
        value = self.body.get(name)
        return value if isinstance(value, str) else ""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about a call that is not finished yet."""

    approval_id: str
    approval_key: str
    decision: str
    note: str = ""
    arguments_blob: str | None = None


class Approvals(msgspec.Struct):
    """Everything that is open, and what earlier decisions mean for later calls."""

    open: dict[str, PendingApproval] = {}
    """By the id of the request, oldest first."""
    sent: dict[str, SentDecision] = {}
    """By the id of the message."""
    settled: dict[str, Settled] = {}
    """By call, until the call is finished."""
    session: dict[str, str] = {}
    """The keys that were approved for as long as the session lasts, and who said so."""
    denials: dict[str, int] = {}
    """How often each key was denied."""
    rules: list[dict[str, Any]] = []
    """Rules that were added for this run."""
    permits: dict[str, list[dict[str, Any]]] = {}
    """What trusted active skills permit, by mention."""
    confining: dict[str, list[dict[str, Any]]] = {}
    """What active skills confine the run to, by mention."""

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        match event.payload:
            case ApprovalRequested() as asked:
                self._ask(asked, event)
            case ApprovalDecided() as decided:
                self._decide(decided)
            case ApprovalRefused() as refused:
                self._refuse(refused)
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
            case RunAdopted():  # what was allowed on another machine nobody has allowed here
                self.sent, self.settled, self.session, self.permits = {}, {}, {}, {}
                self.rules = []
            case _:
                pass

    def of_call(self, call_id: str) -> PendingApproval | None:
        """What a call waits for."""
        return next((approval for approval in self.open.values() if approval.call_id == call_id), None)

    def decision_on(self, approval_id: str) -> SentDecision | None:
        """The first decision that was sent about a request."""
        return next((decision for decision in self.sent.values() if decision.said("approval_id") == approval_id), None)

    def finish(self, call_id: str) -> None:
        """Forget what a call asked, for it is settled."""
        self.settled.pop(call_id, None)
        approval = self.of_call(call_id)
        if approval is not None:
            del self.open[approval.approval_id]
        for name in [name for name in self.settled if name.startswith(f"{call_id}#")]:  # what it asked besides
            del self.settled[name]

    def _end_permits(self, skill: str) -> None:
        self.permits.pop(skill, None)
        self.confining.pop(skill, None)

    def _ask(self, asked: ApprovalRequested, event: Event) -> None:
        name = asked.approval_id or asked.approval_key  # older logs have no ids
        self.settled.pop(asked.call_id, None)
        self.open[name] = PendingApproval(
            approval_id=name,
            approval_key=asked.approval_key,
            tool=asked.tool,
            call_id=asked.call_id,
            summary=asked.summary,
            seq=event.seq,
            since=event.timestamp,
            rule=asked.rule,
            risk=asked.risk,
            expires_at=asked.expires_at,
            details_blob=asked.details_blob,
        )

    def _decide(self, decided: ApprovalDecided) -> None:
        name = decided.approval_id or decided.approval_key
        self.open.pop(name, None)
        self.sent.pop(decided.message_id, None)
        if decided.call_id:
            self.settled[decided.call_id] = Settled(
                approval_id=name,
                approval_key=decided.approval_key,
                decision=decided.decision,
                note=decided.note,
                arguments_blob=decided.arguments_blob,
            )
        if decided.decision == "approved_for_session":
            self.session[decided.approval_key] = decided.decided_by
        if decided.decision == "denied":
            self.denials[decided.approval_key] = self.denials.get(decided.approval_key, 0) + 1
        if decided.rule and decided.decision.startswith("approved"):
            self.rules.append(decided.rule)

    def _refuse(self, refused: ApprovalRefused) -> None:
        self.sent.pop(refused.message_id, None)
        if refused.call_id:  # the request itself is void, and so is what was decided about it
            self.open.pop(refused.approval_id, None)
            self.settled.pop(refused.call_id, None)
