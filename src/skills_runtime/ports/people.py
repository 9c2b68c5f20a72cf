"""People: approvals, questions and messages."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import msgspec

from skills_runtime.errors import LogEnded, UsageError, ValidationFailed
from skills_runtime.ports.intent import Intent

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
    """What an approver is shown: the exact call, what asked, how bad it could be, and the fence around it."""

    approval_key: str
    tool: str
    summary: str
    details: Mapping[str, Any] = {}
    """The arguments as they are."""
    approval_id: str = ""
    run_id: str = ""
    call_id: str = ""
    rule: str = ""
    """What asked."""
    why: str = ""
    """The justification of that rule."""
    risk: Mapping[str, str] = {}
    """`level`, `reason` and the `part` of the call that is the reason."""
    intent: Intent = Intent()
    expires_at: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an approver decided, with everything they may add to it."""

    decision: DecisionKind
    note: str = ""
    """What they say about it; the model reads why a call was denied."""
    decided_by: str = ""
    rule: Mapping[str, Any] = {}
    """A rule to add, with its `scope`: `run`, `skill` or `user`."""
    arguments: Mapping[str, Any] | None = None
    """The arguments as they changed them."""


class Approver(Protocol):
    """Somebody, or some rule, that answers when the gate asks; whoever raises `Parked` leaves it for later."""

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """Decide on one call."""
        ...


@runtime_checkable
class TimedApprover(Approver, Protocol):
    """One who raises `TimeoutError` by itself: the time begins when somebody sees the request, not when it is made."""

    keeps_time: bool


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


class KeyTaken(ValidationFailed):
    """Another message was sent under the same idempotency key."""


class InboxClosed(UsageError):
    """A run that ends takes no more messages; of the family that a model is told of, for runs write to each other."""

    kind = LogEnded.kind
    default_hint: ClassVar[str] = LogEnded.default_hint


@runtime_checkable
class ClosingInbox(Inbox, Protocol):
    """An inbox that a run can close when it ends: whoever comes later is refused instead of not being heard.

    Only who holds the lock of a run closes or opens its inbox. One that cannot be closed is looked into for the last
    time right before the end.
    """

    def close_for(self, run_id: str, *, unless_behind: int | None = None) -> Sequence[InboxMessage]:
        """The messages not acknowledged yet; no more are taken, unless one of these is behind a position.

        Both is one step: from then on `send` raises `InboxClosed`, except for a key whose message is stored already.
        """
        ...

    def open_for(self, run_id: str) -> None:
        """Take messages again; harmless when it is open."""
        ...
