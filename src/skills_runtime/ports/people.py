"""People: approvals, questions and messages."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

DecisionKind = Literal["approved", "approved_for_session", "denied", "abort"]
InboxKind = Literal["steer", "answer", "approve", "cancel"]


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer that is offered."""

    label: str
    description: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something only a person can say."""

    id: str = "answer"
    question: str
    header: str = ""
    choices: tuple[Choice, ...] = ()
    context: str = ""


class HumanIO(Protocol):
    """A person who can be asked right now."""

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """What they answer."""
        ...


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an approver is shown."""

    approval_key: str
    tool: str
    summary: str
    details: Mapping[str, Any] = {}


class Approver(Protocol):
    """Somebody, or some rule, that answers when the gate asks."""

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
        """Decide on one call."""
        ...


class InboxMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A durable message to a run."""

    id: str
    run_id: str
    position: int
    kind: InboxKind
    body: Mapping[str, Any]
    created_at: str


class Inbox(Protocol):
    """Durable, ordered, acknowledged and idempotent messages to runs."""

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Store a message; the same key returns the message stored before."""
        ...

    def pending(self, run_id: str) -> Sequence[InboxMessage]:
        """Messages not acknowledged yet, in order."""
        ...

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Note that the run's log holds the message; harmless when repeated."""
        ...
